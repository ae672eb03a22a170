"""Hugging Face's own model, configuration and training suites, run on every class of each family.

The model suite asks for `GenerationTesterMixin` too, which is empty here: its tests are not in the source package.
"""

import re
import unittest

import pytest
import torch

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForMaskedLM,
    AtentaEncoderForPreTraining,
)
from support.hf_suites import OneReport, ShortTraining, add_model_names, import_suite
from support.models import DECODERS, ENCODER_DECODERS, ENCODERS, OTHER_LAYOUT, SuiteModelTester

pytestmark = pytest.mark.usefixtures("short_tensors")
add_model_names()
common = import_suite("test_modeling_common")
configuration = import_suite("test_configuration_common")
training = import_suite("test_training_mixin")
generation = import_suite("generation.test_utils")


def without(pattern):
    """Return a decorator that leaves out the tests of a suite whose names have the pattern."""

    def leave_out(suite):
        for name in filter(re.compile(pattern).search, dir(suite)):
            setattr(suite, name, None)
        return suite

    return leave_out


# Where there is no mask nothing is padded: the same as those of the left side.
@without("sdpa_inference_.*_pad_right_no_attn_mask")
class Suites(OneReport, ShortTraining, common.ModelTesterMixin, training.TrainingTesterMixin):
    """The suites of all models."""

    test_can_init_all_missing_weights_before_2023 = True

    def test_bc_torch_dtype(self):
        """Of one class: all have one `from_pretrained`, and transformers alone reads `torch_dtype`."""
        self.all_model_classes = self.all_model_classes[:1]
        super().test_bc_torch_dtype()

    def test_config(self):
        configuration.ConfigTester(self, config_class=self.model_tester.config_class).run_common_tests()


# test_devices.py has half precision in every layout, and test_downsampling.py that of groups.
in_single_precision = without("sdpa_inference_.*_(fp16|bf16)_|bc_torch_dtype")


class EncoderSuiteTest(Suites, unittest.TestCase):
    all_model_classes = ENCODERS
    model_tester = SuiteModelTester(AtentaEncoderForMaskedLM)

    def _prepare_for_class(self, inputs_dict, model_class, return_labels=False):
        inputs = super()._prepare_for_class(inputs_dict, model_class, return_labels)
        if return_labels and model_class is AtentaEncoderForPreTraining:  # the suite knows only one loss per class
            inputs["labels"] = torch.zeros_like(inputs["input_ids"])
            inputs["next_sentence_label"] = torch.zeros(len(inputs["input_ids"]), dtype=torch.long)
        return inputs


@in_single_precision
class EncoderOtherLayoutSuiteTest(EncoderSuiteTest):
    all_model_classes = ENCODERS[:3]  # the layout does not reach the heads of the others
    model_tester = SuiteModelTester(AtentaEncoderForMaskedLM, **OTHER_LAYOUT)


@in_single_precision
class EncoderOfGroupsSuiteTest(EncoderSuiteTest):
    all_model_classes = ENCODERS[:2]
    model_tester = SuiteModelTester(
        AtentaEncoderForMaskedLM, **OTHER_LAYOUT, downsampling_rate=3, downsampling_layers=1
    )


class DecoderSuiteTest(Suites, generation.GenerationTesterMixin, unittest.TestCase):
    all_model_classes = DECODERS
    model_tester = SuiteModelTester(AtentaDecoderForCausalLM)


@in_single_precision
class DecoderOtherLayoutSuiteTest(DecoderSuiteTest):
    all_model_classes = DECODERS[:2]  # the layout does not reach the head of the third
    model_tester = SuiteModelTester(AtentaDecoderForCausalLM, **OTHER_LAYOUT)


class EncoderDecoderSuiteTest(Suites, generation.GenerationTesterMixin, unittest.TestCase):
    all_model_classes = ENCODER_DECODERS
    model_tester = SuiteModelTester(AtentaEncoderDecoderForConditionalGeneration)
    is_encoder_decoder = True
    test_bc_cache_name_forward = None  # demands a warning that `past_key_values` is deprecated; both names are ours

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


@without("sdpa_inference_.*_(fp16_|bf16_(?!pad_left$))|bc_torch_dtype")
class TransducerSuiteTest(EncoderDecoderSuiteTest):
    all_model_classes = ENCODER_DECODERS[1:]
    model_tester = SuiteModelTester(AtentaEncoderDecoderForConditionalGeneration, transducer=True, conv_kernel_size=3)

    @unittest.skip("a transducer has to know what was written")
    def test_inputs_embeds(self):
        pass


@in_single_precision
class EncoderDecoderOtherLayoutSuiteTest(EncoderDecoderSuiteTest):
    model_tester = SuiteModelTester(AtentaEncoderDecoderForConditionalGeneration, **OTHER_LAYOUT)
