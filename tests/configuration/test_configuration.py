"""The hyper-parameters: defaults, saving, and an error for each wrong value."""

import json
import math
import re
from typing import get_args

import pytest
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig
from transformers.activations import ACT2FN

from atenta import (
    AtentaDecoderConfig,
    AtentaDecoderForCausalLM,
    AtentaEncoderConfig,
    AtentaEncoderDecoderConfig,
    AtentaPairVotesConfig,
    AtentaTokenizer,
)
from atenta.configuration import configuration_encoder
from atenta.engines import saved_model
from atenta.engines.saved_model import read_config
from atenta.recipes.option_annotations import options_of
from atenta.recipes.training.options import StackArguments
from support.models import CONFIGS, tiny_config, tiny_model

every_config = pytest.mark.parametrize("config_class", CONFIGS, ids=lambda config_class: config_class.model_type)

# Documents 3 and 4; Vaswani et al. (2017), table 3.
BASE_MODEL = {
    "hidden_size": 512,
    "num_attention_heads": 8,
    "head_dim": 64,
    "intermediate_size": 2048,
    "hidden_act": "relu",
    "dropout": 0.1,
    "attention_dropout": 0.0,
    "layer_norm_eps": 1e-5,
    "norm_first": False,
    "position_embedding_type": "sinusoidal",
    "position_embedding_theta": 10000.0,
    "max_position_embeddings": 1024,
    "scale_embedding": True,
    "attention_bias": False,
    "initializer_range": 0.02,
    "tie_word_embeddings": False,
}
FAMILY_DEFAULTS = {
    AtentaEncoderConfig: {"num_hidden_layers": 6, "type_vocab_size": 2, "classifier_dropout": None},
    AtentaDecoderConfig: {"num_hidden_layers": 6, "use_cache": True, "classifier_dropout": None},
    AtentaPairVotesConfig: {"max_distance": None, "num_pairs": 0, "num_triples": 0, "smoothing": 0.1},
    AtentaEncoderDecoderConfig: {
        "encoder_layers": 6,
        "decoder_layers": 6,
        "num_hidden_layers": 6,
        "use_cache": True,
        "decoder_start_token_id": 1,
        "is_encoder_decoder": True,
    },
}


@pytest.mark.parametrize("config_class", FAMILY_DEFAULTS)
def test_defaults_are_the_base_model(config_class):
    """The vocabulary is that of the default tokenizer."""
    config, special = config_class(), ("pad_token_id", "bos_token_id", "eos_token_id")
    assert config.vocab_size == len(AtentaTokenizer.from_alphabet(family="decoder"))
    assert [getattr(config, name) for name in special] == [0, 1, 2]
    expected = FAMILY_DEFAULTS[config_class] | (BASE_MODEL if config_class in CONFIGS else {})
    assert {name: getattr(config, name) for name in expected} == expected
    assert config_class in CONFIGS or not any(hasattr(config, name) for name in BASE_MODEL)
    assert {"max_length", "num_beams", "do_sample", "temperature"}.isdisjoint(config.to_dict())


# Values that every class refuses by the option's name and the value.
REFUSED = {
    **{
        name: [0, -1, 10**9, "512"] for name in ("hidden_size", "num_attention_heads", "intermediate_size", "head_dim")
    },
    **{
        name: [0.0, math.inf, math.nan] for name in ("layer_norm_eps", "position_embedding_theta", "initializer_range")
    },
    **{key: [1.0, -0.1, math.nan, "0.1"] for key in ("dropout", "attention_dropout")},
    **{key: [0, 10**30, math.inf] for key in ("num_hidden_layers", "max_position_embeddings")},
    "vocab_size": [0, 10**9],
    "norm_first": [1],
    "hidden_act": ["rellu"],
    "position_embedding_type": ["relative"],
    "pad_token_id": [-1],
    "bos_token_id": [5000],
    "eos_token_id": [[], [2, 5000], [True], {}],
    "num_labels": [0, -1, 10**12, 2.0, "2", True, []],
    "label2id": [{"O": "a"}, {"O": -1}, {"O": [0]}, ["O"]],
    "id2label": [{}, {"a": "O"}, {"1": "O"}, {"0": 5}, ["O"], {"0": "O", "00": "P"}, {"0": "O", "1": "O"}],
    "dtype": ["float33", "load", 5, ["float32"]],
    "torch_dtype": ["float33", {}],
    "architectures": ["AtentaEncoderModel", [5]],
    "problem_type": ["guess", []],
    "auto_map": [
        *("x", [], {"AutoConfig": 5}, {"AutoConfig": "/tmp/code.Class"}),
        *({"AutoConfig": "../code.Class"}, {"AutoModel": "a/b.Class"}, {"AutoTokenizer": ["a.A", "../b.B"]}),
    ],
    "custom_pipelines": [
        *(None, 5, ["a"], {"a": None}),
        *({"a": {"impl": "../code.Class"}}, {"a": {"impl": "a.A", "pt": "x"}}),
    ],
    "is_encoder_decoder": [None, "no"],
    "quantization_config": [5, []],
    "text_config": [{}],
    "layer_types": [["full_attention"], math.nan],
    "rope_parameters": ["a"],
}
# Those of one class.
REFUSED_BY = {
    AtentaEncoderConfig: {
        "type_vocab_size": [-1],
        "classifier_dropout": [1.5, math.nan],
        "confidence_temperature": [0, -1.0, 1e-300, 1e300, math.inf, math.nan, True],
        "spellings_file": [
            *("../.bashrc", "a/b.txt", "/dev/zero", "..", "", ".hidden.txt", "a\\b.txt", "C:a.txt", "*.txt", "~.txt"),
            *("config.json", "a.py", "model.safetensors", "nul.txt", "a\nb.txt", "a.txt\x00", "[a].txt", 5, ["a.txt"]),
        ],
        "window_length": [-1, 0, 10**12, math.nan, True, "8"],
        "ngram_sizes": [[], [0, 2], [2, 2], [10**9], [True], [[]], {}],
        "shared_ngram_sizes": [[]],
        "ngram_buckets": [0],
        "conv_kernel_size": [4, 10**9 + 1],
        "downsampling_rate": [1, 0, 10**9, True, "4"],
        **{f"downsampling_{name}": [0, 10**9, "4", 4] for name in ("size", "heads", "layers")},  # 4 of no rate
        "num_words": [-1],
        "is_encoder_decoder": [True],
    },
    AtentaDecoderConfig: {
        **{"classifier_dropout": [1.5], "spellings_file": ["*.txt"], "downsampling_rate": [4], "conv_kernel_size": [3]}
    },
    AtentaEncoderDecoderConfig: {
        "length_ratios": [[], [1.0], [2.0, 1.0], [-1.0, 1.0], [0.5, math.inf], [math.nan, 1.0], [0.5, math.nan]],
        "window_length": [0],
        "decoder_layers": [0],
        "encoder_layers": [0],
        "decoder_start_token_id": [420],
        "type_vocab_size": ["5"],
        "conv_kernel_size": [4, -1, 10**9 + 1],
        "downsampling_rate": [4],
    },
    AtentaPairVotesConfig: {
        "vocab_size": [0, 2_097_152],
        "max_distance": [0, 1.5],
        "smoothing": [0, -1.0, math.inf, math.nan],
        "num_pairs": [-1],
        "num_triples": [-1],
    },
}


@pytest.mark.parametrize(
    ("config_class", "name", "value"),
    [
        *((each, name, value) for each in CONFIGS for name, values in REFUSED.items() for value in values),
        *((each, name, value) for each, of in REFUSED_BY.items() for name, values in of.items() for value in values),
    ],
)
def test_values_out_of_range_are_named(config_class, name, value):
    """Given by the user, or in a damaged file."""
    for make in (lambda options: config_class(**options), config_class.from_dict):
        with pytest.raises((ValueError, StrictDataclassError)) as raised:
            make({name: value})
        assert {name, config_class.attribute_map.get(name, name)} & set(re.findall(r"\w+", str(raised.value)))
        assert isinstance(value, list | dict) or repr(value).strip("'")[:9] in str(raised.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            (name, value)
            for name in ("confidence_temperature", "spellings_file")
            for value in REFUSED_BY[AtentaEncoderConfig][name]
        ),
        *(("length_ratios", value) for value in REFUSED_BY[AtentaEncoderDecoderConfig]["length_ratios"]),
    ],
)
def test_what_is_refused_is_refused_without_transformers_too(tmp_path, name, value):
    (tmp_path / "config.json").write_text(json.dumps({name: value}), encoding="utf-8")
    with pytest.raises(ValueError, match=name):
        read_config(tmp_path)


TAGGER = {"id2label": {0: "a", 1: "á"}, "window_length": 8}
POOLED = {"downsampling_rate": 4}
NO_VARIANTS = (
    {},
    "a",
    {"ab": "aá"},
    {"a": 5},
    {"a": ["ab"]},
    {"a": []},
    {"a": [5]},
    {"a": ""},
    {"a": "ã"},
    {"\ud800": "a"},
)


@pytest.mark.parametrize(
    ("config_class", "options", "message"),
    [
        (AtentaDecoderConfig, {"hidden_size": 30, "num_attention_heads": 4}, "num_attention_heads=4.*hidden_size=30"),
        (AtentaDecoderConfig, {"hidden_size": 33, "num_attention_heads": 3}, "hidden_size=33.*sinusoidal"),
        (AtentaDecoderConfig, {"head_dim": 7, "position_embedding_type": "rotary"}, "head_dim=7.*rotary"),
        (AtentaDecoderConfig, {"vocab_size": 2}, "eos_token_id=2.* 0 to 1"),
        (AtentaPairVotesConfig, {"vocab_size": 2}, "eos_token_id=2.* 0 to 1"),
        (AtentaDecoderConfig, {"droput": 0.1}, "'droput'.*'dropout'"),
        (AtentaEncoderConfig, {"num_attention_head": 4}, "'num_attention_head'.*'num_attention_heads'"),
        (AtentaPairVotesConfig, {"smothing": 1.0}, "'smothing'.*'smoothing'"),
        (AtentaEncoderConfig, {"shared_ngram_sizes": [3], "type_vocab_size": 0}, "type_vocab_size=0"),
        (AtentaEncoderConfig, {"downsampling_size": 256}, "downsampling_size=256.*downsampling_rate"),
        (AtentaEncoderConfig, POOLED | {"downsampling_heads": 3}, "downsampling_heads=3.*downsampling_size=512"),
        (
            AtentaEncoderConfig,
            POOLED | {"downsampling_size": 24, "position_embedding_type": "rotary"},
            "downsampling_size / downsampling_heads = 3 is odd",
        ),
        (AtentaEncoderConfig, {"character_variants": {"a": "á"}}, "window_length"),
        *(
            (AtentaEncoderDecoderConfig, {"transducer": True, "eos_token_id": end}, "eos_token_id")
            for end in (None, [2], [2, 3])
        ),
        *(
            (AtentaEncoderDecoderConfig, {"rotary_cross_attention": True, "position_embedding_type": kind}, kind)
            for kind in ("sinusoidal", "learned")
        ),
        *((AtentaEncoderConfig, TAGGER | {"character_variants": of}, "character_variants") for of in NO_VARIANTS),
        *((AtentaEncoderConfig, {name: 5}, f"'{name}'") for name in ("save_pretrained", "__class__")),
    ],
)
def test_options_that_contradict_each_other_are_named(config_class, options, message):
    with pytest.raises((ValueError, StrictDataclassError), match=f"(?s){message}"):
        config_class(**options)


def test_a_damaged_file_is_one_line_with_its_folder(tmp_path):
    for name, value in {"hidden_size": "512", "vocab_size": 0, "num_labels": -1, "ngram_sizes": ["x" * 5000]}.items():
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "atenta_encoder", name: value}))
        with pytest.raises(ValueError, match=f"{re.escape(str(tmp_path))}.*{name}") as raised:
            AutoConfig.from_pretrained(tmp_path)
        assert "\n" not in str(raised.value)
        assert len(str(raised.value)) < 1000


def test_arguments_of_loading_are_checked_as_those_of_the_class_are(tmp_path):
    tiny_config(AtentaDecoderConfig).save_pretrained(tmp_path)
    for options, message in (({"dropout": 1.0}, "dropout"), ({"hiden_size": 64}, "Did you mean 'hidden_size'")):
        with pytest.raises(ValueError, match=message):
            AtentaDecoderConfig.from_pretrained(tmp_path, **options)
    assert AtentaDecoderConfig.from_pretrained(tmp_path, dropout=0.2).dropout == 0.2
    tiny_model(AtentaDecoderForCausalLM).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="dropout"):
        AtentaDecoderForCausalLM.from_pretrained(tmp_path, dropout=1.0)


def test_a_value_nested_too_deeply_is_refused():
    nested = []
    for _ in range(5000):
        nested = [nested]
    for name in ("window_length", "trained_by"):
        with pytest.raises(ValueError, match="nested"):
            AtentaEncoderConfig.from_dict({name: nested})


@pytest.mark.parametrize("name", ["attn_implementation", "_attn_implementation", "experts_implementation"])
def test_a_saved_configuration_chooses_no_code_of_the_hub(name):
    with pytest.raises(ValueError, match=f"{name}='someone/kernel'"):
        AtentaEncoderConfig.from_dict({name: "someone/kernel"})
    assert AtentaEncoderConfig.from_dict({name: "eager"})._attn_implementation in ("eager", None)


@every_config
def test_allowed_values(config_class):
    for hidden_act in ACT2FN:
        assert config_class(hidden_act=hidden_act).hidden_act == hidden_act
    assert config_class(hidden_size=30, num_attention_heads=4, head_dim=8).head_dim == 8
    assert config_class(hidden_size=33, num_attention_heads=3, position_embedding_type="learned").head_dim == 11
    assert config_class(dropout=0, pad_token_id=None, eos_token_id=[2, 3]).eos_token_id == [2, 3]
    assert AtentaPairVotesConfig(vocab_size=2_097_151).vocab_size ** 3 < 2**63 <= 2_097_152**3


OTHER_LAYOUT = {"hidden_size": 64, "num_attention_heads": 2, "norm_first": True, "position_embedding_type": "rotary"}
OTHER_OPTIONS = dict.fromkeys(CONFIGS, OTHER_LAYOUT) | {
    AtentaPairVotesConfig: {"vocab_size": 30_000, "max_distance": 8, "smoothing": 1, "pad_token_id": None}
}


@pytest.mark.parametrize("config_class", OTHER_OPTIONS)
def test_saving_and_loading_keeps_all_options_and_those_of_other_programs(config_class, tmp_path):
    others = {"trained_by": "a program", "num_labels": 5, "summary": "a text"}
    config = config_class(**OTHER_OPTIONS[config_class], **others)
    config.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == config_class.model_type
    for loaded in (config_class.from_pretrained(tmp_path), AutoConfig.from_pretrained(tmp_path)):
        assert type(loaded) is config_class
        assert loaded.to_json_string() == config.to_json_string()
        assert {name: getattr(loaded, name) for name in others} == others
    assert config_class.from_dict(json.loads(config.to_json_string())).to_dict() == config.to_dict()


def test_what_is_known_elsewhere_of_configurations_is_the_same(tmp_path):
    """Engines check `config.json` without transformers, and recipes before they load it."""
    assert saved_model._TEXT_FILE == configuration_encoder._TEXT_FILE
    kinds = get_args(AtentaDecoderConfig.__dataclass_fields__["position_embedding_type"].type)
    assert len(kinds) > 1
    for kind in kinds:
        AtentaDecoderConfig(position_embedding_type=kind).save_pretrained(tmp_path)
        assert read_config(tmp_path)["position_embedding_type"] == kind
        assert options_of(StackArguments)["position_embedding_type"].range.holds(kind)


def test_a_configuration_says_where_it_was_loaded_from(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "atenta_encoder", "_name_or_path": "/etc"}')
    assert AutoConfig.from_pretrained(tmp_path).name_or_path == str(tmp_path)


def test_num_hidden_layers_is_another_name_for_encoder_layers():
    config = AtentaEncoderDecoderConfig(num_hidden_layers=4, decoder_layers=2)
    assert (config.encoder_layers, config.num_hidden_layers, config.decoder_layers) == (4, 4, 2)
    config.num_hidden_layers = 3
    assert config.encoder_layers == 3
    assert "num_hidden_layers" not in config.to_dict()
    assert config.get_text_config(decoder=True).num_hidden_layers == 2
