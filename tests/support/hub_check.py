"""Show what a user of the Hub gets from the models of `make run` and of the package: `make hub-check`.

Each step prints a line with what was seen, and stops the check if it is not what is promised. Nothing leaves this
machine: the Hub is the local one of the tests.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from huggingface_hub import ModelCard
from playwright.sync_api import expect, sync_playwright
from transformers import pipeline

from atenta import restore_accents
from support.card_rules import card_errors
from support.local_hub import local_hub
from support.ranks import run
from support.recipes import read_predictions
from support.served import serve

ROOT = Path(__file__).parents[2]
ACCENTS, BOX = ROOT / "outputs" / "accents", ROOT / "restoration" / "portuguese_accents"
TEXT = "A acao comecou amanha, nao e?"
"""A text that both models restore."""
# Run in a process that cannot import atenta.
LOAD = """
import sys
sys.modules["atenta"] = None
from transformers import logging, pipeline
logging.disable_progress_bar()
task, name, *texts = sys.argv[1:]
for found in pipeline(task, name, trust_remote_code=True, device="cpu")(texts):
    print(found.get("generated_text", found.get("restored_text")))
"""


def atenta(*arguments: str | Path, **options: Any) -> str:
    """Return what the command `atenta` prints."""
    return run(sys.executable, "-m", "atenta", *arguments, **options).strip()


def load(*arguments: str | Path, **options: Any) -> str:
    """Return what a process prints that loads a model without the package."""
    return run(sys.executable, "-P", "-c", LOAD, *arguments, **options).strip()


def step(name: str, seen: object, right: bool) -> None:
    """Print what was seen.

    Raises:
        SystemExit: If it is not right.
    """
    text = " ".join(str(seen).split())
    print(f"{'ok  ' if right else 'FAIL'} {name:<46} {text if len(text) <= 70 else text[:69] + '…'}", flush=True)
    if not right:
        sys.exit(1)


def check_model(folder: Path, task: str, copies: Path) -> Path:
    """Check the command, the card, the pipeline and the exports of a model, on a copy, and return the copy."""
    name = folder.name
    copy = shutil.copytree(folder, copies / name, ignore=shutil.ignore_patterns("checkpoint-*"))
    if not list(copy.glob("*.py")):  # the model in the package has its code there
        pipeline(task, str(copy)).save_pretrained(copy)
    restored = atenta("predict", copy, TEXT)
    step(f"{name}: atenta predict", restored, restored == "A ação começou amanhã, não é?")
    step(f"{name}: atenta info", atenta("info", copy), "weights" in atenta("info", copy))
    data = copies / f"{name}.tsv"
    data.write_text(f"{TEXT}\t{restored}\n", encoding="utf-8")
    scored = atenta("evaluate", copy, "--test_file", data)
    step(f"{name}: atenta evaluate", scored.splitlines()[-1], "exact match" in scored)
    card = ModelCard.load(copy / "README.md")
    problems = card_errors(card.content)
    step(f"{name}: card", problems or card.content.split("# ", 1)[1].splitlines()[0], not problems)
    found = load(task, copy, TEXT)
    step(f"{name}: pipeline without atenta", found, found.splitlines()[-1] == restored)
    if folder == ACCENTS:
        rows = read_predictions(folder)[:12]
        found = load(task, copy, *(row["source"] for row in rows))
        outputs = [row["output 1"] for row in rows]
        step(f"{name}: the run's outputs in a new process", f"{len(rows)} texts", found == "\n".join(outputs).strip())
    exported = atenta("export", copy, "--quantization", "int8")
    step(f"{name}: atenta export", exported.splitlines()[-3], True)
    again = atenta("predict", copy, TEXT, "--quantization", "int8")
    step(f"{name}: predict in onnxruntime, int8", again, again == restored)
    return copy


def check_push(copy: Path, task: str, home: Path) -> None:
    """Push a model and its ONNX files to a Hub, push it again, and load it from there without atenta."""
    repository = f"tester/{copy.name.replace('_', '-')}"
    with local_hub() as hub:
        environment = {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_local", "HF_HUB_OFFLINE": "0", "HF_HOME": str(home)}
        environment |= {"HF_HUB_DISABLE_XET": "1", "NO_PROXY": "127.0.0.1"}
        pushed = atenta("push", copy, repository, "--collection", "Accents", environment=environment)
        step(f"{copy.name}: atenta push", pushed.splitlines()[-1].removeprefix(hub.url), "collections" in pushed)
        files = hub.storage.files(repository)
        step(f"{copy.name}: files on the Hub", f"{len(files)}", {"README.md", "model.safetensors"} <= files.keys())
        again = atenta("push", copy, repository, "--collection", "Accents", environment=environment)
        step(f"{copy.name}: pushed again", again.splitlines()[0], "nothing to send" in again)
        found = load(task, repository, TEXT, environment=environment)
        step(f"{copy.name}: pipeline from the Hub without atenta", found, "começou amanhã" in found)


def check_demo() -> None:
    """Open the page of `make demo` in Chromium, restore a text, and let the second tab's model write."""
    with serve(ROOT / "demo" / "site") as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(address)
        page.locator("#given").fill(TEXT)
        expect(page.locator("#restored")).to_have_text(restore_accents(TEXT), timeout=60_000)
        step("demo: text", page.locator("#restored").text_content(), True)
        page.locator("#attention-tab").click()
        expect(page.locator("#line-time")).not_to_be_empty(timeout=60_000)
        step("demo: attention", page.locator("#line-time").text_content(), True)
        browser.close()


def main() -> None:
    """Check both models and the demo."""
    if not (ACCENTS / "metrics.json").is_file():
        sys.exit(f"{ACCENTS.relative_to(ROOT)} has no finished model: `make run` trains it, in five minutes.")
    step("atenta restore", atenta("restore", TEXT), True)
    with tempfile.TemporaryDirectory() as folder:
        for model, task in ((ACCENTS, "text2text-generation"), (BOX, "character-restoration")):
            copy = check_model(model, task, Path(folder))
            check_push(copy, task, Path(folder) / f"{model.name}_home")
    check_demo()
    cost = json.loads((ACCENTS / "metrics.json").read_text(encoding="utf-8")).get("card", {})
    print(f"The card of {ACCENTS.name} has {', '.join(cost) or 'no facts'}.")


if __name__ == "__main__":
    main()
