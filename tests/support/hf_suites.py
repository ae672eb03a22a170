"""Hugging Face's own test suites, imported from the files that `fetch_hf_suites` keeps.

    common = import_suite("test_modeling_common")

    class EncoderTest(common.ModelTesterMixin, unittest.TestCase): ...

Three of the modules they import are not in the source package and are stood in for here by what the suites need of
them: two empty mixins, whose own tests are ours to write, and the options that `ConfigTester` sets and reads back.
"""

import importlib
import sys
from types import ModuleType

import transformers

from atenta.registration import AUTO_CLASSES
from support.fetch_hf_suites import suites_folder

PACKAGE = "huggingface_suites"

# One value other than the default for each option that all configurations have.
CONFIG_COMMON_KWARGS = {
    "return_dict": False,
    "output_hidden_states": True,
    "dtype": "float16",
    "chunk_size_feed_forward": 5,
    "architectures": ["AnyModel"],
    "id2label": {0: "first", 1: "second", 2: "third"},
    "label2id": {"first": 0, "second": 1, "third": 2},
    "problem_type": "regression",
}

LEFT_OUT = {
    "exporters.test_export": {"ExportTesterMixin": type("ExportTesterMixin", (), {})},
    "generation.test_utils": {"GenerationTesterMixin": type("GenerationTesterMixin", (), {})},
    "utils.test_configuration_utils": {"config_common_kwargs": CONFIG_COMMON_KWARGS},
}


def import_suite(name: str) -> ModuleType:
    """Import one of Hugging Face's test files.

    Args:
        name: the file's name without its ending, or a module that the source package leaves out, such as
            `"test_modeling_common"`, `"test_configuration_common"` or `"generation.test_utils"`.

    Raises:
        FileNotFoundError: the files of the installed transformers version have not been fetched.
        ModuleNotFoundError: there is no such file.
    """
    folder = suites_folder()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"Hugging Face's test files for transformers {transformers.__version__} are not in {folder}. "
            "Run `make suites` to fetch them."
        )
    if PACKAGE not in sys.modules:
        _module(PACKAGE).__path__ = [str(folder)]
        for module, names in LEFT_OUT.items():
            vars(_module(f"{PACKAGE}.{module}")).update(names)
    return importlib.import_module(f"{PACKAGE}.{name}")


def _module(name: str) -> ModuleType:
    return sys.modules.setdefault(name, ModuleType(name))


def add_model_names() -> None:
    """Add our classes to transformers' `MODEL_*_MAPPING_NAMES` tables, where the suites look up what a class does."""
    for config_class, models in AUTO_CLASSES.items():
        for auto_class, model_class in models.items():
            names = getattr(transformers, auto_class)._model_mapping._model_mapping
            names[config_class.model_type] = model_class.__name__
