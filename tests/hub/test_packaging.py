"""After a wheel, sdist or editable install, `import atenta` and its model card work in any directory."""

import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from support.wheels import FOLDERS, build, copy_source, install, run

# Saves a model, whose card and code are read from the package's files, and finds a recipe's configuration.
USE = """
import importlib.resources, pathlib, sys, atenta, atenta.recipes.baselines
assert pathlib.Path(atenta.__file__).resolve().is_relative_to(sys.argv[1]), atenta.__file__
config = atenta.AtentaDecoderConfig(hidden_size=8, num_attention_heads=2, intermediate_size=8, num_hidden_layers=1)
atenta.AtentaDecoderForCausalLM(config).save_pretrained("model")
assert "## Limits" in pathlib.Path("model/README.md").read_text(encoding="utf-8")
assert pathlib.Path("model/modeling_decoder.py").exists()
assert importlib.resources.files("atenta.recipes").joinpath("configs/accents.yaml").is_file()
assert atenta.restore_accents("A acao nao e facil") == "A ação não é fácil"
assert atenta.phonemize("amanhã vou à praia") == "amãˈɲã ˈvow a ˈpɾayə"
print(atenta.__version__)
"""
# In a folder that holds a folder `atenta`, which is no package.
BESIDE = """
import pathlib, sys, atenta
assert pathlib.Path(atenta.__file__).resolve().is_relative_to(sys.argv[1]), atenta.__file__
assert atenta.restore_accents("A acao nao e facil") == "A ação não é fácil"
print(atenta.__version__)
"""


@pytest.fixture
def source(tmp_path) -> Path:
    return copy_source(tmp_path / "atenta")  # as a clone is called


@pytest.fixture
def install_and_use(tmp_path):
    def install_and_use(*what: str | Path, package_folder: Path | None = None) -> None:
        environment = tmp_path / "environment"
        python = install(*what, environment=environment)
        for folder, script in ((tmp_path, BESIDE), (tmp_path / "elsewhere", USE)):
            folder.mkdir(exist_ok=True)
            printed = run(python, "-c", script, (package_folder or environment).resolve(), cwd=folder)
            assert printed.split()[-1] == version("atenta")

    return install_and_use


@pytest.mark.slow
def test_wheel(source, install_and_use, tmp_path):
    wheel = build("wheel", source, tmp_path / "dist")
    install_and_use(wheel)
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    modules = {
        f"atenta/{path.relative_to(source).as_posix()}"
        for folder in FOLDERS
        for path in (source / folder).rglob("*.py")
    }
    modules |= {f"atenta/{path.name}" for path in (source / "src" / "atenta").glob("*.py")}
    settings = {
        f"atenta/recipes/{folder}/{path.name}"
        for folder in ("configs", "launch")
        for path in (source / "recipes" / folder).glob("*.yaml")
    }
    others = {
        "atenta/__init__.pyi",
        "atenta/hub/hub_card.md",
        "atenta/py.typed",
        "atenta/recipes/option_table.yaml",
        "atenta/recipes/pictures/attention_page.html",
    }
    model = {"config.json", "metrics.json", "README.md", "tokenizer.json", "tokenizer_config.json"}
    model |= {"onnx/model_int8.onnx"}
    for folder, own in (
        ("restoration/portuguese_accents", {"model.safetensors", "spellings.txt"}),
        ("restoration/portuguese_speech", {"spellings.txt"}),
        ("phonemization/portuguese_phones", {"readings.txt"}),
    ):
        others |= {f"atenta/{folder}/{name}" for name in model | own}
    assert names == modules | settings | others | {"atenta_command.py"}


@pytest.mark.slow
def test_sdist(source, install_and_use, tmp_path):
    sdist = build("sdist", source, tmp_path / "dist")
    with tarfile.open(sdist) as archive:
        names = {Path(name).relative_to(Path(name).parts[0]).as_posix() for name in archive.getnames()}
    assert {"LICENSE", "README.md"} | {
        f"src/atenta/{name}" for name in ("hub/hub_card.md", "recipes/configs/accents.yaml")
    } <= names
    assert not [name for name in names if "recipes/data" in name]
    install_and_use(sdist)


@pytest.mark.slow
def test_editable(source, install_and_use):
    install_and_use("--editable", source, package_folder=source)
