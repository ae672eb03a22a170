"""Turn one text into another, character by character, with an encoder-decoder and teacher forcing (document 4).

Without options it restores the accents of Portuguese in phrases of Machado de Assis. With --train_file and
--validation_file it learns any task of `source<TAB>target` lines; a third column may hold feature tags (`V;3;PL`).
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy
import torch
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoTokenizer,
    DataCollatorForSeq2Seq,
    EvalPrediction,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Seq2SeqTrainer,
    Seq2SeqTrainingArguments,
    set_seed,
)

from atenta import AtentaEncoderDecoderConfig, AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer
from atenta.recipes.accents import accent_pairs
from atenta.recipes.arguments import parse_arguments
from atenta.recipes.baselines import copy_source, look_up
from atenta.recipes.batching import BucketTrainer
from atenta.recipes.cores import use_all_cores
from atenta.recipes.pairs import Pair, encode_pairs, read_pairs, tag_tokens
from atenta.recipes.reporting import draw_learning_curve, table, write_metrics, write_predictions
from atenta.recipes.saving import decode_afresh, finish_model_folder
from atenta.recipes.scoring import score

ACCENTS_CARD = {"data": "phrases of Machado de Assis, public domain", "language": "pt", "licence": "apache-2.0"}


@dataclass
class DataArguments:
    """Which texts are learned."""

    train_file: Path | None = field(default=None, metadata={"help": "source<TAB>target[<TAB>tags] lines to learn"})
    validation_file: Path | None = field(default=None, metadata={"help": "such lines, to choose the best checkpoint"})
    test_file: Path | None = field(default=None, metadata={"help": "such lines, for the score; None: validation_file"})
    max_eval_samples: int | None = field(
        default=None, metadata={"help": "validation pairs decoded at each evaluation while training; None: all"}
    )


@dataclass
class ModelArguments:
    """Size and kind of a new model, as in AtentaEncoderDecoderConfig, or an old one to go on from."""

    model_name_or_path: str | None = field(
        default=None, metadata={"help": "go on from this model; no new one is made"}
    )
    hidden_size: int = field(default=512, metadata={"help": "width of the vectors between blocks"})
    num_attention_heads: int = field(default=8, metadata={"help": "heads of each attention layer"})
    intermediate_size: int = field(default=2048, metadata={"help": "inner width of the feed-forward network"})
    encoder_layers: int = field(default=6, metadata={"help": "encoder blocks"})
    decoder_layers: int = field(default=6, metadata={"help": "decoder blocks"})
    dropout: float = field(default=0.1, metadata={"help": "on each sub-layer's output and on the embeddings"})
    hidden_act: str = field(default="relu", metadata={"help": "activation of the feed-forward network"})
    norm_first: bool = field(default=False, metadata={"help": "LayerNorm before each sub-layer, not after"})
    position_embedding_type: str = field(default="sinusoidal", metadata={"help": "sinusoidal, learned or rotary"})
    tie_word_embeddings: bool = field(default=False, metadata={"help": "one matrix for embeddings and output layer"})
    initializer_range: float = field(default=0.02, metadata={"help": "standard deviation of the initial weights"})


def main() -> None:
    """Read the pairs, train, score, show, save, and decode with what was saved."""
    data, model_options, training = parse_arguments(
        DataArguments,
        ModelArguments,
        Seq2SeqTrainingArguments,
        description=__doc__,
        default_config=Path(__file__).parent / "configs" / "accents.yaml",
    )
    use_all_cores()
    set_seed(training.seed)
    pairs = load_pairs(data)
    if training.process_index == 0:
        print(", ".join(f"{len(split):,} {name} pairs" for name, split in pairs.items()), flush=True)

    tokenizer, model = load_model(model_options, pairs)
    encoded = {name: encode_pairs(split, tokenizer) for name, split in pairs.items()}
    longest_target = max(max(map(len, split["labels"])) for split in encoded.values())
    model.generation_config.max_length = 2 * longest_target  # the library stops at 20 unless told

    def compute_metrics(predictions: EvalPrediction) -> dict[str, float]:
        return score(to_texts(predictions.label_ids, tokenizer), to_texts(predictions.predictions, tokenizer))

    training.predict_with_generate = True
    training.dataloader_pin_memory &= torch.cuda.is_available()
    push_to_hub, training.push_to_hub = training.push_to_hub, False  # at the end, and without the Trainer's pickles
    trainer = BucketTrainer(
        model,
        training,
        train_dataset=encoded["train"],
        eval_dataset=encoded["validation"].take(min(data.max_eval_samples or sys.maxsize, len(pairs["validation"]))),
        processing_class=tokenizer,
        data_collator=DataCollatorForSeq2Seq(tokenizer, model),
        compute_metrics=compute_metrics,
    )
    trainer.train(resume_from_checkpoint=training.resume_from_checkpoint)
    outputs = to_texts(trainer.predict(encoded["test"]).predictions, tokenizer)
    trainer.save_model()
    if trainer.is_world_process_zero():
        scores = report(trainer, pairs, outputs)
        about = {"data": data.train_file.name} if data.train_file else ACCENTS_CARD
        finish_model_folder(trainer, about=about, scores=scores, push_to_hub=push_to_hub)
        decode_afresh(training.output_dir, pairs["test"], outputs)


def load_pairs(data: DataArguments) -> dict[str, list[Pair]]:
    """The pairs of the files named, or else the accents task, as `training`, `validation` and `test`.

    Raises:
        SystemExit: a file without the others that it needs or that cannot be read, or a malformed line, with its
            file and number.
    """
    files = {"train": data.train_file, "validation": data.validation_file, "test": data.test_file}
    if not any(files.values()):
        return accent_pairs()
    if not (data.train_file and data.validation_file):
        sys.exit("Give both --train_file and --validation_file (--test_file is the validation file unless given).")
    files["test"] = data.test_file or data.validation_file
    try:
        return {name: read_pairs(file) for name, file in files.items()}
    except (ValueError, OSError) as error:
        sys.exit(str(error))


def load_model(
    options: ModelArguments, pairs: dict[str, list[Pair]]
) -> tuple[PreTrainedTokenizerBase, PreTrainedModel]:
    """The tokenizer and model to go on from, or new ones: an alphabet of the training texts, a token for each tag."""
    if options.model_name_or_path is not None:
        tokenizer = AutoTokenizer.from_pretrained(options.model_name_or_path)
        return tokenizer, AutoModelForSeq2SeqLM.from_pretrained(options.model_name_or_path)
    texts = (text for pair in pairs["train"] for text in (pair.source, pair.target))
    tags = tag_tokens(pair for split in pairs.values() for pair in split)
    tokenizer = AtentaTokenizer.from_texts(texts, family="encoder-decoder", tags=tags)
    sizes = {name: value for name, value in vars(options).items() if name != "model_name_or_path"}
    config = AtentaEncoderDecoderConfig(vocab_size=len(tokenizer), **sizes)
    return tokenizer, AtentaEncoderDecoderForConditionalGeneration(config)


def to_texts(ids: numpy.ndarray, tokenizer: PreTrainedTokenizerBase) -> list[str]:
    """Texts of ids (texts, length), padded with `<pad>` or -100."""
    return tokenizer.batch_decode(numpy.where(ids < 0, tokenizer.pad_token_id, ids), skip_special_tokens=True)


def report(trainer: Seq2SeqTrainer, pairs: dict[str, list[Pair]], outputs: list[str]) -> dict[str, float]:
    """Print the test set's scores and ten examples, write all of them beside the model, and return the scores."""
    folder, test = Path(trainer.args.output_dir), pairs["test"]
    sources, references = [pair.source for pair in test], [pair.target for pair in test]
    scores = {
        "left as it is": score(references, copy_source(test)),
        "most frequent in training": score(references, look_up(pairs["train"], test)),
        "model": score(references, outputs),
    }
    write_metrics(folder / "metrics.json", {"test": scores, "training": trainer.state.log_history})
    write_predictions(folder / "predictions.tsv", {"source": sources, "output": outputs, "gold": references})
    draw_learning_curve(folder / "learning_curve.png", trainer.state.log_history, "word_accuracy")
    print(f"\nTest: {len(test):,} pairs\n{table(scores)}\n")
    for source, output, reference in list(zip(sources, outputs, references))[:10]:
        print(f"  source  {source}\n  output  {output}\n  gold    {reference}\n")
    return scores["model"]


if __name__ == "__main__":
    main()
