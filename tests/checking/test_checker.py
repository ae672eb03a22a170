"""Checks of files: what is found, what is written, the cache, names of the tree, and processes."""

import random
import unicodedata
from contextlib import nullcontext

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atenta.checking import checker, findings
from atenta.checking.cache import FOLDER, cache_key
from atenta.checking.checker import check_files, write_findings
from atenta.checking.findings import Finding
from atenta.checking.language import portuguese_blocks
from atenta.checking.settings import Settings
from atenta.checking.text_files import decode
from atenta.command import check
from atenta.recipes.samples.files import DATA
from atenta.restoration.portuguese import MODEL_FOLDER, load_restorer
from atenta.tokenization.base_letters import strip_accents
from support.prose_files import CODE, make_files


def _lines(name):
    return (DATA / "portugues" / f"{name}.txt").read_text(encoding="utf-8").splitlines()


SENTENCES = _lines("cotidiano")[:12]
BARE = "A informacao nao chegou, e a situacao nao mudou."
RIGHT = "A informação não chegou, e a situação não mudou."
MARKED = "áàâãéêíóôõúüçÁÀÂÃÉÊÍÓÔÕÚÜÇ"


def write_and_check(folder, **texts):
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    paths = [folder / name for name in texts]
    return check_files(paths, Settings(folder), processes=1)


def words(checked):
    return [(each.before, each.after) for findings in checked.findings.values() for each in findings]


def test_marks_taken_away_are_found_again_and_no_others(tmp_path):
    numbers = random.Random(1)
    lines = [line for name in ("cotidiano", "guia-codigo-aberto") for line in _lines(name)[12:52]]
    less = [
        " ".join(strip_accents(word) if numbers.random() < 0.1 else word for word in line.split()) for line in lines
    ]
    right, files = make_files([" ".join(line.split()) for line in lines]), make_files(less)
    checked = write_and_check(tmp_path, **files)
    taken = {
        (name, place)
        for name, text in files.items()
        for place, (before, after) in enumerate(zip(text, right[name], strict=True))
        if before != after
    }
    found = {
        (path.name, place)
        for path, findings in checked.findings.items()
        for each in findings
        for place, _ in each.changes
    }
    assert len(taken) > 300
    assert len(taken & found) >= 0.9 * len(taken)
    assert len(taken & found) >= 0.995 * len(found)


def test_only_words_that_may_lack_marks_are_read(tmp_path, monkeypatch):
    read = []
    of_sentences = findings._read
    monkeypatch.setattr(
        findings, "_read", lambda reader, texts, _: read.extend(texts) or of_sentences(reader, texts, _)
    )
    found = words(write_and_check(tmp_path, **{"a.txt": f"Não dormi. {BARE} Hoje não. {BARE}"}))
    assert read == [f"{BARE} ", BARE]
    assert found.count(("informacao", "informação")) == 2


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_places_are_those_of_the_file(tmp_path, encoding):
    path = tmp_path / "a.md"
    path.write_bytes(f"# É\r\n\r\n  {BARE}\r\n".encode(encoding))
    checked = check_files([path], Settings(tmp_path))
    first = checked.findings[path][0]
    assert first[:5] == (3, 5, 10, "informacao", "informação")
    assert first.confidence >= 0.99 > 0.01 >= first.as_it_stands
    assert first.sentence == (BARE, 2)
    write_findings(checked, Settings(tmp_path))
    assert path.read_bytes() == f"# É\r\n\r\n  {RIGHT}\r\n".encode(encoding)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from([*SENTENCES, "`nao`", "", "> -", "x_nao"]), max_size=6), st.randoms())
def test_after_writing_nothing_is_found(tmp_path, lines, numbers):
    text = "\n".join(" ".join(numbers.choice((word, strip_accents(word))) for word in line.split()) for line in lines)
    write_findings(write_and_check(tmp_path, **{"a.md": text}), Settings(tmp_path))
    written = (tmp_path / "a.md").read_text(encoding="utf-8")
    assert len(written) == len(text)
    assert all(after in (before, *MARKED) for before, after in zip(text, written))
    assert strip_accents(written) == strip_accents(text)
    assert not check_files([tmp_path / "a.md"], Settings(tmp_path)).findings


def test_a_mark_that_is_written_says_how_a_name_in_another_file_is_spelt(tmp_path):
    checked = write_and_check(tmp_path, **{"a.md": BARE, "b.md": "Esta lei foi aprovada. Veja a Informacao nova."})
    assert [path.name for path in checked.findings] == ["a.md"]
    assert [path.name for path in write_findings(checked, Settings(tmp_path)).findings] == ["a.md", "b.md"]
    assert not check_files(checked.paths, Settings(tmp_path)).findings


def test_a_file_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    def refuse(path, content):
        raise PermissionError(13, "Permission denied", f"{path}.unfinished")

    checked = write_and_check(tmp_path, **{"a.md": BARE})
    monkeypatch.setattr(checker, "replace_file", refuse)
    with pytest.raises(OSError, match=r"a\.md cannot be written \(Permission denied\)"):
        write_findings(checked, Settings(tmp_path))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(sorted(make_files(SENTENCES))),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["NFC", "NFD"]),
    st.lists(st.sampled_from(SENTENCES), min_size=2, max_size=5),
    st.randoms(),
)
def test_bytes_of_any_file_change_by_marks_of_prose_only(tmp_path, name, line_end, encoding, form, sentences, numbers):
    less = [" ".join(numbers.choice((word, strip_accents(word))) for word in each.split()) for each in sentences]
    text = unicodedata.normalize(form, make_files(less)[name])
    before = text.replace("\n", line_end).encode(encoding)
    path = tmp_path / name
    path.write_bytes(before)
    checked = check_files([path], Settings(tmp_path), processes=1)
    assert path.read_bytes() == before
    write_findings(checked, Settings(tmp_path))
    given, written = decode(before), decode(path.read_bytes())
    assert written[1:] == given[1:]
    assert strip_accents(written.text) == strip_accents(given.text)
    old, new = (unicodedata.normalize("NFC", each.text) for each in (given, written))
    assert all(after in (letter, *MARKED) for letter, after in zip(old, new, strict=True))
    assert written.text.count(CODE) == given.text.count(CODE)
    for code in (f"nao e {CODE}", f"{CODE} nao", f"nao {CODE}"):
        assert new.count(code) == old.count(code)
    if unicodedata.normalize("NFC", text) != text:
        assert unicodedata.is_normalized("NFD", written.text)
    assert not check_files([path], Settings(tmp_path), processes=1).findings


def test_a_paragraph_of_many_addresses(tmp_path):
    line = f"{BARE} `x` http://exemplo.com/nao\n"
    found = words(write_and_check(tmp_path, **{"a.txt": line * 2000}))
    assert found == words(write_and_check(tmp_path, **{"a.txt": line})) * 2000


def test_settings_decide_what_counts(tmp_path):
    assert ("informacao", "informação") in words(write_and_check(tmp_path, **{"a.txt": BARE}))
    path = tmp_path / "a.txt"
    assert words(check_files([path], Settings(tmp_path, min_confidence=1.0))) == []
    left = words(check_files([path], Settings(tmp_path, words=frozenset({"informacao", "nao"}))))
    assert left
    assert not {"informacao", "nao"} & {before for before, _ in left}


def test_a_variant_decides_the_words_that_brazil_and_portugal_mark_differently(tmp_path):
    right = {"br": ("acadêmico", "econômica", "gênio"), "pt": ("académico", "económica", "génio")}
    checked = write_and_check(tmp_path, **{"a.txt": "O relatorio academico, de um genio, sobre a politica economica."})
    surely = {("relatorio", "relatório"), ("politica", "política")}
    assert {*words(checked)} == surely
    assert checked.undecided == 3
    for variant, expected in right.items():  # also where the cache has those of the other
        checked = check_files(checked.paths, Settings(tmp_path, variant=variant))
        assert {*words(checked)} == {*surely, *zip(("academico", "economica", "genio"), expected)}
        assert checked.undecided == 0
    write_findings(checked, Settings(tmp_path, variant="pt"))
    assert not check_files(checked.paths, Settings(tmp_path, variant="br")).findings  # those of a file are kept


def test_a_name_that_the_tree_spells_one_way_is_not_found(tmp_path, monkeypatch):
    known = load_restorer(MODEL_FOLDER).codes.spellings
    monkeypatch.setattr(known, "_lines", {key: each for key, each in known._lines.items() if key != "situacao"})
    checked = write_and_check(tmp_path, **{"a.txt": BARE, "b.txt": RIGHT.replace("situação", "ilha")})
    assert "informacao" in dict(words(checked))
    assert "situacao" not in dict(words(checked))
    ((_, _, (_, marked)),) = checker._check_chunk([tmp_path / "a.txt"])
    assert marked == []
    (tmp_path / "b.txt").write_text(RIGHT, encoding="utf-8")
    ((_, _, (_, marked)),) = checker._check_chunk([tmp_path / "b.txt"])
    assert marked == ["informacao", "nao", "situacao"]
    name = Finding(1, 1, 8, "situacao", "situação", 0.999, 0.001, True, (BARE, 31), [], 0.999)
    assert checker._is_reported(name, Settings(tmp_path), set(marked))
    assert not checker._is_reported(name, Settings(tmp_path), set())
    assert checker._is_reported(name._replace(is_name=False), Settings(tmp_path), set())


@pytest.mark.parametrize(
    "code",
    [
        *(r"\(informacao\)", r"\[informacao\]", "$$\ninformacao\n$$", "[[informacao]]"),
        *(":informacao:", "informacao()", "**i**nformacao", "<b>infor</b>macao"),
        'e "db":"informacao"',
    ],
)
def test_code_in_markdown_and_words_with_marks_of_emphasis_are_left_alone(tmp_path, code):
    assert words(
        write_and_check(tmp_path, **{"a.md": f"A nova {code} chegou.\n\nA situacao do meu pai mudou.\n"})
    ) == [("situacao", "situação")]
    assert ("informacao", "informação") in words(write_and_check(tmp_path, **{"a.md": f"{BARE[:-1]}:\n{code}."}))


def test_functions_in_tags_are_left_alone(tmp_path):
    text = f"{RIGHT}\n\n<b onClick={{() => abrir(secao, situacao, 1)}}>x</b>\n"
    assert words(write_and_check(tmp_path, **{"a.md": text, "b.svelte": text})) == []


def test_in_messages_words_beside_tags_are_read_but_no_code_in_tags_and_no_word_with_a_tag_inside(tmp_path):
    less = "A <b>informacao</b> não chegou.<br>Nao use <code>nao {x} informacao</code>, <i>n</i>ao e sit<b>u</b>acao."
    right = less.replace("<b>informacao", "<b>informação").replace("Nao", "Não")
    files = {"a.po": f'msgid "x"\nmsgstr "{less}"\n', "a.json": f'{{"a": "{less}"}}', "a.txt": less}
    write_findings(write_and_check(tmp_path, **files), Settings(tmp_path))
    assert [(tmp_path / name).read_text(encoding="utf-8").count(right) for name in files] == [1, 1, 1]


def test_a_capital_within_a_sentence_is_that_of_a_name(tmp_path):
    texts = {"a.txt": "Informacao nova: a Informacao e o Mexico nao chegaram."}
    assert {before for before, _ in words(write_and_check(tmp_path, **texts))} == {"Informacao", "nao"}
    checked = write_and_check(tmp_path, **texts, **{"b.txt": "Mora no México e tem informação."})
    assert [before for before, _ in words(checked)] == ["Informacao", "Informacao", "Mexico", "nao"]


def test_verbs_spelt_as_nouns_without_their_mark_and_words_that_have_one_are_left_alone(tmp_path):
    text = "O quadro referencia a exceção, que referencia o valor. Veja o manual de referencia e a referencia.\n"
    found = [each for of_file in write_and_check(tmp_path, **{"a.md": text}).findings.values() for each in of_file]
    assert [text[each.column - 1 : each.column + 11] for each in found] == ["referencia e", "referencia.\n"]
    found = words(write_and_check(tmp_path, **{"a.txt": "Você vai referenciá-lo e também invalidá-lo, não é?"}))
    assert not {before for before, _ in found} & {"referenciá", "invalidá"}


def test_statements_for_a_database_and_names_in_toml_are_left_alone(tmp_path):
    statement = f'# {RIGHT}\ndb("""\n    INSERT INTO x (\n        situacao,\n        informacao\n    )\n""")\n'
    front = f'+++\nsituacao = "A informacao do meu pai"\n+++\n{RIGHT}\n'
    write_findings(write_and_check(tmp_path, **{"a.py": statement, "b.md": front}), Settings(tmp_path))
    assert (tmp_path / "a.py").read_text(encoding="utf-8") == statement
    assert (tmp_path / "b.md").read_text(encoding="utf-8") == front.replace("informacao", "informação")


def test_names_of_code_are_left_alone_in_its_comments(tmp_path):
    code = f"# {BARE}\nsituacao = 1\n"
    found = dict(words(write_and_check(tmp_path, **{"a.py": code})))
    assert "informacao" in found
    assert "situacao" not in found


@pytest.mark.parametrize(
    "text",
    [
        "La informacion de la situacion no esta en el numero de la pagina, y es facil de ver.",
        "The media of the video area is not on the public pages, and the series is in the general area.",
        "La situation de la generation est tres facile a voir dans les pages publiques.",
        "select nome, situacao from publico where numero",
    ],
)
def test_other_languages_are_not_read(tmp_path, text):
    assert words(write_and_check(tmp_path, **{"a.md": text})) == []


def test_a_foreign_paragraph_of_a_portuguese_file_is_not_read():
    english = "The media of the video area is not on the public pages."
    assert portuguese_blocks([*[BARE] * 9, english, "Media"]) == [True] * 9 + [False, True]
    assert portuguese_blocks([english, english, "Media", RIGHT]) == [False] * 3 + [True]
    assert portuguese_blocks([]) == []


def test_a_file_that_has_not_changed_is_not_read_again_unless_the_cache_is_damaged(tmp_path, monkeypatch):
    first = write_and_check(tmp_path, **{"a.txt": BARE, "b.txt": RIGHT})
    assert (tmp_path / FOLDER / ".gitignore").read_text() == "*\n"
    read = []
    of_chunk = checker._check_chunk
    monkeypatch.setattr(checker, "_check_chunk", lambda paths, variant: read.extend(paths) or of_chunk(paths, variant))
    assert words(write_and_check(tmp_path, **{"a.txt": BARE, "b.txt": RIGHT})) == words(first)
    assert read == []
    write_and_check(tmp_path, **{"a.txt": BARE + " Sim.", "b.txt": RIGHT})
    assert [path.name for path in read] == ["a.txt"]
    assert cache_key(b"a", ".md") != cache_key(b"a", ".txt")
    (tmp_path / FOLDER / "findings.sqlite").write_bytes(b"no database" * 100)
    assert words(write_and_check(tmp_path, **{"a.txt": BARE}))


def test_outside_of_a_project_only_what_is_written_is_read_again(tmp_path, monkeypatch):
    settings = Settings(tmp_path, is_project=False)
    paths = [tmp_path / name for name in ("a.txt", "b.txt")]
    for path, text in zip(paths, (BARE, f"{RIGHT} Sim.")):
        path.write_text(text, encoding="utf-8")
    checked, read, of_chunk = check_files(paths, settings), [], checker._check_chunk
    monkeypatch.setattr(checker, "_check_chunk", lambda paths, variant: read.extend(paths) or of_chunk(paths, variant))
    write_findings(checked, settings)
    assert read == paths[:1]
    assert not (tmp_path / FOLDER).exists()


def test_what_cannot_be_read_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(checker, "LARGEST", 30)
    (tmp_path / "a.txt").write_bytes(b"nao\0")
    (tmp_path / "b.txt").write_bytes(b"nao " * 10)
    (tmp_path / "c.png").write_bytes(b"nao")
    (tmp_path / "d.md").mkdir()
    checked = check_files(sorted(tmp_path.iterdir()), Settings(tmp_path))
    assert {path.name: reason.split(",")[0] for path, reason in checked.not_read.items()} == {
        "a.txt": "binary",
        "b.txt": "0 MB",
        "d.md": "a repository of its own: check it by itself",
    }
    assert (checked.number, checked.other_types, checked.findings) == (0, 1, {})


def test_one_file_that_cannot_be_read_leaves_the_others(tmp_path, monkeypatch, capfd):
    (tmp_path / "b.txt").write_text(BARE, encoding="utf-8")
    (tmp_path / "a.txt").symlink_to(tmp_path / "a.txt")  # to itself
    checked = check_files([tmp_path / "a.txt", tmp_path / "b.txt"], Settings(tmp_path, is_project=False))
    assert [*checked.not_read] == [tmp_path / "a.txt"]
    assert [*checked.findings] == [tmp_path / "b.txt"]
    assert not (tmp_path / FOLDER).exists()
    monkeypatch.setattr(check, "list_files", lambda paths, settings: [tmp_path / "a.txt", tmp_path / "b.txt"])
    given = dict.fromkeys(("min_confidence", "variant", "processes")) | {"write": False, "explain": False}
    with pytest.raises(OSError, match=r"could not read .*a\.txt"):
        check.check_paths([tmp_path], words=[], format="text", **given)
    assert "informação" in capfd.readouterr().out


def test_a_file_that_changes_meanwhile_is_not_written(tmp_path):
    checked = write_and_check(tmp_path, **{"a.txt": BARE})
    (tmp_path / "a.txt").write_text("x" + BARE, encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.txt has changed"):
        write_findings(checked, Settings(tmp_path))


@pytest.mark.parametrize("linked", [FOLDER, f"{FOLDER}/.gitignore", f"{FOLDER}/findings.sqlite"])
def test_a_cache_that_is_a_link_is_not_written(tmp_path, linked):
    """A repository could let a file of the user's be written."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine", encoding="utf-8")
    project = tmp_path / "project"
    (project / linked).parent.mkdir(parents=True)
    (project / linked).symlink_to(elsewhere if linked == FOLDER else elsewhere / "file")
    assert words(write_and_check(project, **{"a.txt": BARE}))
    assert [path.name for path in elsewhere.iterdir()] == ["file"]
    assert (elsewhere / "file").read_text(encoding="utf-8") == "mine"


def test_several_processes_find_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(checker, "_CHUNK", 10)
    alone = write_and_check(tmp_path, **{"a.txt": BARE, "b.md": RIGHT, "c.txt": BARE})
    (tmp_path / FOLDER / "findings.sqlite").unlink()
    done = []
    monkeypatch.setattr(checker, "progress", lambda *of: nullcontext(lambda count: done.append((count, *of))))
    paths = [tmp_path / name for name in ("a.txt", "b.md", "c.txt")]
    assert words(check_files(paths, Settings(tmp_path), processes=2)) == words(alone)
    assert done == [(1, 3, "file")] * 3
