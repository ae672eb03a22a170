"""Transform texts with a saved encoder-decoder: `python recipes/decode.py outputs/accents "A acao comecou"`.

The script does not need the atenta package: the folder, or the repository on the Hub, holds weights, tokenizer and
code. Only ensembles (--ensemble) need it.
"""

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import ModelOutput


def load_pretrained(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load a model with the tokenizer and the code that are saved with it.

    Args:
        name: A folder, or a repository on the Hub whose code you trust.

    Raises:
        SystemExit: If there is no such model.
    """
    if Path(name).is_dir() and not Path(name, "config.json").is_file():
        sys.exit(f"{name} is not a model: there is no config.json in this folder")
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
        model = AutoModelForSeq2SeqLM.from_pretrained(name, trust_remote_code=True)
    except OSError as error:
        sys.exit(f"{name} is neither a folder with a model nor a model on the Hub: {error}")
    return tokenizer, model.eval()


def load_ensemble(names: Sequence[str]) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load several models, each with [`load_pretrained`], that choose each character together.

    Raises:
        ValueError: If two have different vocabularies.
        SystemExit: If there is no such model.
    """
    from atenta.recipes.decoding.ensemble import Ensemble, check_same_vocabulary

    tokenizers, models = zip(*map(load_pretrained, names))
    check_same_vocabulary(dict(zip(names, tokenizers)))
    return tokenizers[0], Ensemble(models).eval()


def decode_texts(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    sources: Sequence[str],
    batch_size: int = 64,
    num_beams: int = 1,
) -> list[str]:
    """Return one output for each source.

    Args:
        tokenizer: The model's tokenizer.
        model: An encoder-decoder.
        sources: Texts. If the model was trained with feature tags, they follow the text after a tab: `ser<TAB>V;3;PL`.
        batch_size: Number of texts decoded together.
        num_beams: Width of the beam search; 1 is greedy search.

    Raises:
        ValueError: If a tag is unknown to the model.
    """
    outputs = _generate(tokenizer, model, sources, batch_size, num_beams=num_beams)
    return [text for output in outputs for text in tokenizer.batch_decode(output.sequences, skip_special_tokens=True)]


def decode_texts_n_best(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    sources: Sequence[str],
    batch_size: int = 64,
    *,
    num_beams: int,
    num_return_sequences: int,
) -> list[tuple[str, str, float]]:
    """Return several outputs for each source, found by beam search. Arguments and errors: see [`decode_texts`].

    Args:
        num_return_sequences: Number of outputs for each source, at most `num_beams`, which must be at least 2.

    Returns:
        Source, output and score, `num_return_sequences` times for each source, best first. The score is the sum of the
        output's log-probabilities, in nats, divided by its number of tokens, including `<eos>`, to the power of the
        `length_penalty` in the model's generation configuration (1 by default).
    """
    outputs = _generate(
        tokenizer, model, sources, batch_size, num_beams=num_beams, num_return_sequences=num_return_sequences
    )
    decoded = [
        text_and_score
        for output in outputs
        for text_and_score in zip(
            tokenizer.batch_decode(output.sequences, skip_special_tokens=True), output.sequences_scores.tolist()
        )
    ]
    repeated = [source for source in sources for _ in range(num_return_sequences)]
    return [(source, text, score) for source, (text, score) in zip(repeated, decoded)]


def _generate(
    tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, sources: Sequence[str], batch_size: int, **search: int
) -> Iterator[ModelOutput]:
    """Yield the output of `generate` for each batch of sources, and warn about outputs that are cut off."""
    known = tokenizer.get_vocab()
    encoded = []
    for source in sources:
        text, _, features = source.partition("\t")
        tags = [f"<{feature}>" for feature in features.split(";") if feature]
        if unknown := [tag for tag in tags if tag not in known]:
            raise ValueError(f"{source!r}: {tokenizer.name_or_path} was trained without the tag {', '.join(unknown)}.")
        encoded.append([known[tag] for tag in tags] + tokenizer(text).input_ids)
    for start in range(0, len(encoded), batch_size):
        batch = tokenizer.pad({"input_ids": encoded[start : start + batch_size]}, return_tensors="pt")
        with torch.inference_mode():
            output = model.generate(**batch, **search, return_dict_in_generate=True, output_scores=True)
        if cut := (output.sequences[:, 1:] != tokenizer.eos_token_id).all(-1).sum().item():
            print(
                f"{cut} output(s) cut off at the maximum length: train the model longer, or shorten the sources.",
                file=sys.stderr,
            )
        yield output


def main() -> None:
    """Decode the sources on the command line, or each line of the standard input."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder with a model, or its name on the Hub")
    parser.add_argument(
        "sources",
        nargs="*",
        help="texts to decode, each followed by a tab and its feature tags if the model was trained with tags; "
        "default: the lines of the standard input",
    )
    parser.add_argument("--batch_size", type=int, default=64, help="number of texts decoded together (default: 64)")
    parser.add_argument("--num_beams", type=int, default=1, help="width of the beam search; 1 is greedy (default: 1)")
    parser.add_argument(
        "--num_return_sequences",
        type=int,
        default=1,
        metavar="N",
        help="number of outputs for each source, best first; above 1, each is printed as a line "
        "source<TAB>output<TAB>score, with quotes as in CSV around fields that hold a tab or a quote (default: 1)",
    )
    parser.add_argument(
        "--ensemble",
        nargs="+",
        default=[],
        metavar="MODEL",
        help="further models with the same vocabulary; the probabilities of all models are averaged at each "
        "character. Give the sources before this option",
    )
    options = parser.parse_args()
    if options.num_return_sequences > options.num_beams:
        parser.error(
            f"--num_return_sequences {options.num_return_sequences} asks for more outputs than --num_beams "
            f"{options.num_beams} can find: raise --num_beams"
        )
    if options.ensemble:
        tokenizer, model = load_ensemble([options.model, *options.ensemble])
    else:
        tokenizer, model = load_pretrained(options.model)
    sources = options.sources or [line.rstrip("\n") for line in sys.stdin]
    if options.num_return_sequences > 1:
        rows = decode_texts_n_best(
            tokenizer,
            model,
            sources,
            options.batch_size,
            num_beams=options.num_beams,
            num_return_sequences=options.num_return_sequences,
        )
        writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
        writer.writerows((source, text, f"{score:.6f}") for source, text, score in rows)
    else:
        print("\n".join(decode_texts(tokenizer, model, sources, options.batch_size, options.num_beams)))


if __name__ == "__main__":
    main()
