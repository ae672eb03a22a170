"""`import atenta` is light, and the models are registered in whatever order packages are imported."""

import ast
import importlib
import importlib.util
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import atenta
from atenta import import_hook, phonemize, restore_accents, restore_text
from atenta.import_hook import call_after_import
from support import command
from support.clean_process import run_function
from support.saved import save_with_tokenizer

STUB = ast.parse(Path(atenta.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
MODULES = {  # of each public name, which tests/docs/test_reference.py finds in the documents
    alias.name: f"atenta.{node.module}"
    for node in STUB.body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}


def test_the_public_names_are_those_of_the_stub():
    names = {}
    exec("from atenta import *", names)
    assert names.keys() - {"__builtins__"} == {*MODULES, "__version__"}
    assert {*MODULES, "__version__", "__name__", "__doc__"} <= set(dir(atenta))
    for name, module in MODULES.items():
        value = getattr(importlib.import_module(module), name)
        assert getattr(atenta, name) is value, name
        assert getattr(value, "__module__", module) == module, name


def test_unknown_name():
    with pytest.raises(AttributeError, match=r"^module 'atenta' has no attribute 'AtentaModel'$"):
        _ = atenta.AtentaModel
    with pytest.raises(ImportError, match="cannot import name 'AtentaModel' from 'atenta'"):
        from atenta import AtentaModel  # noqa: F401


def import_light_names() -> None:
    """Import what needs no model, printing which large packages each statement brought; run in a new process."""
    import sys

    for statement in (
        "import atenta",
        "import atenta.restoration.spans, atenta.tokenization.base_letters",
        "from atenta import DEFAULT_ALPHABET, character_span, check_texts",
        "from atenta import CharacterTable, Spellings",
    ):
        exec(statement)
        print(statement.split()[-1], *(name for name in ("numpy", "torch", "transformers") if name in sys.modules))


def test_only_models_and_tokenizers_need_torch_and_transformers(tmp_path):
    printed = run_function(import_light_names, home=tmp_path, with_package=True)
    assert printed.splitlines() == ["atenta", "atenta.tokenization.base_letters", "check_texts", "Spellings numpy"]


def load_after(statements: str, folder: str) -> None:
    """Load a model without remote code, and save it, after some imports; run in a new process."""
    from pathlib import Path

    exec(statements)
    from transformers import AutoModelForCausalLM, pipeline

    assert len(pipeline("text-generation", folder)("a", max_new_tokens=2)) == 1
    model = AutoModelForCausalLM.from_pretrained(folder)
    import atenta

    assert type(model) is atenta.AtentaDecoderForCausalLM, type(model)
    again = Path(folder) / "again"
    model.save_pretrained(again)
    assert "## Limits" in (again / "README.md").read_text(encoding="utf-8")
    assert (again / "modeling_decoder.py").exists()
    print("loaded")


ORDERS = {
    "ours last": "import transformers; from transformers import AutoModel; import atenta",
    "the card": "from atenta.hub.card import write_model_card",
    "its facts": "from atenta.hub.card_facts import CardFacts; import transformers",
    "another package": "import atenta, peft",  # imports transformers while it is itself half imported
    "a module that prints, as under -OO": (
        "import atenta, sys; sys.meta_path.insert(0, type('Printing', (), {'find_spec': staticmethod("
        "lambda name, *_: print(name) if name == 'transformers.processing_utils' else None)}))"
    ),
    "found, then imported": (
        "import atenta, importlib.util; assert importlib.util.find_spec('transformers'); "
        "importlib.reload(atenta); import transformers; importlib.reload(transformers)"
    ),
}


@pytest.mark.parametrize(
    "statements",
    [
        pytest.param(each, id=name, marks=[] if name in ("the card", "another package") else pytest.mark.slow)
        for name, each in ORDERS.items()
    ],
)
def test_models_are_registered_in_every_order(statements, tmp_path):
    save_with_tokenizer(atenta.AtentaDecoderForCausalLM, tmp_path)
    assert run_function(load_after, statements, tmp_path, home=tmp_path, with_package=True) == "loaded\n"


def ask_in_threads() -> None:
    """Ask for every public name at once, and import transformers beside it; run in a new process."""
    import importlib
    import threading
    from concurrent.futures import ThreadPoolExecutor

    import atenta

    names = [*atenta.__all__, "transformers"]
    barrier = threading.Barrier(len(names))

    def ask(name: str) -> None:
        barrier.wait()
        importlib.import_module(name) if name == "transformers" else getattr(atenta, name)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(ask, names))
    from transformers import AutoConfig

    print(type(AutoConfig.for_model("atenta_encoder")).__name__, atenta.AtentaTokenizer.__module__)


def test_names_can_be_asked_for_in_threads(tmp_path):
    """Also where a folder has the name of the package, which it does not hide."""
    (tmp_path / "atenta" / "modeling").mkdir(parents=True)
    printed = run_function(ask_in_threads, home=tmp_path, with_package=True)
    assert printed == "AtentaEncoderConfig atenta.tokenization.tokenization_atenta\n"


def use_without(package: str) -> None:
    """Use what is left where a package is not installed; run in a new process."""
    import sys

    sys.modules[package] = None
    import atenta
    from atenta import Spellings, character_span, check_texts

    check_texts("a")
    assert character_span("a", [(0, 1)], 0, 0) == (0, 1)
    assert len(Spellings({"á": "a"}, {})) == 0
    for name in ("AtentaEncoderModel", "AtentaDecoderConfig", "AtentaTokenizer"):
        try:
            print(getattr(atenta, name).__name__)
        except ModuleNotFoundError as error:
            print(name, error.name)


@pytest.mark.parametrize("package", ["transformers", "torch"])
def test_without_transformers_or_torch(package, tmp_path):
    printed = run_function(use_without, package, home=tmp_path, with_package=True).splitlines()
    missing = [f"{name} {package}" for name in ("AtentaEncoderModel", "AtentaDecoderConfig", "AtentaTokenizer")]
    assert printed == (
        missing
        if package == "transformers"
        else ["AtentaEncoderModel torch", "AtentaDecoderConfig", "AtentaTokenizer"]
    )


def use_models_of_the_package(text: str) -> None:
    """Phonemize, check and restore, the latter as where torch and transformers are absent; run in a new process."""
    import sys
    from contextlib import suppress

    from atenta import phonemize, restore_accents, restore_text
    from atenta.command.main import main

    absent = {"torch", "transformers"}
    large = absent | {"datasets", "peft", "evaluate", "sklearn", "matplotlib", "yaml"}
    print(phonemize(text))
    sys.argv = ["atenta", "check", "a.md"]
    with suppress(SystemExit):
        main()
    found = large & sys.modules.keys()
    assert not found, found
    sys.modules |= dict.fromkeys(absent)
    print(restore_accents(text), restore_text(text), sep="\n")
    found = large & sys.modules.keys()
    assert found == absent, found


def test_the_models_of_the_package_need_neither_torch_nor_transformers_nor_the_network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.md").write_text("A informacao nao chegou.\n", encoding="utf-8")
    text = "voce vem amanha nao sei se o joao vai poder ir mas eu vou"
    offline = {"HF_HUB_OFFLINE": "1", "no_proxy": "", "https_proxy": "http://127.0.0.1:9"}
    printed = run_function(use_models_of_the_package, text, home=tmp_path, with_package=True, environment=offline)
    checked = command.run("check", "a.md", code=1).stdout
    assert "informacao → informação" in checked
    assert printed == f"{phonemize(text)}\n{checked}{restore_accents(text)}\n{restore_text(text)}\n"


@pytest.fixture
def calls(tmp_path, monkeypatch) -> list[str]:
    """Make `hooked` importable, whose execution is recorded in the returned list, and forget it afterwards."""
    executed: list[str] = []
    (tmp_path / "hooked.py").write_text("import sys; sys.executed.append('executed')", encoding="utf-8")
    monkeypatch.setattr(sys, "executed", executed, raising=False)
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path])
    monkeypatch.syspath_prepend(tmp_path)
    yield executed
    sys.modules.pop("hooked", None)


def test_calls_come_after_each_execution_and_not_before(calls):
    for name in ("first", "second"):
        call_after_import("hooked", lambda name=name: calls.append(name))
    spec = importlib.util.find_spec("hooked")
    assert type(spec.loader) is importlib.machinery.SourceFileLoader
    assert calls == []
    module = importlib.import_module("hooked")
    importlib.import_module("hooked")
    assert (calls[0], sorted(calls[1:])) == ("executed", ["first", "second"])
    importlib.reload(module)
    assert (calls[3], sorted(calls[4:])) == ("executed", ["first", "second"])
    call_after_import("hooked", lambda: calls.append("at once"))
    assert calls[6:] == ["at once"]


def test_module_that_is_not_there(calls, tmp_path):
    call_after_import("hooked_nowhere", lambda: calls.append("called"))
    assert importlib.util.find_spec("hooked_nowhere") is None
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'hooked_nowhere'$"):
        importlib.import_module("hooked_nowhere")
    (tmp_path / "hooked_nowhere").mkdir()  # a folder that is not a package
    importlib.invalidate_caches()
    try:
        importlib.import_module("hooked_nowhere")
    finally:
        sys.modules.pop("hooked_nowhere", None)
    assert calls == []


def test_threads_get_the_module_after_the_call(calls):
    def import_it(_: int) -> bool:
        barrier.wait()
        importlib.import_module("hooked")
        return "called" in calls

    barrier = threading.Barrier(8)
    call_after_import("hooked", lambda: calls.append("called"))
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(import_it, range(8))) == [True] * 8
    assert calls == ["executed", "called"]


def test_a_module_that_another_thread_imports_is_waited_for(calls, tmp_path, monkeypatch):
    begun, goes_on = threading.Event(), threading.Event()
    monkeypatch.setattr(sys, "halfway", lambda: (begun.set(), goes_on.wait()), raising=False)
    (tmp_path / "hooked.py").write_text("import sys\nsys.halfway()\nname = 1\n", encoding="utf-8")
    monkeypatch.setattr(import_hook, "import_module", lambda name: (goes_on.set(), importlib.import_module(name)))
    with ThreadPoolExecutor(1) as pool:
        importing = pool.submit(importlib.import_module, "hooked")
        begun.wait()
        try:
            call_after_import("hooked", lambda: calls.append(getattr(sys.modules["hooked"], "name", None)))
        finally:
            goes_on.set()
        importing.result()
    assert calls == [1]
