"""Tests of the demo's page: typing, choosing, files, mistakes, the tab of attention, languages, sizes."""

import csv
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from playwright.sync_api import expect

from atenta import restore_accents
from atenta.tokenization.base_letters import strip_accents

SENTENCES = Path(__file__).parents[2] / "recipes" / "data" / "everyday_pt" / "test.tsv"
LONG = "A avo nao esta la. " * 55_000  # 1 MB
DOUBTFUL = "Vovo chegou. Oi, avo!"  # nothing says which of the two
FIRST, SECOND = "ovó", "ovô"


def type_text(page, text):
    """Type a text into the emptied box, and wait until it is restored."""
    page.locator("#given").fill("")
    page.locator("#given").press_sequentially(text)
    expect(page.locator("#restored")).to_have_text(restore_accents(text))


def test_accents_appear_as_one_types_and_are_copied(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    type_text(page, "A acao comecou amanha, nao e?")
    expect(page.locator("#counts")).to_have_text(
        re.compile(r"^29 characters · 6 changes · \d+ doubtful · [\d.,]+ [mµ]s per character$")
    )
    page.locator("#copy").click()
    expect(page.locator("#copy")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == restore_accents("A acao comecou amanha, nao e?")
    text = "A licao de historia e para a avo da Sabara."
    type_text(page, text)
    page.locator("#confidence").fill("0.99")
    expect(page.locator("#restored")).to_have_text(restore_accents(text, min_confidence=0.99))
    assert restore_accents(text, min_confidence=0.99) != restore_accents(text)


def test_alternatives_are_chosen_by_keyboard_and_last_through_edits(open_page):
    page = open_page()
    type_text(page, DOUBTFUL)
    restored, alternatives = page.locator("#restored"), page.locator("#alternatives")
    page.locator("#copy").focus()
    page.keyboard.press("Tab")
    mark = restored.locator(".mark").first
    expect(mark).to_be_focused()
    expect(mark).to_have_attribute("aria-expanded", "true")
    expect(alternatives.get_by_role("option", selected=True)).to_contain_text(FIRST)
    page.keyboard.press("ArrowDown")
    expect(alternatives.get_by_role("option", selected=True)).to_contain_text(SECOND)
    page.keyboard.press("Enter")
    expect(restored).to_have_text(restore_accents(DOUBTFUL).replace(FIRST, SECOND))
    expect(mark).to_be_focused()
    page.keyboard.press("Escape")
    expect(alternatives).to_be_hidden()
    page.keyboard.press("ArrowRight")
    expect(restored.locator(".mark").nth(1)).to_be_focused()
    page.locator("#given").press("Home")
    page.locator("#given").press_sequentially("Olha! ")
    expect(restored).to_have_text("Olha! Vovô chegou. Oi, avó!")


def test_alternatives_open_under_the_pointer(open_page):
    page = open_page()
    type_text(page, DOUBTFUL)
    page.locator("#restored .mark").first.hover()
    option = page.locator("#alternatives").get_by_role("option").nth(1)
    expect(option).to_contain_text("%")
    option.click()
    expect(page.locator("#restored")).to_have_text(restore_accents(DOUBTFUL).replace(FIRST, SECOND))


def test_a_file_is_restored_and_saved_under_a_new_name(open_page, tmp_path, keep_picture):
    page = open_page()
    text = "\ufeffNao e facil.\r\nEla esta la.\r\n" * 40
    path = tmp_path / "carta.txt"
    path.write_bytes(text.encode())
    page.locator("#file").set_input_files(path)
    expect(page.locator("#save")).to_have_text("Save carta.accents.txt")
    keep_picture(page, "file")
    with page.expect_download() as download:
        page.locator("#save").click()
    assert download.value.suggested_filename == "carta.accents.txt"
    assert download.value.path().read_bytes().decode() == restore_accents(path)


def test_a_file_is_dropped_on_the_page(open_page):
    page = open_page()
    transfer = page.evaluate_handle(
        """() => {
          const transfer = new DataTransfer();
          transfer.items.add(new File(["Nao e facil."], "nota.txt"));
          return transfer;
        }"""
    )
    page.dispatch_event("body", "dragover", {"dataTransfer": transfer})
    expect(page.locator("#drop")).to_be_visible()
    page.dispatch_event("body", "drop", {"dataTransfer": transfer})
    expect(page.locator("#drop")).to_be_hidden()
    expect(page.locator("#save")).to_have_text("Save nota.accents.txt")


def test_a_file_that_is_not_utf_8_is_refused_where_one_looks(open_page, tmp_path):
    page = open_page()
    page.set_viewport_size({"width": 360, "height": 740})
    page.locator("#file").set_input_files({"name": "nova.txt", "mimeType": "text/plain", "buffer": b"Nao e facil."})
    expect(page.locator("#save")).to_have_text("Save nova.accents.txt")
    path = tmp_path / "velha.txt"
    path.write_bytes("não".encode("latin-1"))
    page.locator("#file").set_input_files(path)
    problem = "velha.txt is not UTF-8 text. Save it as UTF-8 and open it again."
    expect(page.get_by_role("alert")).to_have_text(problem)
    expect(page.get_by_role("alert")).to_be_in_viewport()
    expect(page.locator("#file-card")).to_be_hidden()


def test_a_model_that_cannot_be_downloaded_is_asked_for_again_as_one_types(open_page):
    page = open_page()
    page.context.route("**/models/speech/*.onnx", lambda route: route.abort())
    page.get_by_role("checkbox", name="Capitals").check()
    expect(page.get_by_role("alert")).to_contain_text("could not be loaded")
    expect(page.get_by_role("alert")).to_be_in_viewport()
    expect(page.locator("#counts")).to_be_empty()
    page.context.unroute("**/models/speech/*.onnx")
    page.locator("#given").press_sequentially(" Nao.")
    expect(page.get_by_role("alert")).to_be_hidden()
    expect(page.locator("#counts")).to_contain_text("characters")


def open_long_file(page):
    page.locator("#file").set_input_files({"name": "livro.txt", "mimeType": "text/plain", "buffer": LONG.encode()})
    expect(page.locator("#file-progress")).to_be_visible()


def test_typing_is_answered_while_a_file_of_1_mb_is_read(open_page, keep_picture):
    page = open_page()
    open_long_file(page)
    figures = re.compile(r"^\d+% · [\d,]+ of 1,045,000 characters$")
    expect(page.locator("#file-progress .figures")).to_have_text(figures)
    expect(page.get_by_role("progressbar", name="Progress of the file")).to_be_visible()
    expect(page.locator("#spoken")).to_have_text(figures)
    type_text(page, "Nao e facil.")
    type_text(page, "Ela ja esta la.")
    keep_picture(page, "file_of_1_mb")
    expect(page.locator("#file-progress")).to_be_visible()
    assert page.locator("#given").input_value() == "Ela ja esta la."


def test_a_file_waits_for_what_is_typed(run_script):
    """A file of many batches goes on by one of them, at most, while a text of several batches is typed."""
    count = """async ([file, text]) => {
      const { ask, cancel } = await import("./models.js");
      let batches = 0;
      await new Promise((resolve) => ask("file", file, (share) => share > 0 && ++batches === 2 && resolve()));
      const before = batches;
      let ofText = 0;
      await ask("type", text, (share) => { ofText += share > 0; });
      cancel("file");
      return [batches - before, ofText];
    }"""
    texts = [{"text": text, "restored": ["accents"]} for text in (LONG[:100_000], LONG[:5000])]
    of_file, of_text = run_script(count, texts)
    assert of_file <= 1 < 3 <= of_text


def test_the_reading_of_a_file_is_overtaken_by_a_newer_file_and_cancelled(open_page):
    page = open_page()
    open_long_file(page)
    page.locator("#file").set_input_files({"name": "nota.txt", "mimeType": "text/plain", "buffer": b"Nao e facil."})
    expect(page.locator("#save")).to_have_text("Save nota.accents.txt")
    expect(page.locator("#file-progress")).to_be_hidden()
    open_long_file(page)
    page.get_by_role("button", name="Cancel the reading of the file").press("Enter")
    expect(page.locator("#file-progress")).to_be_hidden()
    expect(page.locator("#file-state")).to_have_text("was cancelled")
    expect(page.locator("#save")).to_be_hidden()
    page.get_by_role("button", name="Português").click()
    expect(page.locator("#file-state")).to_have_text("leitura cancelada")


def paste(page, text):
    page.evaluate("(text) => navigator.clipboard.writeText(text)", text)
    page.locator("#given").press("Control+a")
    page.locator("#given").press("Control+v")


def test_the_reading_of_a_long_text_in_the_box_is_overtaken_by_a_newer_one_and_cancelled(open_page):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    paste(page, LONG[: len(LONG) // 4])
    expect(page.get_by_role("progressbar", name="Progress of the text")).to_be_visible()
    expect(page.locator("#text-progress .figures")).to_have_text(re.compile(r"^\d+% · [\d,]+ of 261,250 characters$"))
    expect(page.locator("#restored")).to_have_attribute("aria-busy", "true")
    expect(page.locator("#copy")).to_be_disabled()
    type_text(page, "Nao e facil.")
    expect(page.locator("#text-progress")).to_be_hidden()
    expect(page.locator("#copy")).to_be_enabled()
    paste(page, LONG[: len(LONG) // 4])
    page.get_by_role("button", name="Cancel the reading of the text").click()
    expect(page.locator("#text-progress")).to_be_hidden()
    expect(page.locator("#restored")).to_be_empty()
    expect(page.locator("#counts")).to_have_text("Cancelled. The text is read again as soon as you change it.")
    assert page.locator("#given").input_value() == LONG[: len(LONG) // 4]
    type_text(page, "Nao e facil.")
    expect(page.locator("#counts")).to_contain_text("12 characters")


def test_only_the_first_doubtful_characters_of_a_long_text_are_marked(open_page):
    count = """async (length) => {
      const [{ emptyReading, setChoice, counted }, { MOST_MARKS, showMarks }] =
        await Promise.all([import("./reading.js"), import("./marks.js")]);
      const codes = new Uint32Array(length).fill(97), output = document.createElement("div");
      const reading = emptyReading(codes, Array.from(codes, () => [{}, {}]));
      for (const place of codes.keys()) {
        setChoice(reading, place, [{ code: 227, probability: 0.6 }, { code: 97, probability: 0.4 }]);
      }
      const shown = showMarks(output, reading, 0, new Map(), () => {});
      return [MOST_MARKS, output.querySelectorAll(".mark").length, output.textContent, counted(reading, shown)];
    }"""
    most, marks, text, numbers = open_page().evaluate(count, 3000)
    assert marks == most < 3000
    assert text == "ã" * 3000
    assert numbers == {"characters": 3000, "changed": 3000, "doubtful": 3000}


def test_the_mistakes_are_those_of_the_model(site):
    found = json.loads((site / "mistakes.json").read_text(encoding="utf-8"))
    with SENTENCES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    answers = restore_accents([strip_accents(row["text"]) for row in rows])
    right = Counter(row["group"] for row, answer in zip(rows, answers, strict=True) if answer == row["text"])
    tested = Counter(row["group"] for row in rows)
    assert found["groups"] == [{"name": name, "all": tested[name], "right": right[name]} for name in tested]
    shown = found["sentences"]
    assert 0 < len(shown) <= 12
    assert max(Counter(sentence["group"] for sentence in shown).values()) <= 2
    for sentence in shown:
        assert {"group": sentence["group"], "text": sentence["right"]} in rows
        assert sentence["given"] == strip_accents(sentence["right"])
        assert sentence["answered"] == restore_accents(sentence["given"]) != sentence["right"]


def test_a_mistake_is_put_into_the_box(open_page, site):
    found = json.loads((site / "mistakes.json").read_text(encoding="utf-8"))
    page = open_page()
    all_, right = (sum(group[key] for group in found["groups"]) for key in ("all", "right"))
    expect(page.locator("#score")).to_have_text(
        f"Accents: {right} of the {all_} sentences of the test come out right (by group)"
    )
    page.locator("#score").press("Enter")
    group = found["groups"][0]
    expect(page.locator("#score-groups li").first).to_have_text(f"{group['name']} {group['right']} of {group['all']}")
    buttons = page.locator("#mistakes").get_by_role("button")
    expect(buttons).to_have_count(len(found["sentences"]))
    for sentence, button in zip(found["sentences"][:3], buttons.all()):
        words = zip(sentence["answered"].split(), sentence["right"].split(), strict=True)
        wrong, instead = zip(*(pair for pair in words if pair[0] != pair[1]))
        expect(button.locator("del")).to_have_text(wrong)
        expect(button.locator("ins")).to_have_text(instead)
        button.press("Enter")
        expect(page.locator("#given")).to_be_focused()
        expect(page.locator("#given")).to_have_value(sentence["given"])
        expect(page.locator("#restored")).to_have_text(sentence["answered"])
    page.get_by_role("button", name="Português").click()
    expect(page.get_by_role("complementary", name="Onde o modelo erra")).to_contain_text("verbo/substantivo")


def test_the_second_tab_shows_what_a_written_character_read(open_page):
    page = open_page()
    requested = []
    page.on("request", lambda request: requested.append(request.url))
    type_text(page, "Nao e facil.")
    assert requested == []  # the second model is loaded when its tab is opened
    page.locator("#text-tab").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Attention")).to_be_focused()
    expect(page.locator("#text")).to_be_hidden()
    expect(page.locator("#lines [data-source]")).to_have_count(len("A acao comecou amanha, nao e facil") + 1)
    expect(page.locator("#line-time")).to_have_text(re.compile(r"^\d+ characters?"))  # the first time is no time
    page.locator("#line").fill("nao e")
    expect(page.locator("#lines [data-source]")).to_have_count(len("nao e") + 1)
    page.locator("#lines").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#written-0")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#read")).to_have_text(re.compile(r"^To write .+, it looked at .+%"))
    expect(page.locator("#line-time")).to_have_text(re.compile(r"per character written"))
    assert page.locator("#head option").all_text_contents()[0].startswith("all ")

    page.context.set_offline(True)  # the loaded page needs no network
    page.locator("#text-tab").click()
    type_text(page, "Ela esta la.")
    page.locator("#attention-tab").click()
    page.locator("#line").fill("nao")
    expect(page.locator("#lines [data-source]")).to_have_count(4)


def test_the_language_is_the_browser_s_and_can_be_switched(open_page):
    page = open_page(locale="pt-BR")
    expect(page.locator("html")).to_have_attribute("lang", "pt-BR")
    expect(page.get_by_role("tab", selected=True)).to_have_text("Texto")
    page.get_by_role("button", name="English").click()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.get_by_role("tab", selected=True)).to_have_text("Text")
    expect(page.locator("#counts")).to_contain_text("doubtful")


@pytest.mark.parametrize(
    ("width", "height", "scheme", "locale"), [(390, 844, "dark", "pt-BR"), (1280, 800, "light", "en")]
)
def test_the_page_fits_the_window(open_page, keep_picture, width, height, scheme, locale):
    touch = width == 390
    page = open_page(viewport={"width": width, "height": height}, color_scheme=scheme, locale=locale, has_touch=touch)
    mark = page.locator("#restored .mark").first
    mark.tap() if touch else mark.focus()
    expect(page.locator("#alternatives")).to_be_visible()
    box = page.locator("#alternatives").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    keep_picture(page, f"accents_{width}_{scheme}")
    page.locator("#attention-tab").click()
    page.locator("#written-3").hover()
    keep_picture(page, f"attention_{width}_{scheme}")
    page.locator("#phones-tab").click()
    page.locator("#sounds .mark").first.focus()
    expect(page.locator("#alternatives")).to_be_visible()
    keep_picture(page, f"phones_{width}_{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth") == width
