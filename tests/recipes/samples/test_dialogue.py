"""The plays: what is written as a play is read as the same speeches. `test_samples.py` knows the digest of rows."""

from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.samples.dialogue import parse_scenes


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ROSINHA", "D. HELENA", "PEDRO ALVES", "O NARIZ"]),
            st.lists(st.sampled_from(["sim", "não...", "Ah!", "—", "D.", "Sr."]), max_size=8).map(
                lambda rest: " ".join(["Pois", *rest])
            ),
        )
    ),
    st.sampled_from(["\n", " — ", " (à parte) — ", "\n(rindo)\n", " -"]),
    st.sampled_from(["FIM", "NOTA\nDa edição.", "ATO SEGUNDO\nOutra sala."]),
)
def test_plays_round_trip(speeches, separator, end):
    play = "Cena I\n" + "".join(f"{speaker}{separator}{text}\n" for speaker, text in speeches) + f"{end}\n"
    assert parse_scenes(play) == [speeches]
