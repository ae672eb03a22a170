"""Turn texts into texts with a saved encoder-decoder: `python recipes/decode.py outputs/accents "A acao comecou"`.

It needs nothing of atenta: the folder, or the repository on the Hub, holds weights, tokenizer and code. Only several
models that decide together (--ensemble) need the package.
"""

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase
from transformers.utils import ModelOutput


def load(name: str) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load a model with the tokenizer and the code that it brings.

    Args:
        name: a folder, or a repository on the Hub whose code you trust.

    Raises:
        SystemExit: there is no such model.
    """
    if Path(name).is_dir() and not Path(name, "config.json").is_file():
        sys.exit(f"{name} is no folder with a model: there is no config.json in it")
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, trust_remote_code=True)
        model = AutoModelForSeq2SeqLM.from_pretrained(name, trust_remote_code=True)
    except OSError as error:
        sys.exit(f"{name} is no folder with a model, and was not found on the Hub: {error}")
    return tokenizer, model.eval()


def load_ensemble(names: Sequence[str]) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """Load several models, each as [`load`] does, that decide on each character together.

    Raises:
        ValueError: two have different vocabularies.
        SystemExit: there is no such model.
    """
    from atenta.recipes.decoding.ensemble import Ensemble, check_same_vocabulary

    tokenizers, models = zip(*map(load, names))
    check_same_vocabulary(dict(zip(names, tokenizers)))
    return tokenizers[0], Ensemble(models).eval()


def decode(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    sources: Sequence[str],
    batch_size: int = 64,
    num_beams: int = 1,
) -> list[str]:
    """Decode each source.

    Args:
        tokenizer: the model's.
        model: an encoder-decoder.
        sources: texts, each with its feature tags behind a tab if the model was trained with tags: `ser<TAB>V;3;PL`.
        batch_size: number of texts decoded together.
        num_beams: width of the beam search; 1 is greedy.

    Returns:
        One output for each source.

    Raises:
        ValueError: a tag that the model does not know.
    """
    outputs = _generate(tokenizer, model, sources, batch_size, num_beams=num_beams)
    return [text for output in outputs for text in tokenizer.batch_decode(output.sequences, skip_special_tokens=True)]


def decode_n_best(
    tokenizer: PreTrainedTokenizerBase,
    model: PreTrainedModel,
    sources: Sequence[str],
    batch_size: int = 64,
    *,
    num_beams: int,
    num_return_sequences: int,
) -> list[tuple[str, str, float]]:
    """Decode each source into several outputs by beam search; arguments and errors are those of [`decode`].

    Args:
        num_return_sequences: number of outputs for each source, at most `num_beams`, which is at least 2.

    Returns:
        Source, output and score, `num_return_sequences` times for each source, best first. The score is the sum of
        the output's log probabilities, in nats, over its number of tokens, `<eos>` among them (or over this number to
        the power of the model's `length_penalty`, where its generation configuration has one).
    """
    outputs = _generate(
        tokenizer, model, sources, batch_size, num_beams=num_beams, num_return_sequences=num_return_sequences
    )
    hypotheses = [
        hypothesis
        for output in outputs
        for hypothesis in zip(
            tokenizer.batch_decode(output.sequences, skip_special_tokens=True), output.sequences_scores.tolist()
        )
    ]
    repeated = [source for source in sources for _ in range(num_return_sequences)]
    return [(source, text, score) for source, (text, score) in zip(repeated, hypotheses)]


def _generate(
    tokenizer: PreTrainedTokenizerBase, model: PreTrainedModel, sources: Sequence[str], batch_size: int, **search: int
) -> Iterator[ModelOutput]:
    """Yield what `generate` returns for each batch of sources, and warn of outputs that are cut."""
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
        cut = (output.sequences[:, 1:] != tokenizer.eos_token_id).all(-1).sum().item()
        if cut:
            told = "reached the longest length without an end: train the model longer, or shorten the sources."
            print(f"{cut} output(s) {told}", file=sys.stderr)
        yield output


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
    parser.add_argument(
        "--num_return_sequences",
        type=int,
        default=1,
        metavar="N",
        help="more than 1 prints that many lines source<TAB>output<TAB>score a source, best first; a field that holds "
        "a tab or a quote is quoted as in CSV (default: 1, the output alone)",
    )
    parser.add_argument(
        "--ensemble",
        nargs="+",
        default=[],
        metavar="MODEL",
        help="further models with the same vocabulary, whose probabilities are averaged at each character; the "
        "sources stand before this option, not behind it",
    )
    options = parser.parse_args()
    if options.num_return_sequences > options.num_beams:
        parser.error(
            f"--num_return_sequences {options.num_return_sequences} is more than --num_beams {options.num_beams} "
            "can find: raise --num_beams"
        )
    if options.ensemble:
        tokenizer, model = load_ensemble([options.model, *options.ensemble])
    else:
        tokenizer, model = load(options.model)
    sources = options.sources or [line.rstrip("\n") for line in sys.stdin]
    if options.num_return_sequences > 1:
        hypotheses = decode_n_best(
            tokenizer,
            model,
            sources,
            options.batch_size,
            num_beams=options.num_beams,
            num_return_sequences=options.num_return_sequences,
        )
        writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
        writer.writerows((source, text, f"{score:.6f}") for source, text, score in hypotheses)
    else:
        print("\n".join(decode(tokenizer, model, sources, options.batch_size, options.num_beams)))


if __name__ == "__main__":
    main()
