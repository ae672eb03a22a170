"""Saved models with tokenizers and ONNX files. An export takes seconds, so each is made once."""

import pytest

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForTokenClassification,
)
from atenta.engines.onnx_export import export_onnx
from support.exported import save_head, save_lively
from support.models import ALL_LAYOUTS


@pytest.fixture(scope="session")
def head_folder(tmp_path_factory):
    """A function that returns the folder of a model that does not generate, by its class. The tagger has int8 too."""
    folders = {}

    def folder_of(model_class):
        if model_class not in folders:
            folder = folders[model_class] = tmp_path_factory.mktemp(model_class.__name__)
            save_head(model_class, folder)
            export_onnx(folder)
            if model_class is AtentaEncoderForTokenClassification:
                export_onnx(folder, "int8")
        return folders[model_class]

    return folder_of


@pytest.fixture(scope="session")
def decoder_folder(tmp_path_factory):
    """A decoder with learned positions."""
    folder = tmp_path_factory.mktemp("decoder")
    save_lively(AtentaDecoderForCausalLM, folder, **ALL_LAYOUTS[2])
    export_onnx(folder)
    return folder


@pytest.fixture(scope="session")
def encoder_decoder_folder(tmp_path_factory):
    """An encoder-decoder with feature tags and rotary cross-attention."""
    folder = tmp_path_factory.mktemp("encoder_decoder")
    options = {"attention_bias": True, "hidden_act": "gelu", "head_dim": 6, "scale_embedding": False}
    save_lively(AtentaEncoderDecoderForConditionalGeneration, folder, **ALL_LAYOUTS[5], **options)
    export_onnx(folder)
    return folder


@pytest.fixture(scope="session")
def folders(decoder_folder, encoder_decoder_folder):
    """The models that generate."""
    return {"decoder": decoder_folder, "encoder-decoder": encoder_decoder_folder}
