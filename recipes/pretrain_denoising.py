# /// script
# requires-python = ">=3.11,<3.14"
# dependencies = ["atenta[recipes]"]
#
# [tool.uv.sources]
# atenta = { path = "..", editable = true }  # this clone; UV_NO_SOURCES=1 takes the package from an index
# ///
"""Pre-train an encoder-decoder to restore texts whose spans are masked (BART: Lewis et al., 2020).

By default it is trained on tales and novels of Machado de Assis. With --train_file and --validation_file (txt, or csv,
tsv, jsonl, parquet with a column `text`) or --dataset_name it is trained on your own texts. Documents are cut into
texts of at most --max_length tokens.
"""

import atenta.recipes.terminal  # noqa: F401  # first, because the others take seconds

from dataclasses import asdict, dataclass
from functools import partial
from typing import Annotated

from atenta.recipes.option_annotations import FROM_1, SHARE
from atenta.recipes.reading.load import describe_data, encode_rows, report_rows
from atenta.recipes.tasks.denoising import DenoisingCollator, decode_masked, encode_texts, mask_once
from atenta.recipes.tasks.documents import DocumentArguments, load_documents
from atenta.recipes.tasks.transduction import PairTask
from atenta.recipes.training.encoder_decoders import DecodingArguments, decode_encoded, save_decoded, train_to_generate
from atenta.recipes.training.models import load_or_create
from atenta.recipes.training.options import Seq2SeqRecipeArguments, TwoStackArguments
from atenta.recipes.training.parsing import parse_arguments
from atenta.recipes.training.results import report_saved
from atenta.recipes.training.runs import run_recipe, start_run


@dataclass
class NoiseArguments:
    """Masking of the texts."""

    _argument_group_name = "masking"

    noise_density: Annotated[float, SHARE, "share of the characters that is masked"] = 0.3
    mean_span_length: Annotated[float, FROM_1, "mean number of characters that one mask replaces"] = 6.0


def main() -> None:
    """Read the texts, train, restore the test, score, save, print examples."""
    dataclasses = (DocumentArguments, NoiseArguments, TwoStackArguments, DecodingArguments, Seq2SeqRecipeArguments)
    options = parse_arguments(*dataclasses, description=__doc__, default_config="denoising.yaml")
    data, noise, sizes, search, training = options
    if sizes.tags_with_positions:
        raise SystemExit("--tags_with_positions: about pairs of texts with tags. Leave it out.")
    run = start_run(*options)
    splits = load_documents(data, training)
    tokenizer, model = load_or_create(sizes, PairTask.kind, "encoder-decoder", splits["train"]["text"])
    report = report_rows(splits, training, ["text"], tokenizer)
    encode = partial(encode_texts, tokenizer=tokenizer, max_length=sizes.max_length)
    encoded = encode_rows(splits, training, encode, data.preprocessing_num_workers)
    # Training texts are masked anew in each batch, the others once.
    masking = {"seed": training.seed, **asdict(noise)}
    held_out = {name: encoded[name] for name in ("validation", "test")}
    mask = partial(mask_once, tokenizer=tokenizer, **masking)
    encoded |= encode_rows(held_out, training, mask, data.preprocessing_num_workers)
    task = PairTask(metrics=search.metrics, denoising=True)
    model.config.task_specific_params = task.task_specific_params
    collator = DenoisingCollator(tokenizer, model, **masking)
    # The source, which is made with the batch, is never longer than the text.
    lengths = ("labels", "labels")
    trainer = train_to_generate(run, model, training, tokenizer, encoded, collator, search, length_columns=lengths)

    test = [decode_masked(row, tokenizer) for row in encoded["test"]]
    outputs = decode_encoded(trainer, encoded["test"], search)
    answers = task.with_baselines(test, [ranked[0].text for ranked in outputs])
    save_decoded(trainer, task.score, {"test": test}, {"test": answers}, outputs, describe_data(data, report))
    report_saved(trainer)


if __name__ == "__main__":
    run_recipe(main)
