"""A page for one saved model: a generator continues a prompt, a tagger marks what it finds.

python demo/app.py FOLDER    # needs `pip install "atenta[demo]"`

The kind of model in the folder chooses the page, which is served to this machine only.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, groupby
from pathlib import Path

os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # else each start is reported
try:
    import gradio as gr
except ModuleNotFoundError as error:
    sys.exit(f'This needs {error.name}: pip install "atenta[demo]"')

from atenta import CharacterRestorer, load_engine
from atenta.command.predictors import TagPredictor
from atenta.engines.kinds import kind_of, prompt_separator
from atenta.engines.saved_model import class_of, read_config

# Pieces of a text with what is marked on each, as Gradio's HighlightedText takes them.
Marked = list[tuple[str, str | None]]
DOUBTFUL = 0.95  # probability below which a restored character is marked
MOST_CHARACTERS = 2000  # that are generated at once


def make_page(folder: Path) -> gr.Interface:
    """Return the page for the model of a folder: a decoder, a tagger of words, or a tagger of characters."""
    config = read_config(folder)
    pages = {
        "character-restoration": restoration_page,
        "token-classification": tagging_page,
        **dict.fromkeys(("text-generation", "prompt-answering"), generation_page),
    }
    kind = kind_of(config).name
    page = pages.get(kind)
    if page is None:
        raise ValueError(
            f"{folder} has a model of {class_of(config)}, of the kind {kind}; expected one of {', '.join(pages)}."
        )
    return page(folder)


def generation_page(folder: Path) -> gr.Interface:
    """Return the page of a decoder, which continues a prompt while one watches."""
    engine = load_engine(folder)
    separator = prompt_separator(engine.config)

    def continue_prompt(prompt: str, max_new_tokens: float, temperature: float, top_p: float) -> Iterator[str]:
        sampling = {"do_sample": True, "temperature": temperature, "top_p": top_p} if temperature else {}
        start = prompt + separator
        with errors_on_page():
            yield from accumulate(engine.stream(start, max_new_tokens=int(max_new_tokens), **sampling), initial=start)

    return gr.Interface(
        continue_prompt,
        [
            gr.Textbox(label="Prompt", lines=4),
            gr.Slider(1, MOST_CHARACTERS, 300, step=1, label="New characters"),
            gr.Slider(0, 2, 0.8, step=0.05, label="Temperature", info="0 takes the most probable character"),
            gr.Slider(0.05, 1, 0.95, step=0.05, label="Top-p", info="share of the probability that is drawn from"),
        ],
        gr.Textbox(label="Prompt and continuation", lines=14),
        title=folder.name,
        flagging_mode="never",
        api_name="generate",
    )


def restoration_page(folder: Path) -> gr.Interface:
    """Return the page of a tagger of characters: the restored text, with the probability of doubtful characters."""
    restorer = CharacterRestorer.from_pretrained(folder)

    def restore(text: str, min_confidence: float) -> tuple[str, Marked]:
        with errors_on_page():
            (restored,) = restorer.restore([text], min_confidence)
        return restored.text, mark_doubtful(restored.pieces, restored.probabilities.tolist())

    return gr.Interface(
        restore,
        [
            gr.Textbox(label="Text", lines=6),
            gr.Slider(0, 1, 0, step=0.01, label="Change a character only if at least this sure"),
        ],
        [
            gr.Textbox(label="Restored", lines=6),
            gr.HighlightedText(label=f"Characters with a probability below {DOUBTFUL:.0%}"),
        ],
        title=folder.name,
        flagging_mode="never",
        api_name="restore",
    )


def tagging_page(folder: Path) -> gr.Interface:
    """Return the page of a tagger of words, which white space parts."""
    predictor = TagPredictor(load_engine(folder))

    def tag(text: str) -> Marked:
        with errors_on_page():
            (prediction,) = predictor.predict([{"text": text}])
        return mark_tags(prediction.record["words"], prediction.record["tags"])

    return gr.Interface(
        tag,
        gr.Textbox(label="Text", lines=6),
        gr.HighlightedText(label="Tags"),
        title=folder.name,
        flagging_mode="never",
        api_name="tag",
    )


def mark_doubtful(text: str, probabilities: list[float]) -> Marked:
    """Return a text with the probability of each character that is below `DOUBTFUL`, such as `("é", "72 %")`."""
    marked: Marked = []
    for is_doubtful, part in groupby(zip(text, probabilities), lambda each: each[1] < DOUBTFUL):
        if is_doubtful:
            marked += [(character, f"{100 * probability:.0f} %") for character, probability in part]
        elif sure := "".join(character for character, _ in part):
            marked.append((sure, None))
    return marked


def mark_tags(words: list[str], tags: list[str]) -> Marked:
    """Return words with their tags. The words of an entity, `B-X` and the `I-X` after it, are one piece, tagged X."""
    marked: Marked = []
    for word, tag in zip(words, tags):
        label = None if tag == "O" else tag.removeprefix("B-").removeprefix("I-")
        if marked and label == marked[-1][1] and (tag == "O" or tag.startswith("I-")):
            marked[-1] = (f"{marked[-1][0]}{word} ", label)
        else:
            marked.append((f"{word} ", label))
    return marked


@contextmanager
def errors_on_page() -> Iterator[None]:
    """Show an error of the model on the page, in its one line."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise gr.Error(str(error), print_exception=False) from None


def main() -> None:
    """Serve the page of the folder on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="a saved decoder, tagger of words, or tagger of characters")
    folder = parser.parse_args().folder
    try:
        page = make_page(folder.resolve())
    except (ImportError, OSError, ValueError) as error:
        sys.exit(str(error))
    page.launch()


if __name__ == "__main__":
    main()
