"""The page of attention maps holds its data, nothing else is fetched, and no text breaks it."""

import json
from html.parser import HTMLParser

import pytest
import torch

from atenta.recipes.pictures.attention import AttentionMap
from atenta.recipes.pictures.attention_page import write_attention_page
from support.models import assert_close

HOSTILE = "</script><script>alert(1)</script><!--<b>&amp;\"'"


class Page(HTMLParser):
    """The elements of a page, and the text of each script."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.scripts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        if self.elements and self.elements[-1][0] == "script":
            self.scripts[-1] += data


@pytest.fixture
def attention():
    weights = torch.rand(2, 3, len(HOSTILE), 4, generator=torch.Generator().manual_seed(0)).softmax(-1)
    return AttentionMap(name="cross-attention", weights=weights, query_labels=[*HOSTILE], key_labels=["␣", *"<>é"])


def read(path):
    return Page(path.read_text(encoding="utf-8"))


def test_the_page_holds_the_maps(tmp_path, attention):
    path = write_attention_page(tmp_path / "new" / "attention.html", [attention, attention])
    first, second = json.loads(read(path).scripts[0])
    assert first == second
    assert (first["name"], first["queries"], first["keys"]) == ("cross-attention", [*HOSTILE], ["␣", *"<>é"])
    assert_close(torch.tensor(first["weights"]), attention.weights, tolerance=0.6e-4)
    longest = max(len(str(weight)) for row in first["weights"][0][0] for weight in row)
    assert longest <= len("0.1234")


def test_no_text_ends_the_script_that_holds_it(tmp_path, attention):
    whole = AttentionMap(
        name=HOSTILE, weights=attention.weights[:, :, :1], query_labels=[HOSTILE], key_labels=attention.key_labels
    )
    page = read(write_attention_page(tmp_path / "attention.html", [whole]))
    assert [attributes.get("type") for tag, attributes in page.elements if tag == "script"] == [
        "application/json",
        None,
    ]
    (told,) = json.loads(page.scripts[0])
    assert (told["name"], told["queries"]) == (HOSTILE, [HOSTILE])


def test_nothing_is_fetched(tmp_path, attention):
    path = write_attention_page(tmp_path / "attention.html", [attention])
    links = [
        value for _, attributes in read(path).elements for name, value in attributes.items() if name in ("src", "href")
    ]
    assert links == ["data:,"]  # no icon is asked for either
    assert "http" not in path.read_text(encoding="utf-8")
