"""Tests of the course pages: the same code in both languages, exercises with checks and solutions, and folds."""

import ast
import functools
import re
import runpy
from pathlib import Path

import jupytext
import pytest
import yaml

from atenta.recipes.course import answer_digest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
CODE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
FOLD = re.compile(r'<details class="(?:erratum|solution)">\n<summary>[^\n]+</summary>\n\n(?s:.*?)\n\n</details>\n')
PAGES = sorted(path.name for path in (DOCS / "en").glob("*.md"))
NOTEBOOKS = sorted((page for page in PAGES if page[0].isdigit()), key=lambda page: int(page.split("_")[0]))
LAST_SECTIONS = {"en": ["Exercises", "Solutions"], "pt": ["Exercícios", "Soluções"]}
LEVELS = {"en": ["Warm up", "Practise", "Go further"], "pt": ["Para aquecer", "Para praticar", "Para ir além"]}
GUIDES = [f"docs/{language}/{name}.md" for language in LAST_SECTIONS for name in ("saved_models", "without_torch")]


def folder_made_by(line):
    """Return the folder that a line of a shell makes, if it is one that trains or exports a model."""
    if given := re.search(r"--(?:output_dir|to transformers) (\S+)", line):
        return given[1]
    if pairs := re.match(r"atenta train pairs --train_file (\w+)\.tsv", line):
        return f"outputs/{pairs[1]}"
    if recipe := re.match(r"(?:atenta train |python recipes/)(\w+)", line.replace("make run", "atenta train seq2seq")):
        code = (ROOT / "recipes" / f"{recipe[1]}.py").read_text(encoding="utf-8")
        config = re.search(r"--config (\S+)", line) or re.search(r'default_config="(.+?)"', code)
        return yaml.safe_load((ROOT / "recipes" / "configs" / config[1]).read_text(encoding="utf-8"))["output_dir"]
    return None


class Blanked(ast.NodeTransformer):
    """A transformer that empties strings; f-strings keep only their expressions."""

    def visit_Constant(self, node):
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node):
        values = [self.visit(value) for value in node.values if isinstance(value, ast.FormattedValue)]
        return ast.JoinedStr(values) if values else ast.Constant("")


def without_texts(code):
    lines = [f"_magic({line!r})" if line.startswith(("%", "!")) else line for line in code.splitlines()]
    magics = [line for line in lines if line.startswith("_magic(")]
    return magics, ast.dump(Blanked().visit(ast.parse("\n".join(lines))))


@functools.cache
def notebook(language, page):
    return jupytext.read(DOCS / language / page)


def cells(language, page):
    """Return each code cell of a page as a tuple: number, magics, code without texts, tags."""
    if "```{code-cell}" not in (DOCS / language / page).read_text(encoding="utf-8"):
        return []  # where jupytext would take other code for cells
    code = [cell for cell in notebook(language, page).cells if cell.cell_type == "code"]
    return [(number, *without_texts(cell.source), cell.metadata.get("tags")) for number, cell in enumerate(code, 1)]


def sections(language, page):
    text = "\n".join(cell.source for cell in notebook(language, page).cells if cell.cell_type == "markdown")
    return re.findall(r"^## (.+)$", text, re.MULTILINE)


def exercises_and_solutions(language, page):
    """Return the text of the exercises and that of the solutions."""
    text = (DOCS / language / page).read_text(encoding="utf-8")
    exercises, solutions = (text.index(f"\n## {title}\n") for title in LAST_SECTIONS[language])
    return text[exercises:solutions], text[solutions:]


def checks(text):
    """Return the arguments of each call of `check` in the code cells of a text."""
    code = [cell.source for cell in jupytext.reads(text, "md:myst").cells if cell.cell_type == "code"]
    calls = [node for source in code if "check(" in source for node in ast.walk(ast.parse(source))]
    return [node.args for node in calls if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check"]


def test_only_texts_are_ignored_in_the_comparison():
    same = 'print("one", f"{x:.2f} nats")  # one', "print('um', f'{x:.2f}' ' nats, isto é')"
    assert len({str(without_texts(code)) for code in same}) == 1
    unlike = 'print("one")', 'print("one", 1)', 'print(f"{x}")', 'print(f"{y}")', "%matplotlib inline", "%time x"
    assert len({str(without_texts(code)) for code in unlike}) == len(unlike)


def test_every_page_exists_in_both_languages():
    assert {path.name for path in (DOCS / "pt").glob("*.md")} == set(PAGES)
    assert [int(page.split("_")[0]) for page in NOTEBOOKS] == list(range(12))


@pytest.mark.parametrize("page", PAGES)
def test_pages_with_figures_draw_them_inline(page):
    code = [cell.source for cell in notebook("en", page).cells if cell.cell_type == "code"]
    assert not any("draw_" in cell for cell in code) or code[0].startswith("%matplotlib inline")


@pytest.mark.parametrize("page", PAGES)
def test_both_languages_have_the_same_code_except_for_texts_and_as_many_sections(page):
    for english, portuguese in zip(cells("en", page), cells("pt", page), strict=True):
        assert english == portuguese
    assert len(sections("en", page)) == len(sections("pt", page))


@pytest.mark.parametrize("language", LAST_SECTIONS)
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_a_notebook_ends_with_exercises_of_three_levels_and_their_solutions(language, page):
    assert sections(language, page)[-2:] == LAST_SECTIONS[language]
    exercises, solutions = exercises_and_solutions(language, page)
    assert re.findall(r"^### (.+)$", exercises, re.MULTILINE) == LEVELS[language]
    assert solutions.count('<details class="solution">') == solutions.count("</details>") > 0


@pytest.mark.parametrize("language", LAST_SECTIONS)
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_checks_know_the_answers_of_the_solutions_and_tell_none(language, page):
    exercises, solutions = map(checks, exercises_and_solutions(language, page))
    assert exercises
    assert all(isinstance(answer, ast.Name | ast.Constant) for answer, _ in exercises)
    answered = {digest.value: ast.literal_eval(answer) for answer, digest in solutions}
    assert {digest.value for _, digest in exercises} == set(answered)
    assert {answer_digest(answer): answer for answer in answered.values()} == answered


@pytest.mark.parametrize("language", LAST_SECTIONS)
@pytest.mark.parametrize("page", PAGES)
def test_the_index_links_to_every_page(language, page):
    index = (DOCS / language / "index.md").read_text(encoding="utf-8")
    assert page == "index.md" or (f"]({page})" in index and f"\n{page.removesuffix('.md')}\n" in index)
    title = re.search(r"^# (.+)$", (DOCS / language / page).read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert page not in NOTEBOOKS or f"| [{title}]({page}) |" in index


@pytest.mark.parametrize("language", LAST_SECTIONS)
@pytest.mark.parametrize("page", PAGES)
def test_what_is_folded_has_a_summary_and_ends_in_its_section(language, page):
    text = (DOCS / language / page).read_text(encoding="utf-8")
    folds = FOLD.findall(text)
    assert not re.search(r"</?details|</?summary", FOLD.sub("", text))
    assert not [fold for fold in folds if re.search(r"^#+ |<details.*<details", CODE.sub("", fold), re.MULTILINE)]


@pytest.mark.parametrize("language", LAST_SECTIONS)
@pytest.mark.parametrize("page", NOTEBOOKS)
def test_code_is_at_most_half_of_the_lines_of_a_notebook(language, page):
    lines = {"code": 0, "markdown": 0}
    for cell in notebook(language, page).cells:
        lines[cell.cell_type] += sum(bool(line.strip()) for line in cell.source.splitlines())
    assert lines["code"] <= lines["markdown"]


@pytest.mark.parametrize(
    "page", ["README.md", "README.pt.md", *GUIDES, "docs/en/first_run.md", "docs/pt/first_run.md"]
)
def test_the_folders_of_a_page_are_made_on_it(page):
    made = set()
    for block in CODE.findall((ROOT / page).read_text(encoding="utf-8")):
        for line in block.splitlines():
            made.add(folder_made_by(line))
            assert made >= set(re.findall(r"outputs/\w+", line)), line


@pytest.mark.parametrize("page", ["README.md", "README.pt.md"])
def test_the_readme_goes_from_pairs_of_ones_own_to_a_server(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    block, rest = re.search(r"^```bash\n([^`]*train pairs[^`]*)```\n(.*)", text, re.MULTILINE | re.DOTALL).groups()
    commands = re.findall(r"(?:^|&& )(?:atenta|transformers) (\w+)", block, re.MULTILINE)
    assert commands == ["train", "predict", "evaluate", "export", "train", "export", "serve"]
    assert "--position_embedding_type sinusoidal" in rest[:800]


@pytest.mark.parametrize("language", LAST_SECTIONS)
def test_the_picture_of_the_readme_is_what_the_model_answers(language):
    """But for the probabilities, which an engine or a processor rounds in its own way."""
    number = re.compile(r"\d[.,]\d\d\b")
    stored = (DOCS / "_static" / f"restored.{language}.svg").read_text(encoding="utf-8")
    drawn = runpy.run_path(str(DOCS / "restored.py"))["draw_restored"](language)
    assert number.sub("", stored) == number.sub("", drawn)
    values = [[float(each.replace(",", ".")) for each in number.findall(text)] for text in (stored, drawn)]
    assert values[0] == pytest.approx(values[1], abs=0.06)
