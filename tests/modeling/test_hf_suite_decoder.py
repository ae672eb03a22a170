"""Hugging Face's own model, configuration and training suites, run on every class of the decoder family."""

import unittest

import pytest

from atenta import AtentaDecoderForCausalLM
from support.hf_suites import OneReport, ShortTraining, add_model_names, import_suite
from support.models import DECODERS, OTHER_LAYOUT, SuiteModelTester

pytestmark = pytest.mark.usefixtures("short_tensors")
add_model_names()
common = import_suite("test_modeling_common")
configuration = import_suite("test_configuration_common")
training = import_suite("test_training_mixin")
generation = import_suite("generation.test_utils")


class DecoderSuiteTest(
    OneReport,
    ShortTraining,
    common.ModelTesterMixin,
    generation.GenerationTesterMixin,
    training.TrainingTesterMixin,
    unittest.TestCase,
):
    all_model_classes = DECODERS
    model_tester = SuiteModelTester(AtentaDecoderForCausalLM)
    test_can_init_all_missing_weights_before_2023 = True

    def test_config(self):
        configuration.ConfigTester(self, config_class=self.model_tester.config_class).run_common_tests()


class DecoderOtherLayoutSuiteTest(DecoderSuiteTest):
    all_model_classes = DECODERS[:2]  # the layout does not reach the head of the third
    model_tester = SuiteModelTester(AtentaDecoderForCausalLM, **OTHER_LAYOUT)
