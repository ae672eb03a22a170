"""Saved models load, run and save without the package; with the package, they load without remote code."""

import json
import sys
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import save_file
from transformers import AutoConfig, PreTrainedConfig

from atenta import AtentaDecoderConfig
from atenta.hub import bundle
from atenta.hub.bundle import flat_sources
from atenta.registration import AUTO_CLASSES
from support.clean_process import run_function
from support.models import inputs_for, tiny_config, tiny_model

HEADS = [
    pytest.param(auto_class, model_class, id=f"{auto_class}-{model_class.__name__}")
    for models in AUTO_CLASSES.values()
    for auto_class, model_class in models.items()
]


def outputs(model, inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    with torch.no_grad():
        return {name: value for name, value in model(**inputs).items() if isinstance(value, torch.Tensor)}


def save_family(config_class: type[PreTrainedConfig], folder: Path) -> None:
    """Save each model of a family in a folder named after its auto class, with inputs and outputs."""
    for auto_class, model_class in AUTO_CLASSES[config_class].items():
        model, inputs = tiny_model(model_class), inputs_for(model_class)
        model.save_pretrained(folder / auto_class)
        save_file(inputs, folder / f"{auto_class}-inputs.safetensors")
        save_file(outputs(model, inputs), folder / f"{auto_class}-outputs.safetensors")


def load_run_save_and_load(*folders: str) -> None:
    """Load every model of each family, run it, save it, and load and run the saved model; run in a new process."""
    import json
    from pathlib import Path

    import torch
    import transformers
    from safetensors.torch import load_file

    for first in map(Path, folders):
        again = first / "again"
        auto_map = json.loads(next(first.glob("*/config.json")).read_text(encoding="utf-8"))["auto_map"]
        for auto_class in auto_map.keys() - {"AutoConfig"}:
            inputs = load_file(first / f"{auto_class}-inputs.safetensors")
            expected = load_file(first / f"{auto_class}-outputs.safetensors")
            for source, destination in ((first, again), (again, again / "third")):
                config = transformers.AutoConfig.from_pretrained(source / auto_class, trust_remote_code=True)
                assert type(config).__module__.startswith("transformers_modules."), type(config).__module__
                model = getattr(transformers, auto_class).from_pretrained(source / auto_class, trust_remote_code=True)
                assert type(model).__module__.startswith("transformers_modules."), type(model).__module__
                with torch.no_grad():
                    actual = model(**inputs)
                for name, value in expected.items():
                    torch.testing.assert_close(actual[name], value, rtol=0, atol=0)
                if model.can_generate():
                    ids = model.generate(inputs["input_ids"], max_new_tokens=3)
                    assert ids.shape[0] == len(inputs["input_ids"])
                model.save_pretrained(destination / auto_class)
                saved = json.loads((destination / auto_class / "config.json").read_text(encoding="utf-8"))
                assert saved["auto_map"] == auto_map
        print("loaded:", *sorted(auto_map))


def test_clean_process_loads_runs_and_saves_every_class(tmp_path):
    folders = {config_class: tmp_path / config_class.model_type for config_class in AUTO_CLASSES}
    for config_class, folder in folders.items():
        save_family(config_class, folder)
    printed = run_function(load_run_save_and_load, *folders.values(), home=tmp_path)
    loaded = [" ".join(["loaded:", *sorted(["AutoConfig", *models])]) for models in AUTO_CLASSES.values()]
    assert printed.splitlines() == loaded


@pytest.mark.parametrize(("auto_class", "model_class"), HEADS)
def test_a_saved_folder_loads_without_trust_where_the_package_is(auto_class, model_class, tmp_path):
    model = tiny_model(model_class)
    model.save_pretrained(tmp_path)
    files = {path.name for path in tmp_path.iterdir()}
    assert {"config.json", "model.safetensors", "README.md"} <= files
    assert ("generation_config.json" in files) == model.can_generate()
    assert not [name for name in files if name.endswith((".bin", ".pt", ".pth", ".pkl", ".pickle"))]
    assert len({path.stat().st_mode for path in tmp_path.iterdir()}) == 1  # weights are for whoever reads the rest
    auto_map = json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))["auto_map"]
    assert set(auto_map) == {"AutoConfig", *AUTO_CLASSES[model_class.config_class]}
    for reference in auto_map.values():
        assert f"{reference.partition('.')[0]}.py" in files
    assert type(AutoConfig.from_pretrained(tmp_path)) is model_class.config_class
    inputs = inputs_for(model_class)
    for options in ({}, {"device_map": {"": "cpu"}}):
        load = getattr(transformers, auto_class).from_pretrained
        loaded, report = load(tmp_path, output_loading_info=True, **options)
        assert not any(report.values())
        assert type(loaded) is model_class
        torch.testing.assert_close(outputs(loaded, inputs), outputs(model, inputs), rtol=0, atol=0)


def test_unregistered_configuration_is_saved_as_by_transformers(tmp_path):
    class MyConfig(AtentaDecoderConfig):
        pass

    MyConfig().save_pretrained(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]
    assert "auto_map" not in json.loads((tmp_path / "config.json").read_text(encoding="utf-8"))


def test_failed_save_leaves_no_code(tmp_path):
    config = tiny_config(next(iter(AUTO_CLASSES)))
    config.num_hidden_layers = 0
    with pytest.raises(Exception, match="num_hidden_layers"):
        config.save_pretrained(tmp_path)
    assert not list(tmp_path.iterdir())


def modules_of(tmp_path, monkeypatch, **sources: str) -> list[str]:
    """Write a package of modules, and make `atenta.hub.bundle` use it instead of `atenta`."""
    package = tmp_path / "other"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, source in sources.items():
        path = package.joinpath(*name.split("__")).with_suffix(".py")
        path.parent.mkdir(exist_ok=True)
        (path.parent / "__init__.py").touch()
        path.write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr("atenta.hub.bundle.PACKAGE", "other")
    bundle._flatten.cache_clear()
    for name in [name for name in sys.modules if name.partition(".")[0] == "other"]:
        monkeypatch.delitem(sys.modules, name)
    return [f"other.{name.replace('__', '.')}" for name in sources]


def test_imports_are_rewritten(tmp_path, monkeypatch):
    first, *_ = modules_of(
        tmp_path,
        monkeypatch,
        models__big='"""from ..parts.nothing import a"""\nimport torch\nfrom ..parts.small import (\n    a,\n)\n\n\n'
        "def f():\n    from other.parts.late import b\n    return a, b, torch\n",
        parts__small="a = 1  # kept\n",
        parts__late="b = 2\n",
        parts__unused="c = 3\n",
    )
    assert flat_sources([first]) == {
        "big.py": '"""from ..parts.nothing import a"""\nimport torch\nfrom .small import (\n    a,\n)\n\n\n'
        "def f():\n    from .late import b\n    return a, b, torch\n",
        "small.py": "a = 1  # kept\n",
        "late.py": "b = 2\n",
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("import other.parts.small", "line 1: write `from"),
        ("from ..parts import small", "Import from the module that defines the name"),
        ("from ..parts.small \\\n    import a", "on one line"),
        ("from ..parts.missing import a", "other.parts.missing is not a file"),
        ("from ..parts.big import a", "would both be big.py"),
    ],
)
def test_imports_that_cannot_be_rewritten(source, message, tmp_path, monkeypatch):
    first, *_ = modules_of(tmp_path, monkeypatch, models__big=source, parts__small="a = 1", parts__big="a = 1")
    with pytest.raises(ValueError, match=message):
        flat_sources([first])
