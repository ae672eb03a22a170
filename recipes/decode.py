"""Turn texts into texts with a saved encoder-decoder: `python recipes/decode.py outputs/accents "A acao comecou"`.

It needs nothing of atenta: the folder, or the repository on the Hub, holds weights, tokenizer and code.
"""

import argparse
import sys

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer


def decode(name: str, sources: list[str], batch_size: int = 64, num_beams: int = 1) -> list[str]:
    """Load a model with the code that it brings, and decode each source.

    Args:
        name: a folder, or a repository on the Hub whose code you trust.
        sources: texts, each with its feature tags behind a tab if the model was trained with tags: `ser<TAB>V;3;PL`.
        batch_size: number of texts decoded together.
        num_beams: width of the beam search; 1 is greedy.

    Returns:
        One output for each source.

    Raises:
        ValueError: a tag that the model does not know.
        SystemExit: there is no such model.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
        model = AutoModelForSeq2SeqLM.from_pretrained(name, trust_remote_code=True).eval()
    except OSError as error:
        sys.exit(f"{name} is no folder with a model, and was not found on the Hub: {error}")
    known = tokenizer.get_vocab()
    encoded = []
    for source in sources:
        text, _, features = source.partition("\t")
        tags = [f"<{feature}>" for feature in features.split(";") if feature]
        if unknown := [tag for tag in tags if tag not in known]:
            raise ValueError(f"{source!r}: {name} was trained without the tag {', '.join(unknown)}.")
        encoded.append([known[tag] for tag in tags] + tokenizer(text).input_ids)
    outputs = []
    for start in range(0, len(encoded), batch_size):
        batch = tokenizer.pad({"input_ids": encoded[start : start + batch_size]}, return_tensors="pt")
        with torch.inference_mode():
            ids = model.generate(**batch, num_beams=num_beams)
        cut = (ids != tokenizer.eos_token_id).all(-1).sum().item()
        if cut:
            print(f"{cut} output(s) reached the longest length without an end: shorten the sources.", file=sys.stderr)
        outputs += tokenizer.batch_decode(ids, skip_special_tokens=True)
    return outputs


def main() -> None:
    """Decode the sources of the command line, or each line of the standard input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder, or name on the Hub")
    parser.add_argument(
        "sources",
        nargs="*",
        help="texts to decode, each with its tags, if any, behind a tab; if none, the lines of the standard input",
    )
    parser.add_argument("--batch_size", type=int, default=64, help="texts decoded together (default: 64)")
    parser.add_argument("--num_beams", type=int, default=1, help="width of the beam search; 1 is greedy (default: 1)")
    options = parser.parse_args()
    sources = options.sources or [line.rstrip("\n") for line in sys.stdin]
    print("\n".join(decode(options.model, sources, options.batch_size, options.num_beams)))


if __name__ == "__main__":
    main()
