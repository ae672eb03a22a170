"""The switches of the demo's page: capitals and punctuation are restored, and doubtful signs decided by hand."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from atenta import restore_accents, restore_text
from atenta.recipes.samples.portuguese_texts import strip_punctuation
from atenta.tokenization.base_letters import strip_accents

SENTENCES = Path(__file__).parents[2] / "recipes" / "data" / "everyday_pt" / "test.tsv"
EXAMPLE = "voce vem amanha nao sei se o joao vai poder ir mas eu vou"
# Shows a text of which all that the model says is given: by place, numbers of code_points.js and probabilities.
SHOW = """async ([text, isOpen, choices]) => {
  const { codePoints, codeOf, NOTHING, textOf, withoutCharacter } = await import("./code_points.js");
  const { emptyReading, setChoice, counted } = await import("./reading.js");
  const { showMarks } = await import("./marks.js");
  const codes = Uint32Array.of(...codePoints(text), ...(isOpen ? [NOTHING] : []));
  const reading = emptyReading(codes, Array.from(codes, (code, place) => choices[place]));
  reading.places.forEach((place, index) => setChoice(reading, index, choices[place].map(([variant, probability]) => {
    const code = codeOf(variant);
    return { code: place < text.length ? code : withoutCharacter(code), probability };
  })));
  const output = document.getElementById("restored"), shown = showMarks(output, reading, 0, new Map(), () => {});
  return { restored: textOf(shown), shown: output.textContent, counts: counted(reading, shown) };
}"""


@pytest.fixture(scope="module")
def doubtful(speech):
    """A text, what becomes of it, and the place of a space of which the model is not sure.

    Of all such texts, the one in whose least sure character the model is surest: no rounding changes it.
    """
    with SENTENCES.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        texts = [strip_punctuation(strip_accents(row["text"])).lower() for row in rows]
    found = []
    for text, restored in zip(texts, restore_text(texts, return_probabilities=True), strict=True):
        places = [place for place, each in enumerate(text) if each == " " and restored.probabilities[place] < 0.9]
        found += [(restored.probabilities.min(), text, restored, place) for place in places]
    return max(found, key=lambda each: each[0])[1:]


def switch(page, *names):
    for name in names:
        page.get_by_role("checkbox", name=name).press("Space")


def test_capitals_and_punctuation_are_switched_on(open_page):
    page = open_page()
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    expect(page.get_by_role("group", name="What is restored").get_by_role("checkbox")).to_have_count(3)
    switch(page, "Capitals", "Punctuation")
    expect(page.locator("#given")).to_have_value(EXAMPLE)
    restored = restore_text(EXAMPLE)
    expect(page.locator("#restored")).to_have_text(restored)
    assert len([url for url in requested if "/models/speech/" in url]) == 4  # only now
    switch(page, "Accents")
    expect(page.locator("#restored")).to_have_text(restore_text(EXAMPLE, accents=False))
    page.locator("#given").fill("a ana vem")
    expect(page.locator("#counts")).to_have_text(re.compile(r"^9 characters · \d+ changes? · \d doubtful"))
    switch(page, "Accents", "Capitals", "Punctuation")
    expect(page.locator("#given")).to_have_value("a ana vem")


@pytest.mark.parametrize(
    ("locale", "chosen", "others"), [("en", "", "pt"), ("pt-BR", "br", "pt"), ("pt-PT", "pt", "")]
)
def test_the_spelling_is_that_of_the_country(open_page, locale, chosen, others):
    page, text = open_page(locale=locale), "um genio e um fenomeno higienico"
    select, restored = page.locator("#variant"), page.locator("#restored")
    expect(select).to_have_value(chosen)
    page.locator("#given").fill(text)
    expect(restored).to_have_text(restore_accents(text, variant=chosen or None))
    select.select_option(others)
    expect(restored).to_have_text(restore_accents(text, variant=others or None))
    if locale == "pt-BR":  # a variant is chosen, and not used without accents
        page.locator("#switches input[value=capitals]").press("Space")
        page.locator("#switches input[value=accents]").press("Space")
        expect(select).to_be_disabled()
        expect(restored).to_have_text(restore_text(text, accents=False, punctuation=False))


def test_the_page_says_that_a_model_is_loaded(open_page):
    page, held = open_page(), []
    page.context.route("**/models/speech/*.onnx", lambda route: held.append(route))
    switch(page, "Capitals")
    expect(page.locator("#counts")).to_have_text("Loading the model…")
    expect(page.locator("#restored")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#copy")).to_be_disabled()
    switch(page, "Capitals")  # accents alone need no other model
    expect(page.locator("#restored")).to_contain_text("há três")
    expect(page.locator("#copy")).to_be_enabled()
    switch(page, "Capitals")
    for route in held:
        route.continue_()
    expect(page.locator("#restored")).to_have_text(restore_text(EXAMPLE, punctuation=False))


def test_a_doubtful_sign_is_decided_by_hand(open_page, doubtful):
    text, restored, place = doubtful
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    switch(page, "Capitals", "Punctuation")
    page.locator("#given").fill(text)
    expect(page.locator("#restored")).to_have_text(restored.text)
    page.locator("#copy").focus()
    page.keyboard.press("Tab")
    mark = page.locator(f"#restored .mark[data-place='{place}']")
    for _ in text:
        if mark.get_attribute("aria-expanded") == "true":
            break
        page.keyboard.press("ArrowRight")
    expect(mark).to_be_focused()
    words = r"(no sign|comma|full stop|question mark|exclamation mark|colon|semicolon)"
    expect(mark).to_have_attribute("aria-label", re.compile(rf"^{words} after \S+, \d.*% sure$"))
    page.keyboard.press("ArrowDown")
    option = page.locator("#alternatives").get_by_role("option", selected=True)
    expect(option).to_have_attribute("aria-label", re.compile(rf"^{words}, \d.*%$"))
    sign = option.locator("b").text_content()
    page.keyboard.press("Enter")
    answer = "".join([*restored.pieces[:place], sign, " ", *restored.pieces[place + 1 :]])
    assert answer != restored.text
    expect(page.locator("#restored")).to_have_text(answer)
    expect(mark).to_be_focused()
    page.locator("#copy").click()
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == answer
    page.get_by_role("button", name="Português").click()
    expect(mark).to_have_attribute("aria-label", re.compile(r"^\D+ depois de \S+, certeza de \d.*%$"))
    switch(page, "Acentos")  # with other words around it, what was decided lasts
    expect(page.locator("#restored .mark[data-chosen]")).to_have_count(1)
    switch(page, "Pontuação")
    expect(page.locator("#restored .mark[data-chosen]")).to_have_count(0)


def test_the_last_switch_stays_on(open_page):
    page = open_page()
    accents, capitals, punctuation = (
        page.get_by_role("checkbox", name=name) for name in ("Accents", "Capitals", "Punctuation")
    )
    expect(accents).to_be_disabled()
    page.locator("#restored .mark").first.focus()
    page.keyboard.press("Tab")
    expect(capitals).to_be_focused()
    page.keyboard.press("Space")
    expect(accents).to_be_enabled()
    page.keyboard.press("Shift+Tab")
    expect(accents).to_be_focused()
    page.keyboard.press("Space")
    expect(capitals).to_be_disabled()
    expect(accents).not_to_be_checked()
    expect(page.locator("#restored")).to_have_text(restore_text(EXAMPLE, accents=False, punctuation=False))
    expect(punctuation).to_be_enabled()


def test_a_file_is_read_again_when_a_switch_is_turned(open_page, tmp_path):
    page = open_page()
    text = "\ufeffvoce vem amanha\r\nnao sei\n" * 20 + "a ana vem"
    path = tmp_path / "carta.txt"
    path.write_bytes(text.encode())
    page.locator("#file").set_input_files(path)
    expect(page.locator("#save")).to_have_text("Save carta.accents.txt")
    switch(page, "Punctuation")
    expect(page.locator("#save")).to_have_text("Save carta.restored.txt")
    with page.expect_download() as download:
        page.locator("#save").click()
    assert download.value.path().read_bytes().decode() == restore_text(path, capitals=False)
    page.get_by_role("button", name="Português").click()
    expect(page.locator("#save")).to_have_text("Salvar carta.restaurado.txt")


def test_marks_of_signs_are_seen_even_where_there_is_none(open_page):
    page = open_page()
    none, comma = [[" ", 0.6], [", ", 0.4]], [[", ", 0.6], [" ", 0.4]]
    ends = [["\n", 0.6], [".\n", 0.4]]
    found = page.evaluate(SHOW, ["a b c\nd", True, {1: none, 3: comma, 5: ends, 7: ends}])
    assert found["restored"] == found["shown"] == "a b, c\nd"
    assert found["counts"] == {"characters": 7, "changed": 1, "doubtful": 4}
    marks = page.locator("#restored .mark")
    assert marks.all_text_contents() == [" ", ", ", "", ""]
    for mark in marks.all():
        assert mark.bounding_box()["width"] > 3
    labels = [mark.get_attribute("aria-label") for mark in marks.all()]
    assert labels[:3] == ["no sign after a, 60% sure", "comma after b, 60% sure", "no sign after c, 60% sure"]
    marks.nth(2).focus()
    shown = page.locator("#alternatives .spelling")
    assert shown.all_text_contents() == ["c d", "c. d"]
    signs = [["?\n", 0.6], ["\n", 0.4]]
    found = page.evaluate(SHOW, ["a \nb", True, {2: signs, 4: signs}])
    assert found["restored"] == found["shown"] == "a ?\nb?"
    assert page.locator("#restored .mark").all_text_contents() == ["?", "?"]
    expect(page.locator("#restored .mark").first).to_have_attribute("aria-label", "question mark after a, 60% sure")


def test_what_was_decided_at_the_end_of_a_text_is_dropped_when_the_text_goes_on(run_script):
    carry = """async ([before, after, chosen]) => {
      const { codePoints, NOTHING } = await import("./code_points.js"), { carried } = await import("./reading.js");
      const open = (text) => Uint32Array.of(...codePoints(text), NOTHING);
      return [...carried(open(before), open(after), new Map(chosen))];
    }"""
    assert run_script(carry, ["vens", "vens amanha", [[1, 101], [4, 63]]]) == [[1, 101]]
    assert run_script(carry, ["vens", "tu vens", [[1, 101], [4, 63]]]) == [[4, 101], [7, 63]]
    assert run_script(carry, ["vens", "vens", [[1, 101], [4, 63]]]) == [[1, 101], [4, 63]]


def test_a_variant_that_no_number_holds_is_an_error(run_script):
    error = """async (text) => {
      const { codeOf } = await import("./code_points.js");
      try { return codeOf(text); } catch (error) { return error.message; }
    }"""
    assert run_script(error, "…\n").startswith('found "…\\n"')
    assert run_script(error, ".. ").startswith('found ".. "')
    assert run_script(error, ", ") == 44 << 21 | 32
