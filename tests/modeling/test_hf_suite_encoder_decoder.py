"""Hugging Face's own model, configuration and training suites, run on every class of the encoder-decoder family."""

import unittest

import pytest
import torch

from atenta import AtentaEncoderDecoderForConditionalGeneration
from support.hf_suites import OneReport, ShortTraining, add_model_names, import_suite
from support.models import ENCODER_DECODERS, OTHER_LAYOUT, SuiteModelTester

pytestmark = pytest.mark.usefixtures("short_tensors")
add_model_names()
common = import_suite("test_modeling_common")
configuration = import_suite("test_configuration_common")
training = import_suite("test_training_mixin")
generation = import_suite("generation.test_utils")


class EncoderDecoderSuiteTest(
    OneReport,
    ShortTraining,
    common.ModelTesterMixin,
    generation.GenerationTesterMixin,
    training.TrainingTesterMixin,
    unittest.TestCase,
):
    all_model_classes = ENCODER_DECODERS
    model_tester = SuiteModelTester(AtentaEncoderDecoderForConditionalGeneration)
    test_can_init_all_missing_weights_before_2023 = True
    is_encoder_decoder = True

    def test_config(self):
        configuration.ConfigTester(
            self, config_class=AtentaEncoderDecoderForConditionalGeneration.config_class
        ).run_common_tests()

    def _create_text_training_batch(self, batch_size, seq_length, vocab_size):
        """The source is the pattern's first token, with which the suite prompts, and the target is the rest."""
        ids = super()._create_text_training_batch(batch_size, seq_length, vocab_size)["input_ids"]
        mask = torch.zeros_like(ids)
        mask[:, 0] = 1
        return {"input_ids": ids, "attention_mask": mask, "labels": ids[:, 1:].contiguous()}

    def test_inputs_embeds_matches_input_ids(self):
        """The suite embeds both sides with the encoder's matrix, so embeddings are tied here."""
        self.model_tester = SuiteModelTester(AtentaEncoderDecoderForConditionalGeneration, tie_word_embeddings=True)
        super().test_inputs_embeds_matches_input_ids()


class EncoderDecoderOtherLayoutSuiteTest(EncoderDecoderSuiteTest):
    model_tester = SuiteModelTester(AtentaEncoderDecoderForConditionalGeneration, **OTHER_LAYOUT)
