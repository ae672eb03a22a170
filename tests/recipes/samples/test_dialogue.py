from hypothesis import given
from hypothesis import strategies as st

from atenta.recipes.samples.dialogue import Speech, parse_scenes, scene_prompts

PLAY_WITH_DASHES = """A Carta

PERSONAGENS
D. HELENA
BARÃO
ATO ÚNICO
(Uma sala.)
CENA I
D. HELENA, BARÃO
O Barão entra, lendo.
D. HELENA — Já de
volta!
BARÃO (sentando-se,
depois de um silêncio) — É verdade. (Levanta-se). Adeus (baixo), senhora.
D. HELENA, enfadando-se. — Fique!
BARÃO – (à parte) — Ai!
D. HELENA e BARÃO — Oh!
BARÃO. — Vou.
CENA II
D. HELENA (só)
D. HELENA Enfim só! Que vida
— que vida!
FIM
NOTA
Da edição.
"""
PLAY_WITH_NAMES_ALONE = """O Baile

PERSONAGENS
PEDRO ALVES
UM CRIADO
PRIMEIRA PARTE
Cena I
UM CRIADO (de pé);
PEDRO ALVES
UM CRIADO
(entrando)
Pronto.
PEDRO ALVES
A Senhora
já veio?
UM CRIADO (rindo)
O Sr. sabe que não.
SEGUNDA PARTE
Na corte
Cena última
OS MESMOS, TODOS
TODOS
Viva!
FIM
"""


def test_speeches_after_a_dash():
    assert parse_scenes(PLAY_WITH_DASHES) == [
        [
            ("D. HELENA", "Já de volta!"),
            ("BARÃO", "É verdade. Adeus, senhora."),
            ("D. HELENA", "Fique!"),
            ("BARÃO", "Ai!"),
            ("D. HELENA e BARÃO", "Oh!"),
            ("BARÃO", "Vou."),
        ],
        [("D. HELENA", "Enfim só! Que vida — que vida!")],
    ]


def test_speeches_below_a_name():
    assert parse_scenes(PLAY_WITH_NAMES_ALONE) == [
        [("UM CRIADO", "Pronto."), ("PEDRO ALVES", "A Senhora já veio?"), ("UM CRIADO", "O Sr. sabe que não.")],
        [("TODOS", "Viva!")],
    ]
    assert parse_scenes("ROSINHA\nAh!\n") == []  # no scene


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
)
def test_plays_round_trip(speeches, separator):
    play = "Cena I\n" + "".join(f"{speaker}{separator}{text}\n" for speaker, text in speeches) + "FIM\n"
    assert parse_scenes(play) == [speeches]


def test_prompts():
    scene = [Speech("A", "Um."), Speech("B", "Dois."), Speech("A", "Três."), Speech("C", "Quatro.")]
    assert scene_prompts(scene) == [
        {"prompt": "A\nUm.\nB", "answer": "Dois."},
        {"prompt": "A\nUm.\nB\nDois.\nA", "answer": "Três."},
        {"prompt": "B\nDois.\nA\nTrês.\nC", "answer": "Quatro."},
    ]


def test_long_speech_is_only_context():
    long = " ".join(["palavra"] * 25 + ["é"])  # 201 characters
    assert len(long) == 201
    last_words = "…" + " ".join(["palavra"] * 14 + ["é"])
    rows = scene_prompts([Speech("A", "Um."), Speech("B", long), Speech("A", "Dois.")])
    assert rows == [{"prompt": f"A\nUm.\nB\n{last_words}\nA", "answer": "Dois."}]
    assert len(scene_prompts([Speech("A", "Um."), Speech("B", long[1:])])) == 1
