import pytest

from atenta.recipes.samples.files import DATA, SPLITS, read_samples


def test_texts_are_in_the_order_of_file_names(tmp_path):
    for name in ("b.txt", "a.txt", "c.tsv"):
        (tmp_path / name).write_text(f"é {name}", encoding="utf-8")
    assert read_samples(tmp_path) == ["é a.txt", "é b.txt"]
    assert read_samples(tmp_path, "c.tsv") == ["é c.tsv"]
    assert all(read_samples(DATA / "machado" / split) for split in SPLITS)


@pytest.mark.parametrize("folder", ["", "none"])
def test_missing_files(tmp_path, folder):
    with pytest.raises(FileNotFoundError, match=r"no \*\.txt in .*--train_file and --validation_file"):
        read_samples(tmp_path / folder)
