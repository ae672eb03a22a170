import numpy as np
import pytest
from datasets import Dataset

from atenta.recipes.retrieval.index import NAME, Made, is_made_of, load_index, save_index

PASSAGES = Dataset.from_dict({"id": ["a:1", "a:2", "b:1"], "text": ["um", "dois", "três"]})
VECTORS = np.eye(3, dtype=np.float32)
MADE_OF = {"texts": Made("poems", "0123456789"), "model": Made("outputs/encoder", "abcdefghij")}


def test_what_is_saved_is_found_again_by_cosine(tmp_path):
    save_index(tmp_path / "index", PASSAGES, VECTORS, MADE_OF)
    index = load_index(tmp_path / "index")
    assert index.to_list() == PASSAGES.to_list()
    scores, found = index.search_batch(NAME, np.array([[0.0, 0.8, 0.6]], dtype=np.float32), 3)
    assert found.tolist() == [[1, 2, 0]]
    np.testing.assert_allclose(scores, [[0.8, 0.6, 0.0]])
    assert not [path for path in (tmp_path / "index").rglob("*") if path.suffix in (".pkl", ".pickle", ".bin")]


def test_an_index_of_others_is_refused_by_name(tmp_path):
    assert not is_made_of(tmp_path, MADE_OF)
    save_index(tmp_path, PASSAGES, VECTORS, MADE_OF)
    assert is_made_of(tmp_path, MADE_OF)
    assert is_made_of(tmp_path, MADE_OF | {"model": Made("moved/encoder", "abcdefghij")})
    for part, other in (("model", Made("outputs/other", "zyxwvutsrq")), ("texts", Made("poems", "9876543210"))):
        with pytest.raises(ValueError, match=r"poems \(01234567\), made with outputs/encoder \(abcdefgh\)") as refused:
            is_made_of(tmp_path, MADE_OF | {part: other})
        assert str(other) in str(refused.value)


def test_an_index_takes_the_place_of_another_and_of_nothing_else(tmp_path):
    (tmp_path / "passages").mkdir()
    text = tmp_path / "passages" / "text.txt"  # a folder of the user's own may have that name
    text.write_text("um", encoding="utf-8")
    save_index(tmp_path, PASSAGES, VECTORS, MADE_OF)
    save_index(tmp_path, PASSAGES.select([2]), VECTORS[:1], MADE_OF)
    assert load_index(tmp_path)["text"] == ["três"]
    assert text.read_text(encoding="utf-8") == "um"
