"""Hugging Face's own test suites, imported from the files that `fetch_hf_suites` keeps.

    common = import_suite("test_modeling_common")

    class EncoderTest(common.ModelTesterMixin, unittest.TestCase): ...

The suites import three modules that are not in the source package. Stubs replace them: two empty mixins, whose tests
this repository writes itself, and the options that `ConfigTester` sets and reads back.
"""

import importlib
import sys
import unittest
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType

import transformers

from atenta.registration import AUTO_CLASSES
from support.fetch_hf_suites import suites_folder

PACKAGE = "huggingface_suites"

# A value other than the default for each option that all configurations share.
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

STUBS = {
    "exporters.test_export": {"ExportTesterMixin": type("ExportTesterMixin", (), {})},
    "generation.test_utils": {"GenerationTesterMixin": type("GenerationTesterMixin", (), {})},
    "utils.test_configuration_utils": {"config_common_kwargs": CONFIG_COMMON_KWARGS},
}


def import_suite(name: str) -> ModuleType:
    """Import one of Hugging Face's test files.

    Args:
        name: The file's name without its extension, or a module that the source package lacks, such as
            `"test_modeling_common"`, `"test_configuration_common"` or `"generation.test_utils"`.

    Raises:
        FileNotFoundError: If the files of the installed transformers version have not been fetched.
        ModuleNotFoundError: If there is no such file.
    """
    folder = suites_folder()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"Hugging Face's test files for transformers {transformers.__version__} are not in {folder}. "
            "Run `make suites` to fetch them."
        )
    if PACKAGE not in sys.modules:
        _module(PACKAGE).__path__ = [str(folder)]
        for module, names in STUBS.items():
            vars(_module(f"{PACKAGE}.{module}")).update(names)
    return importlib.import_module(f"{PACKAGE}.{name}")


def _module(name: str) -> ModuleType:
    return sys.modules.setdefault(name, ModuleType(name))


class OneReport:
    """A mixin for test cases that reports a test once, not also each of its thousands of subtests.

    A subtest that fails ends its test. A subtest that is skipped does not.
    """

    @contextmanager
    def subTest(self, *args: object, **parameters: object) -> Iterator[None]:
        with suppress(unittest.SkipTest):
            yield


class ShortTraining:
    """A mixin for the training suite: fewer steps with a higher learning rate reach a lower loss than the suite's."""

    training_overfit_steps = 100
    training_overfit_learning_rate = 5e-3


def add_model_names() -> None:
    """Add our classes to transformers' `MODEL_*_MAPPING_NAMES` tables, where the suites look up a class's task."""
    for config_class, models in AUTO_CLASSES.items():
        for auto_class, model_class in models.items():
            names = getattr(transformers, auto_class)._model_mapping._model_mapping
            names[config_class.model_type] = model_class.__name__
