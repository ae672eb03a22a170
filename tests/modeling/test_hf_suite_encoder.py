"""Hugging Face's own model, configuration and training suites, run on every class of the encoder family."""

import unittest

import pytest
import torch

from atenta import AtentaEncoderForMaskedLM, AtentaEncoderForPreTraining
from support.hf_suites import OneReport, ShortTraining, add_model_names, import_suite
from support.models import ENCODERS, OTHER_LAYOUT, SuiteModelTester

pytestmark = pytest.mark.usefixtures("short_tensors")
add_model_names()
common = import_suite("test_modeling_common")
configuration = import_suite("test_configuration_common")
training = import_suite("test_training_mixin")


class EncoderSuiteTest(
    OneReport, ShortTraining, common.ModelTesterMixin, training.TrainingTesterMixin, unittest.TestCase
):
    all_model_classes = ENCODERS
    model_tester = SuiteModelTester(AtentaEncoderForMaskedLM)
    test_can_init_all_missing_weights_before_2023 = True

    def test_config(self):
        configuration.ConfigTester(self, config_class=self.model_tester.config_class).run_common_tests()

    def _prepare_for_class(self, inputs_dict, model_class, return_labels=False):
        inputs = super()._prepare_for_class(inputs_dict, model_class, return_labels)
        if return_labels and model_class is AtentaEncoderForPreTraining:  # the suite knows only one loss per class
            inputs["labels"] = torch.zeros_like(inputs["input_ids"])
            inputs["next_sentence_label"] = torch.zeros(len(inputs["input_ids"]), dtype=torch.long)
        return inputs


class EncoderOtherLayoutSuiteTest(EncoderSuiteTest):
    all_model_classes = ENCODERS[:3]  # the layout does not reach the heads of the others
    model_tester = SuiteModelTester(AtentaEncoderForMaskedLM, **OTHER_LAYOUT)
