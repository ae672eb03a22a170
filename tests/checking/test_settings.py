"""The configuration of a project, and which of its files are checked."""

import subprocess

import pytest

from atenta.checking.settings import Settings, list_files, read_settings


def write(folder, **texts):
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def names(folder, settings=None):
    return [path.relative_to(folder).as_posix() for path in list_files([folder], settings or Settings(folder))]


@pytest.mark.parametrize(
    ("name", "head"), [(".atenta-check.toml", ""), ("pyproject.toml", "[project]\nname = 'a'\n[tool.atenta-check]\n")]
)
def test_settings_of_a_folder_above(tmp_path, name, head):
    write(
        tmp_path,
        **{name: f'\ufeff{head}min-confidence = 0.9\nvariant = "pt"\nwords = ["Saida"]\nexclude = ["velho"]\n'},
    )
    write(tmp_path, **{"docs/pyproject.toml": "[project]\nname = 'b'\n"})
    assert read_settings(tmp_path / "docs") == Settings(tmp_path, 0.9, "pt", frozenset({"saida"}), ("velho",))


def test_no_settings_are_looked_for_outside_a_repository(tmp_path):
    write(tmp_path, **{".atenta-check.toml": "min-confidence = 0.5\n", "a/.git": "", "a/b/c.md": ""})
    assert read_settings(tmp_path / "a" / "b") == Settings(tmp_path / "a")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("min-confidence = 2", "min-confidence = 2; expected a number, 0 to 1"),
        ("min-confidence = true", "expected a number"),
        ("variant = 'en'", "variant = 'en'; expected br or pt"),
        ("variant = ['br']", "expected br or pt"),
        ("words = 'a'", "expected a list of words"),
        ("exclude = [1]", "expected a list of patterns"),
        ("word = ['a']", "has 'word'; expected min-confidence, variant, words, exclude"),
        ("words = [", "not valid TOML"),
    ],
)
def test_wrong_settings_are_refused(tmp_path, text, message):
    write(tmp_path, **{".atenta-check.toml": text})
    with pytest.raises(ValueError, match=rf"\.atenta-check\.toml .*{message}"):
        read_settings(tmp_path)


@pytest.mark.parametrize("text", ["tool = 3", "[tool]\natenta-check = 3"])
def test_what_is_no_table_is_refused(tmp_path, text):
    write(tmp_path, **{"pyproject.toml": text})
    with pytest.raises(ValueError, match=r"pyproject\.toml has .* = 3; expected a table"):
        read_settings(tmp_path)


def test_files_of_a_folder(tmp_path):
    write(tmp_path, **{"b.md": "", "a/c.md": "", ".d/e.md": "", ".f.md": "", "velho/g.md": "", "h.min.js": ""})
    (tmp_path / "link.md").symlink_to("b.md")
    (tmp_path / "up").symlink_to(tmp_path.parent)
    assert names(tmp_path) == ["b.md", "h.min.js", "a/c.md", "velho/g.md"]
    assert names(tmp_path, Settings(tmp_path, exclude=("velho/", "*.min.js"))) == ["b.md", "a/c.md"]
    assert list_files([tmp_path / "b.md", tmp_path, tmp_path / "b.md"], Settings(tmp_path))[0] == tmp_path / "b.md"
    by_other_names = [tmp_path / "link.md", tmp_path / "a" / ".." / "velho" / "g.md"]
    assert list_files([*by_other_names, tmp_path / "b.md"], Settings(tmp_path, exclude=("velho",))) == [
        tmp_path / "link.md"
    ]
    with pytest.raises(FileNotFoundError, match=r"z\.md"):
        list_files([tmp_path / "z.md"], Settings(tmp_path))


def test_what_git_ignores_is_not_listed(tmp_path, monkeypatch):
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    write(
        tmp_path, **{".gitignore": "saida/\n*.log.md\n", "saida/a.md": "", "b.log.md": "", "ação.md": "", "c/d.md": ""}
    )
    subprocess.run(["git", "-C", tmp_path, "add", "ação.md"], check=True)
    (tmp_path / "e.md").symlink_to("ação.md")
    assert names(tmp_path) == [".gitignore", "ação.md", "c/d.md"]
    with pytest.raises(FileNotFoundError, match=r"saida: git ignores .* a\.md"):
        list_files([tmp_path / "c", tmp_path / "saida"], Settings(tmp_path))
    assert list_files([tmp_path / "saida" / "a.md"], Settings(tmp_path)) == [tmp_path / "saida" / "a.md"]
    (tmp_path / "f").mkdir()
    assert names(tmp_path / "f") == []
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))  # as in a hook: git takes the folder for the whole tree
    assert names(tmp_path / "c") == ["d.md"]
    write(tmp_path, **{"c/saida/a.md": ""})
    assert names(tmp_path / "c") == ["d.md"]
    assert names(tmp_path / "c") == ["d.md"]
    (tmp_path / "ação.md").unlink()
    assert "ação.md" not in names(tmp_path)


def test_a_repository_inside_of_another_is_listed_as_a_folder(tmp_path):
    write(tmp_path, **{"a.md": "", "b/c.md": ""})
    inside = tmp_path / "b"
    for folder in (tmp_path, inside):
        subprocess.run(["git", "init", "-q", folder], check=True)
    author = ["-c", "user.name=a", "-c", "user.email=a"]
    subprocess.run(["git", "-C", inside, *author, "commit", "-q", "--allow-empty", "-m", "a"], check=True)
    assert names(tmp_path) == ["a.md", "b"]
    assert names(tmp_path, Settings(tmp_path, exclude=("b",))) == ["a.md"]
    assert names(inside) == ["c.md"]
    subprocess.run(["git", "-C", tmp_path, *author, "add", "b"], check=True, capture_output=True)  # like a submodule
    assert names(tmp_path) == ["a.md", "b"]
