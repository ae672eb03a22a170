"""The end of a run: scores, tables, the learning curve, the model card and the push to the Hub."""

import json
import math
import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import torch

from atenta.engines.choice import ONNX_FOLDER
from atenta.engines.onnx_models import remove_old_exports
from atenta.hub.card import write_model_card
from atenta.hub.card_command import describe_command, quote, without_place
from atenta.hub.card_facts import CardFacts, is_of_this_package
from atenta.hub.card_words import less_is_better
from atenta.hub.publishing import PushError, push_folder
from atenta.recipes.option_annotations import Mark
from atenta.recipes.pictures.run_charts import draw_learning_curve, draw_scores_by_length
from atenta.recipes.reading.records import printable, tab_separated
from atenta.recipes.training.cost import CostMeter
from atenta.recipes.training.options import RecipeArguments
from atenta.recipes.training.parsing import given_options
from atenta.recipes.training.progress import select_figures
from atenta.recipes.training.runs import Run
from atenta.recipes.training.trainer import RecipeTrainer

_SHORTEST_RANGE = 10  # characters; scores by length are of ranges of which each reaches twice as far as the one before
_LAUNCHERS = {"accelerate", "accelerate-launch", "accelerate.commands.launch", "torchrun", "torch.distributed.run"}

_Row = Mapping[str, Any]
_Score = Callable[[Sequence[_Row], Sequence[str]], dict[str, float]]
_Answers = Mapping[str, Sequence[str]]  # for each kind of answer, one to each row


def compare(score: _Score, rows: Sequence[_Row], answers: _Answers) -> dict[str, dict[str, float]]:
    """Return the scores of each kind of answer to the rows; `score` takes rows and answers."""
    return {name: score(rows, of_kind) for name, of_kind in answers.items()}


def compare_by_length(score: _Score, rows: Sequence[_Row], answers: _Answers) -> dict[str, dict[str, Any]]:
    """Return the scores of each kind of answer for sources of 1 to 10 characters, 11 to 20, 21 to 40, and so on.

    Each range, such as `21–40`, has also the number of its `texts`.
    """
    powers = [max(0, math.ceil(math.log2(len(row["source"]) / _SHORTEST_RANGE))) for row in rows]
    ends = [_SHORTEST_RANGE * 2**power for power in powers]
    names = [f"{end // 2 + 1 if power else 1}–{end}" for power, end in zip(powers, ends)]
    compared = compare_by_group(score, rows, answers, names)
    return {name: compared[name] for _, name in sorted({*zip(powers, names)})}


def compare_by_group(
    score: _Score, rows: Sequence[_Row], answers: _Answers, groups: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """Return the scores of each kind of answer for each group of rows, and the number of its `texts`.

    Each row has one of each kind of answers, and the name of its group at its place in `groups`.
    """
    members: dict[str, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    compared: dict[str, dict[str, Any]] = {}
    for group, indices in members.items():
        chosen = {name: [of_kind[index] for index in indices] for name, of_kind in answers.items()}
        compared[group] = {"texts": len(indices), **compare(score, [rows[index] for index in indices], chosen)}
    return compared


def save_run(
    trainer: RecipeTrainer,
    *,
    scores: Mapping[str, Mapping[str, float]],
    further_scores: Mapping[str, Mapping[str, Mapping[str, float]]] | None = None,
    by_length: Mapping[str, Mapping[str, Any]] | None = None,
    by_domain: Mapping[str, Mapping[str, Any]] | None = None,
    details: Mapping[str, Any] | None = None,
    predictions: Mapping[str, Sequence[Any]] | None = None,
    about: Mapping[str, Any],
    complete: Callable[[Path], None] | None = None,
) -> None:
    """Print the scores and save the model, its card, the metrics, the predictions and the learning curve.

    Every process must call it; only the main process prints, and writes more than its share of the model.

    Args:
        trainer: Its `args.output_dir` is the folder, and its `args.metric_for_best_model` is drawn in the learning
            curve. With `--push_to_hub` the folder is pushed to the Hub.
        scores: `{"most frequent word": {"exact_match": 0.5, …}, …, "model": {…}}`.
        further_scores: The same for further tests, by their names.
        by_length: What `compare_by_length` returns; the first score is drawn in `scores_by_length.png`.
        by_domain: What `compare_by_group` returns for the domains of the texts.
        details: Further figures of `metrics.json`.
        predictions: Columns of `predictions.tsv`, all of the same length.
        about: What the card says of the data, as `describe_data` returns it.
        complete: Called with the folder to add a task's own files, before its card is written and it is pushed.
    """
    if hasattr(trainer.model.config, "use_cache"):
        trainer.model.config.use_cache = True  # the Trainer turned it off
    trainer.save_model()
    if not trainer.is_world_process_zero():
        return
    folder = Path(trainer.args.output_dir)
    for path in remove_old_exports(folder / ONNX_FOLDER):
        print(f"Removed {path}, which was made from the weights that are replaced.", flush=True)
    with suppress(OSError):
        (folder / ONNX_FOLDER).rmdir()  # if it is empty
    print(f"\n{table(scores)}\n", flush=True)
    for test, compared in (further_scores or {}).items():
        print(f"{test}\n{table(compared)}\n", flush=True)
    first = next(iter(scores["model"]))
    for name, groups in (("domain", by_domain), ("number of characters", by_length)):
        if groups:
            cells = {
                group: {kind: cell if kind == "texts" else cell[first] for kind, cell in row.items()}
                for group, row in groups.items()
            }
            print(f"{first.replace('_', ' ')} by {name}\n{printable(table(cells))}\n", flush=True)
    if by_length:
        draw_scores_by_length(by_length, first).savefig(folder / "scores_by_length.png", dpi=150)
    if predictions is not None:
        write_predictions(folder / "predictions.tsv", predictions)
    history = [
        {**select_figures(entry), "step": entry["step"], "epoch": entry["epoch"]}
        for entry in trainer.state.log_history
    ]
    metric = (trainer.args.metric_for_best_model or "loss").removeprefix("eval_")  # the Trainer accepts both names
    draw_learning_curve(history, metric).savefig(folder / "learning_curve.png", dpi=150)
    if complete is not None:
        complete(folder)
    groups = {name: each for name, each in (("by_domain", by_domain), ("by_length", by_length)) if each}
    # Last: the folder is complete.
    save_metrics_and_card(
        folder,
        {
            **{"test": scores, **(further_scores or {}), **groups},
            **(details or {}),
            "training": history,
            "card": {**about, **describe_training(trainer)},
        },
    )
    if trainer.push_when_finished:
        push_run(trainer)
    trainer.run.end()


def save_tests(
    trainer: RecipeTrainer,
    score: _Score,
    tests: Mapping[str, Sequence[_Row]],
    answers: Mapping[str, _Answers],
    *,
    outputs: Mapping[str, Sequence[Any]] | None = None,
    **others: Any,
) -> None:
    """Score the answers to the tests and save the run, as [`save_run`] does; `others` are further arguments of it.

    Args:
        trainer: As in `save_run`.
        score: Takes rows and an answer to each.
        tests: The rows of `test` and of further tests, each with a `source` and a `target`.
        answers: For each test the answers of the `model` and of its baselines.
        outputs: The last columns of `predictions.tsv`; by default the answers of the model to `test`.
    """
    compared = {name: compare(score, rows, answers[name]) for name, rows in tests.items()}
    test = tests["test"]
    tags = [" ".join(row.get("tags", ())) for row in test]
    save_run(
        trainer,
        scores=compared.pop("test"),
        further_scores=compared,
        by_length=compare_by_length(score, test, answers["test"]),
        predictions={
            **{name: [row[name] for row in test] for name in ("domain", "source") if name in test[0]},
            **({"tags": tags} if any(tags) else {}),
            "gold": [" | ".join(dict.fromkeys(row.get("targets", [row["target"]]))) for row in test],
            **(outputs or {"output": answers["test"]["model"]}),
        },
        **others,
    )


def report_saved(
    trainer: RecipeTrainer, text: str | None = None, output: str | None = None, options: str = ""
) -> None:
    """Print where the model is and, for a text that it can read by itself, the command that predicts its output.

    `options` are added to the command. If something without a model scored as well on the test, that is printed first.
    """
    if not trainer.is_world_process_zero():
        return
    folder = trainer.args.output_dir
    saved = json.loads(Path(folder, "metrics.json").read_text(encoding="utf-8"))
    if equalled := say_if_equalled(saved["test"], trainer.state.global_step):
        print(f"{equalled}\n", flush=True)
    print(f"Saved in {folder}", flush=True)
    if text is not None:
        command = f"atenta predict {quote(folder)} {options}".rstrip()
        if "\t" in text and text.replace("\t", "").isprintable():  # before tags, which few can type at a prompt
            escaped = text.replace("\\", "\\\\").replace("\t", "\\t")
            command = f"printf '%b\\n' {quote(escaped)} | {command}"
        else:
            command += " --" * text.startswith("-") + f" {quote(text)}"
        print(f"\n$ {command}" + (f"\n{printable(output)}" if output is not None else ""), flush=True)


def print_examples(examples: Iterable[tuple[_Row, str]]) -> None:
    """Print pairs of texts, the tags of a source behind it, and between them what a model makes of the source."""
    for row, output in examples:
        source = " ".join([row["source"], *row.get("tags", ())])
        print(printable(f"  source  {source}\n  output  {output}\n  gold    {row['target']}\n"), flush=True)


def say_if_equalled(scores: Mapping[str, Mapping[str, float]], steps: int) -> str | None:
    """Return a line about what scored as well as a model, or better, without one; None if nothing did.

    The first score decides. The model was trained for `steps`.
    """
    name = next(iter(scores["model"]))
    sign = -1 if less_is_better(name) else 1
    figures = {kind: row[name] for kind, row in scores.items() if row.get(name) is not None}
    best_first = sorted(figures, key=lambda kind: -sign * figures[kind])
    model = next((kind for kind in best_first if kind.startswith("model")), None)
    best = next((kind for kind in best_first if not kind.startswith("model")), None)
    if best is None or model is None or sign * figures[best] < sign * figures[model]:
        return None
    found = (
        f"“{best}”, without a model, scores {figures[best]:.4f} in {name.replace('_', ' ')}, and the "
        f"{model} {figures[model]:.4f}: "
    )
    if figures[model] == (0 if less_is_better(name) else 100 if name in ("chrf", "bleu", "sari") else 1):
        return f"{found}the test does not tell them apart; give a harder one."
    return f"{found}give it more rows, or train it longer, such as with --max_steps {2 * steps}."


def save_metrics_and_card(folder: Path, metrics: Mapping[str, Any]) -> None:
    """Write `metrics.json` and the model card of a run, with the facts under `card`; other packages' get no card."""
    facts = CardFacts.from_metrics({**metrics, "run": describe_run()})
    if is_of_this_package(folder):
        write_model_card(folder, facts)
    write_metrics(folder / "metrics.json", metrics)


def describe_card(arguments: Any, cost: CostMeter) -> dict[str, Any]:
    """Return what a model card says by the options of a card: its title and language, and the cost of the training."""
    return {"title": arguments.card_title, "card_language": arguments.card_language, "cost": cost.facts()}


def describe_training(trainer: RecipeTrainer) -> dict[str, Any]:
    """Return what a model card says of a training: title and language, options, start and cost."""
    arguments, start = trainer.args, trainer.run.options.get("model_name_or_path")
    return {
        **describe_card(arguments, trainer.cost),
        "base_model": start if start and not Path(start).exists() else None,
        "options": {
            **_describe_options(arguments, trainer.run),
            "trained_steps": trainer.state.global_step,
            **_describe_earlier_options(trainer),
        },
    }


def _describe_options(arguments: RecipeArguments, run: Run) -> dict[str, Any]:
    """Return the main options and those of the command line, as the Trainer has settled them."""
    written, described = given_options(), {}
    for name, value in run.values.items():
        option, value = run.declared[name], getattr(arguments, name, value)
        is_given = name in written and Mark.INCIDENTAL not in option.marks
        is_main = Mark.ON_CARD in option.marks or (Mark.ON_CARD_IF_CHANGED in option.marks and value != option.default)
        has_effect = (value or name == "seed") and not (option.idle_if and option.idle_if.holds(arguments))
        if Mark.OFF_CARD not in option.marks and (is_given or (is_main and has_effect)):
            described[name] = _as_plain(value)
    return described


def _describe_earlier_options(trainer: RecipeTrainer) -> dict[str, str]:
    """Return the options that were changed where the run was resumed, by the last step that they held for."""
    described = {}
    for step, earlier in trainer.checkpointing.earlier_options.items():
        now = {name: getattr(trainer.args, name, trainer.run.options.get(name)) for name in earlier}
        changed = [f"{name} {_as_plain(value)}" for name, value in earlier.items() if value != now[name]]
        if changed:
            described[f"up to step {step}"] = ", ".join(changed)
    return described


def _as_plain(value: Any) -> Any:
    """Return the value of an option as a number or a text."""
    if isinstance(value, list | tuple):
        return ", ".join(str(_as_plain(each)) for each in value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)  # as it is typed
    if isinstance(value, float) and value.is_integer():
        return int(value)
    value = getattr(value, "value", value)  # of an enumeration
    return value if isinstance(value, int | float) else without_place(str(value))


def push_run(trainer: RecipeTrainer) -> None:
    """Push the output folder to the repository `--hub_model_id`; if it fails, the folder is complete all the same."""
    folder, options = Path(trainer.args.output_dir), trainer.args.push_options()
    try:
        address = push_folder(folder, **options)
    except PushError as error:
        flags = ["--public"] * (not options["private"]) + ["--replace"] * options["replace"]
        later = shlex.join(["atenta", "push", str(folder), options["repo_id"], *flags])
        raise SystemExit(f"{folder} is saved, but not pushed: {error} `{later}` pushes it later.") from None
    print(f"Pushed to {address}")


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Format `{row: {column: figure}}` as a table of text, one line for each row.

    Figures below 1,000 have four decimals, larger ones none. A figure that a row lacks is `-`. A column is as wide as
    its widest cell, and at least eight characters.
    """
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    cells = [[column.replace("_", " "), *(_figure(row.get(column)) for row in rows.values())] for column in columns]
    widths = [max(8, *map(len, column)) for column in cells]
    label_width = max(map(len, rows))
    return "\n".join(
        f"{label:<{label_width}}" + "".join(f"  {cell:>{width}}" for cell, width in zip(row, widths))
        for label, row in zip(["", *rows], zip(*cells))
    )


def _figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if isinstance(value, int) or value >= 1000 else f"{value:.4f}"


def write_metrics(path: Path, metrics: Mapping[str, Any]) -> None:
    """Write the figures of a run as JSON, with the command, the machine, the versions and the date."""
    path.write_text(figures_as_json({**metrics, "run": describe_run()}), encoding="utf-8")


def figures_as_json(figures: Mapping[str, Any]) -> str:
    """Return figures as JSON, which has no infinity: a perplexity that is infinite is null."""
    finite = json.loads(json.dumps(figures), parse_constant=lambda _: None)
    return json.dumps(finite, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def describe_run() -> dict[str, Any]:
    """Return the command of this process, without secrets and places, the machine, the versions and the date."""
    is_cuda = torch.cuda.is_available()
    gpus = f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}" if is_cuda else "no GPU"
    return {
        "command": describe_command(sys.argv[0], sys.argv[1:], _launcher()),
        "machine": f"{platform.machine()}, {(cores := os.cpu_count())} core{'s' * (cores != 1)}, {gpus}",
        "versions": {name: version(name) for name in ("atenta", "torch", "transformers", "accelerate")},
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }


def write_predictions(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns as tab-separated values under their names. Texts with tabs, quotes or line ends are quoted."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(map(tab_separated, [tuple(columns), *zip(*columns.values(), strict=True)]))


def _launcher() -> list[str]:
    """Return the words of `accelerate launch` or `torchrun` before this script; none if neither has started it."""
    options, words = sys.argv[1:], []
    with suppress(psutil.Error):
        words = psutil.Process(os.getppid()).cmdline()
    start = next((index for index, word in enumerate(words) if Path(word).name in _LAUNCHERS), None)
    if start is None or words[len(words) - len(options) :] != options:  # another process may stand between
        processes = os.environ.get("WORLD_SIZE", "1")
        return [] if processes == "1" else ["accelerate", "launch", "--num_processes", processes]
    head = ["python", "-m", words[start]] if words[start - 1] == "-m" else [Path(words[start]).name]
    program = len(sys.argv[0].split()) if sys.argv[0].startswith("atenta ") else 1
    launch = words[start + 1 : len(words) - len(options) - program]
    return head + [word for word in launch if word not in ("-m", "--module", "--no_python", "--no-python")]
