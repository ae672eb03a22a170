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

from atenta.engines.onnx_models import ONNX_FOLDER, check_export
from atenta.hub.card import write_model_card
from atenta.hub.card_command import describe_command, without_place
from atenta.hub.card_facts import CardFacts, is_of_this_package
from atenta.hub.publishing import PushError, push_folder
from atenta.recipes.option_annotations import Mark
from atenta.recipes.pictures.run_charts import draw_learning_curve, draw_scores_by_length
from atenta.recipes.reading.records import printable, quote_for_shell
from atenta.recipes.tab_separated import tab_separated
from atenta.recipes.training.options import RecipeArguments
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
    return {name: score(rows, given) for name, given in answers.items()}


def compare_by_length(score: _Score, rows: Sequence[_Row], answers: _Answers) -> dict[str, dict[str, Any]]:
    """Return the scores of each kind of answer for sources of 1 to 10 characters, 11 to 20, 21 to 40, and so on.

    Each range, such as `21–40`, has also the number of its `texts`.
    """
    powers = [max(0, math.ceil(math.log2(len(row["source"]) / _SHORTEST_RANGE))) for row in rows]
    lowest = [_SHORTEST_RANGE * 2 ** (power - 1) + 1 if power else 1 for power in powers]
    names = [f"{low}–{_SHORTEST_RANGE * 2**power}" for low, power in zip(lowest, powers)]
    order = sorted(range(len(rows)), key=powers.__getitem__)
    return compare_by_group(score, rows, answers, names, order)


def compare_by_group(
    score: _Score, rows: Sequence[_Row], answers: _Answers, groups: Sequence[str], order: Iterable[int] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the scores of each kind of answer for each group of rows, and the number of its `texts`.

    Args:
        score: Takes rows and answers.
        rows: The rows.
        answers: For each kind of answer, one to each row.
        groups: The name of the group of each row.
        order: The order of the rows, which decides that of the groups; by default their own.
    """
    members: dict[str, list[int]] = {}
    for index in range(len(rows)) if order is None else order:
        members.setdefault(groups[index], []).append(index)
    compared: dict[str, dict[str, Any]] = {}
    for group, indices in members.items():
        chosen = {name: [given[index] for index in indices] for name, given in answers.items()}
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
        by_length: The number of `texts` and the same for the texts of each range of lengths; the first score is drawn
            in `scores_by_length.png`.
        by_domain: The same for the texts of each domain, without a picture.
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
    for path in (folder / ONNX_FOLDER).glob("*.onnx"):
        try:
            check_export(path)
        except ValueError:
            path.unlink()
            print(f"Removed {path}, which was made of the weights that are replaced.", flush=True)
    with suppress(OSError):
        (folder / ONNX_FOLDER).rmdir()  # if it is empty
    print(f"\n{table(scores)}\n", flush=True)
    for test, compared in (further_scores or {}).items():
        print(f"{test}\n{table(compared)}\n", flush=True)
    first = next(iter(scores["model"]))
    for name, groups in (("domain", by_domain), ("number of characters", by_length)):
        if groups:
            print(f"{first.replace('_', ' ')} by {name}\n{printable(_table_of_groups(groups, first))}\n", flush=True)
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


def report_saved(trainer: RecipeTrainer, text: str | None = None, output: str | None = None) -> None:
    """Print where the model is and, for a text that it can read by itself, the command that predicts it.

    Args:
        trainer: Knows the folder.
        text: The text.
        output: What the model makes of it, which is printed below the command.
    """
    if not trainer.is_world_process_zero():
        return
    folder = trainer.args.output_dir
    print(f"Saved in {folder}", flush=True)
    if text is not None and "\0" not in text:  # which no argument can hold
        end_of_options = "-- " * text.startswith("-")
        command = f"atenta predict {shlex.quote(folder)} {end_of_options}{quote_for_shell(text)}"
        print(f"\n$ {command}" + (f"\n{printable(output)}" if output is not None else ""), flush=True)


def save_metrics_and_card(folder: Path, metrics: Mapping[str, Any]) -> None:
    """Write the model card and `metrics.json` of a run. A model of another package gets no card.

    Args:
        folder: Folder of the saved model.
        metrics: The figures; under `card`, the other facts of `CardFacts`.
    """
    facts = CardFacts.from_metrics({**metrics, "run": describe_run()})
    if is_of_this_package(folder):
        write_model_card(folder, facts)
    write_metrics(folder / "metrics.json", metrics)


def describe_training(trainer: RecipeTrainer) -> dict[str, Any]:
    """Return what a model card says of a training: title and language, options, start and cost."""
    arguments, start = trainer.args, trainer.run.options.get("model_name_or_path")
    return {
        "title": arguments.card_title,
        "card_language": arguments.card_language,
        "base_model": start if start and not Path(start).exists() else None,
        "options": {
            **_describe_options(arguments, trainer.run),
            "trained_steps": trainer.state.global_step,
            **_describe_earlier_options(trainer),
        },
        "cost": trainer.cost.facts(),
    }


def _describe_options(arguments: RecipeArguments, run: Run) -> dict[str, Any]:
    """Return the main options and those of the command line, as the Trainer has settled them."""
    settled = {name: getattr(arguments, name, value) for name, value in run.options.items()}
    idle = {name for name, value in settled.items() if not value}
    if arguments.optim != "muon":
        idle.add("muon_learning_rate")
    if arguments.max_steps > 0:
        idle.add("num_train_epochs")
    if arguments.max_tokens_per_batch:
        idle.add("per_device_train_batch_size")
    given = [word[2:].partition("=")[0].replace("-", "_") for word in sys.argv[1:] if word.startswith("--")]
    described = {}
    for name, value in settled.items():
        marks = run.marks(name)
        is_main = Mark.ON_CARD in marks or (Mark.ON_CARD_IF_CHANGED in marks and value != run.declared[name].default)
        if Mark.OFF_CARD not in marks and (name in given or (is_main and name not in idle)):
            described[name] = _as_plain(value)
    return described


def _describe_earlier_options(trainer: RecipeTrainer) -> dict[str, str]:
    """Return the options that were changed where the run was resumed, by the last step that they held for."""
    described = {}
    for step, earlier in trainer.checkpointing.earlier_options.items():
        now = {name: getattr(trainer.args, name, trainer.run.options.get(name)) for name in earlier}
        told = [f"{name} {_as_plain(value)}" for name, value in earlier.items() if value != now[name]]
        described[f"up to step {step}"] = ", ".join(told)
    return described


def _as_plain(value: Any) -> Any:
    """Return the value of an option as a number or a text."""
    if isinstance(value, list | tuple):
        return ", ".join(str(_as_plain(each)) for each in value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    value = getattr(value, "value", value)  # of an enumeration
    return value if isinstance(value, int | float) else without_place(str(value))


def push_run(trainer: RecipeTrainer) -> None:
    """Push the output folder to the repository `--hub_model_id`.

    Raises:
        SystemExit: If it cannot be pushed. The folder is complete then, and `atenta push` pushes it later.
    """
    arguments, folder = trainer.args, Path(trainer.args.output_dir)
    try:
        address = push_folder(
            folder,
            arguments.hub_model_id or folder.name,
            private=arguments.hub_private_repo is not False,
            replace=arguments.replace_on_hub,
            token=arguments.hub_token,
        )
    except PushError as error:
        raise SystemExit(
            f"{folder} is saved, but not pushed: {error} `atenta push {folder}` pushes it later."
        ) from None
    print(f"Pushed to {address}")


def table(rows: Mapping[str, Mapping[str, float]]) -> str:
    """Format `{row: {column: figure}}` as a table of text, one line for each row.

    Figures below 1,000 have four decimals, larger ones none. A figure that a row lacks is `-`.
    """
    columns = list(dict.fromkeys(column for row in rows.values() for column in row))
    names = [column.replace("_", " ") for column in columns]
    width = max(map(len, rows))
    lines = [" " * width + "".join(f"  {name:>8}" for name in names)]
    for label, row in rows.items():
        cells = [_format_figure(row.get(column)) for column in columns]
        lines.append(
            f"{label:<{width}}" + "".join(f"  {cell:>{max(8, len(name))}}" for name, cell in zip(names, cells))
        )
    return "\n".join(lines)


def _table_of_groups(groups: Mapping[str, Mapping[str, Any]], metric: str) -> str:
    rows = {
        group: {name: value if name == "texts" else value[metric] for name, value in of_group.items()}
        for group, of_group in groups.items()
    }
    return table(rows)


def write_metrics(path: Path, metrics: Mapping[str, Any]) -> None:
    """Write the figures of a run as JSON, with the command, the machine, the versions and the date."""
    # JSON has no infinity, which a perplexity may be.
    figures = json.loads(json.dumps({**metrics, "run": describe_run()}), parse_constant=lambda _: None)
    text = json.dumps(figures, indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def describe_run() -> dict[str, Any]:
    """Return the command of this process, without secrets and places, the machine, the versions and the date."""
    return {
        "command": describe_command(sys.argv[0], sys.argv[1:], _launcher()),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {_describe_gpus()}",
        "versions": {name: version(name) for name in ("atenta", "torch", "transformers", "accelerate")},
        "python": platform.python_version(),
        "date": date.today().isoformat(),
    }


def write_predictions(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns as tab-separated values under their names. Texts with tabs, quotes or line ends are quoted."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(map(tab_separated, [tuple(columns), *zip(*columns.values(), strict=True)]))


def _format_figure(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.4f}" if value < 1000 and not isinstance(value, int) else f"{value:,.0f}"


def _launcher() -> list[str]:
    """Return how `accelerate launch` or `torchrun` was told to start this script; nothing if it was not."""
    options, words = sys.argv[1:], []
    with suppress(psutil.Error):
        words = psutil.Process(os.getppid()).cmdline()
    start = next((index for index, word in enumerate(words) if Path(word).name in _LAUNCHERS), None)
    if start is None or words[len(words) - len(options) :] != options:  # another process may stand between
        processes = os.environ.get("WORLD_SIZE", "1")
        return [] if processes == "1" else ["accelerate", "launch", "--num_processes", processes]
    head = ["python", "-m", words[start]] if words[start - 1] == "-m" else [Path(words[start]).name]
    program = len(sys.argv[0].split()) if sys.argv[0].startswith("atenta ") else 1
    told = words[start + 1 : len(words) - len(options) - program]
    return head + [word for word in told if word not in ("-m", "--module", "--no_python", "--no-python")]


def _describe_gpus() -> str:
    if not torch.cuda.is_available():
        return "no GPU"
    return f"{torch.cuda.device_count()} x {torch.cuda.get_device_name()}"
