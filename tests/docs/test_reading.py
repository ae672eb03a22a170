"""Tests of a page in Chromium: what is folded, what is copied, and how wide it is on a phone."""

from pathlib import Path

import pytest

from support.served import serve

DOCS = Path(__file__).parents[2] / "docs"
LONG = "AtentaEncoderDecoderForConditionalGeneration"
PAGE = f"""# Página

$$a = {" + ".join(f"b_{{{n}}} x^{{{n}}}" for n in range(30))}$$

`{LONG}` é um nome e `{LONG}` também.

| classe | argumento |
| --- | --- |
| `{LONG}` | `position_embedding_type` |

```python
>>> 1 + 1
2
```

```bash
$ atenta restore "Nao"
Não
```

## Soluções

<details class="solution">
<summary>Solução 1</summary>

```{{code-cell}} ipython3
if True:
    print({", ".join(["1"] * 99)})
```

(end)=
Fim.

</details>

Depois.
"""
IS_OPEN = "document.querySelector('details').open"


@pytest.fixture(scope="module")
def address(tmp_path_factory, build_site):
    site = build_site(
        tmp_path_factory.mktemp("site"),
        {"index.md": "# Site\n\n```{toctree}\npt/a\n```\n", "pt/a.md": PAGE},
        extensions=["myst_nb", "languages", "mathml"],
        html_static_path=[str(DOCS / "_static")],
        html_css_files=["atenta.css"],
        html_js_files=[("atenta.js", {"defer": "defer"})],
    )
    with serve(site) as address:
        yield f"{address}pt/a.html"


@pytest.fixture(scope="module")
def phone(browser):
    """Return a context of Chromium with the width of a phone."""
    context = browser.new_context(
        viewport={"width": 390, "height": 800}, permissions=["clipboard-read", "clipboard-write"]
    )
    yield context
    context.close()


@pytest.fixture
def page(phone, address):
    """The page, open."""
    page = phone.new_page()
    page.goto(address)
    yield page
    page.close()


def test_a_solution_is_folded_with_its_cells_and_nothing_more(page):
    assert page.get_by_text("Solução 1").is_visible()
    assert not page.get_by_text("print(").is_visible()
    assert not page.get_by_text("Fim.").is_visible()
    assert page.get_by_text("Depois.").is_visible()
    page.get_by_text("Solução 1").click()
    assert page.get_by_text("print(").is_visible()
    assert page.locator("details .cell_input").count() == 1


def test_a_link_into_a_solution_opens_it(page, address):
    page.goto(f"{address}#end")
    page.wait_for_function(IS_OPEN)
    assert page.get_by_text("Fim.").is_visible()


def test_a_solution_is_open_while_it_is_printed(page):
    assert page.evaluate(f"dispatchEvent(new Event('beforeprint')), {IS_OPEN}") is True
    assert page.evaluate(f"dispatchEvent(new Event('afterprint')), {IS_OPEN}") is False


@pytest.mark.parametrize(("number", "copied"), [(0, "1 + 1"), (1, 'atenta restore "Nao"')])
def test_only_what_follows_a_prompt_is_copied(page, number, copied):
    button = page.locator("button.copy").nth(number)
    assert button.text_content() == "Copiar"
    button.click()
    page.get_by_text("Copiado").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == copied


def test_a_formula_is_wider_than_the_page_and_scrolls_to_its_end(page):
    box = page.locator(".math-wrapper")
    assert box.evaluate("box => box.scrollWidth > 2 * box.clientWidth")
    assert box.evaluate("box => getComputedStyle(box).overflowX") == "auto"
    box.evaluate("box => box.scrollTo(box.scrollWidth, 0)")
    assert page.locator("math mi").last.bounding_box()["x"] < 390


def test_the_page_is_no_wider_than_the_phone(page):
    page.get_by_text("Solução 1").click()
    code = page.locator("details pre").evaluate("pre => [getComputedStyle(pre).whiteSpace, pre.scrollWidth]")
    assert code[0] == "pre"
    assert code[1] > 390
    heights = page.locator("code.literal").evaluate_all("all => all.map(code => code.getClientRects().length)")
    assert heights == [1] * 4  # names stay in one line
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.evaluate("document.querySelector('.table-wrapper').scrollWidth") > 390
