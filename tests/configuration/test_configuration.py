"""The hyper-parameters: defaults, saving, and an error for each wrong value."""

import json
import math
import re

import pytest
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig
from transformers.activations import ACT2FN

from atenta import AtentaDecoderConfig, AtentaEncoderConfig, AtentaEncoderDecoderConfig, AtentaTokenizer

CONFIGS = (AtentaEncoderConfig, AtentaDecoderConfig, AtentaEncoderDecoderConfig)
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
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
FAMILY_DEFAULTS = {
    AtentaEncoderConfig: {"num_hidden_layers": 6, "type_vocab_size": 2, "classifier_dropout": None},
    AtentaDecoderConfig: {"num_hidden_layers": 6, "use_cache": True, "classifier_dropout": None},
    AtentaEncoderDecoderConfig: {
        "encoder_layers": 6,
        "decoder_layers": 6,
        "num_hidden_layers": 6,
        "use_cache": True,
        "decoder_start_token_id": 1,
        "is_encoder_decoder": True,
    },
}


@every_config
def test_defaults_are_the_base_model(config_class):
    config = config_class()
    expected = BASE_MODEL | FAMILY_DEFAULTS[config_class]
    assert {name: getattr(config, name) for name in expected} == expected


@every_config
def test_default_vocabulary_is_that_of_the_default_tokenizer(config_class):
    family = config_class.model_type.removeprefix("atenta_").replace("_", "-")
    assert config_class().vocab_size == len(AtentaTokenizer.from_alphabet(family=family))


def test_model_types():
    assert [config_class.model_type for config_class in CONFIGS] == [
        "atenta_encoder",
        "atenta_decoder",
        "atenta_encoder_decoder",
    ]


@every_config
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden_size": 30, "num_attention_heads": 4}, r"num_attention_heads=4 .*hidden_size=30.* give head_dim"),
        ({"num_attention_heads": 0}, r"num_attention_heads=0"),
        (
            {"hidden_size": 33, "num_attention_heads": 3},
            r"hidden_size=33 is odd; .*even number for sinusoidal",
        ),
        (
            {"head_dim": 7, "position_embedding_type": "rotary"},
            r"head_dim=7 is odd; .*even number for rotary",
        ),
        ({"vocab_size": 0}, r"vocab_size=0; expected at least 1"),
        ({"hidden_size": 0}, r"hidden_size=0; expected at least 1"),
        ({"num_hidden_layers": 0}, r"(num_hidden|encoder)_layers=0; expected at least 1"),
        ({"intermediate_size": -1}, r"intermediate_size=-1; expected at least 1"),
        ({"head_dim": 0}, r"head_dim=0; expected at least 1"),
        ({"max_position_embeddings": 0}, r"max_position_embeddings=0; expected at least 1"),
        ({"dropout": 1.0}, r"dropout=1\.0; expected a probability from 0 up to, but not including, 1"),
        ({"dropout": -0.1}, r"dropout=-0\.1; expected a probability from 0 up to"),
        ({"attention_dropout": 2}, r"attention_dropout=2; expected a probability from 0 up to"),
        *(
            ({name: value}, rf"{name}={value}; expected a finite number above 0")
            for name in ("layer_norm_eps", "position_embedding_theta", "initializer_range")
            for value in (0.0, -1.0, math.inf, math.nan)
        ),
        ({"dropout": math.nan}, r"dropout=nan; expected a probability"),
        ({"attention_dropout": math.inf}, r"attention_dropout=inf; expected a probability"),
        ({"hidden_act": "rellu"}, r"hidden_act='rellu' is unknown; expected one of .*gelu_pytorch_tanh.*relu.*"),
        ({"position_embedding_type": "relative"}, r"'sinusoidal', 'learned', 'rotary'.*got relative"),
        ({"vocab_size": 2}, r"eos_token_id=2 is outside the vocabulary; expected an id from 0 to 1"),
        ({"pad_token_id": -1}, r"pad_token_id=-1 is outside"),
        ({"bos_token_id": 5000}, r"bos_token_id=5000 is outside"),
        ({"eos_token_id": [2, 5000]}, r"eos_token_id=5000 is outside"),
        ({"hidden_size": "512"}, r"hidden_size.*int.*str"),
        ({"norm_first": 1}, r"norm_first.*bool.*int"),
        ({"dropout": "0.1"}, r"dropout.*str"),
        ({"droput": 0.1}, r"has no option 'droput'\. Did you mean 'dropout'\?"),
        ({"hiden_size": 64}, r"has no option 'hiden_size'\. Did you mean 'hidden_size'\?"),
        ({"num_attention_head": 4}, r"has no option 'num_attention_head'\. Did you mean 'num_attention_heads'\?"),
    ],
    ids=str,
)
def test_errors_give_the_value_and_what_is_allowed(config_class, options, message):
    with pytest.raises((ValueError, StrictDataclassError), match=f"(?s){message}"):
        config_class(**options)


@pytest.mark.parametrize(
    ("config_class", "options", "message"),
    [
        (AtentaEncoderConfig, {"type_vocab_size": -1}, r"type_vocab_size=-1; expected at least 0 \(no segments\)"),
        (
            AtentaEncoderConfig,
            {"classifier_dropout": 1.5},
            r"classifier_dropout=1\.5; .*probability from 0 up to",
        ),
        (
            AtentaDecoderConfig,
            {"classifier_dropout": 1.5},
            r"classifier_dropout=1\.5; .*probability from 0 up to",
        ),
        (AtentaEncoderConfig, {"classifier_dropout": math.nan}, r"classifier_dropout=nan; .*probability"),
        *(
            (
                AtentaEncoderConfig,
                {"confidence_temperature": value},
                rf"confidence_temperature={value}; expected a finite number above 0",
            )
            for value in (0, -1.0, math.inf, math.nan)
        ),
        *(
            (AtentaEncoderDecoderConfig, {"length_ratios": ratios}, r"length_ratios=.*; expected two finite numbers")
            for ratios in ([], [1.0], [2.0, 1.0], [-1.0, 1.0], [0.5, math.inf], [math.nan, 1.0], [0.5, math.nan])
        ),
        (AtentaEncoderDecoderConfig, {"window_length": 0}, r"window_length=0; expected at least 1 token"),
        (AtentaEncoderDecoderConfig, {"decoder_layers": 0}, r"decoder_layers=0; expected at least 1"),
        (AtentaEncoderDecoderConfig, {"encoder_layers": 0}, r"encoder_layers=0.* at least 1|num_hidden_layers=0"),
        (AtentaEncoderDecoderConfig, {"decoder_start_token_id": 420}, r"decoder_start_token_id=420 is outside"),
    ],
    ids=str,
)
def test_errors_of_one_family(config_class, options, message):
    with pytest.raises((ValueError, StrictDataclassError), match=f"(?s){message}"):
        config_class(**options)


DAMAGED = {
    "spellings_file": [
        *(
            "../.bashrc",
            "a/b.txt",
            "/etc/passwd",
            "/dev/zero",
            "..",
            ".",
            "",
            ".hidden.txt",
            "a\\b.txt",
            "C:a.txt",
            "*.txt",
        ),
        *(
            "config.json",
            "a.py",
            "model.safetensors",
            "nul.txt",
            "a\nb.txt",
            "a.txt\x00",
            "~.txt",
            "[a].txt",
            5,
            ["a.txt"],
        ),
    ],
    "window_length": [-1, 10**12, math.nan, True, "8"],
    "id2label": [{}, {"a": "O"}, {"1": "O"}, {"0": 5}, ["O"], {"0": "O", "00": "P"}, {"0": "O", "1": "O"}],
    "label2id": [{"O": "a"}, {"O": -1}, {"O": [0]}, ["O"]],
    "num_labels": [0, -1, 10**12, 2.0, "2", True, []],
    "dtype": ["float33", "load", "nn", 5, ["float32"]],
    "torch_dtype": ["float33", {}],
    "architectures": ["AtentaEncoderModel", [5]],
    "problem_type": ["guess", []],
    "auto_map": [
        *("x", [], {"AutoConfig": 5}, {"AutoConfig": "/tmp/code.Class"}),
        *({"AutoConfig": "../code.Class"}, {"AutoModel": "a/b.Class"}, {"AutoTokenizer": ["a.A", "../b.B"]}),
    ],
    "custom_pipelines": [
        None,
        5,
        ["a"],
        {"a": None},
        {"a": {"impl": "../code.Class"}},
        {"a": {"impl": "a.A", "pt": "x"}},
    ],
    "is_encoder_decoder": [True, None, "no"],
    "save_pretrained": [5],
    "quantization_config": [5, []],
    "text_config": [{}],
    "layer_types": [["full_attention"], math.nan],
    "rope_parameters": ["a"],
    "__class__": ["x"],
    "num_hidden_layers": [10**9, 10**30, math.inf],
    "hidden_size": [10**9],
    "vocab_size": [10**9],
    "max_position_embeddings": [10**30],
    "position_embedding_theta": [10**400, 1e300, 1e-300],
    "eos_token_id": [[], [True], {}],
    "ngram_sizes": [[10**9], [True], [[]], {}],
    "conv_kernel_size": [10**9 + 1],
    "confidence_temperature": [1e-300, 1e300, 10**400, True],
    "character_variants": [{}, {"a": 5}, {"a": ["a"]}, "a", {"\ud800": "a"}, {"a": ""}],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in DAMAGED.items() for value in values])
def test_a_damaged_configuration_names_the_option(name, value):
    labels = {"id2label": {"0": "a", "1": "á"}, "window_length": 8} if name == "character_variants" else {}
    with pytest.raises((ValueError, StrictDataclassError), match=re.escape(name)):
        AtentaEncoderConfig.from_dict({**labels, name: value})


def test_options_of_other_families_are_refused():
    with pytest.raises(ValueError, match=r"spellings_file='\*\.txt' .*AtentaDecoderConfig"):
        AtentaDecoderConfig.from_dict({"spellings_file": "*.txt"})
    with pytest.raises(ValueError, match="type_vocab_size='5'"):
        AtentaEncoderDecoderConfig.from_dict({"type_vocab_size": "5"})


def test_a_damaged_file_is_one_line_with_its_folder(tmp_path):
    for name, value in {"hidden_size": "512", "vocab_size": 0, "num_labels": -1, "ngram_sizes": ["x" * 5000]}.items():
        (tmp_path / "config.json").write_text(json.dumps({"model_type": "atenta_encoder", name: value}))
        with pytest.raises(ValueError, match=f"{re.escape(str(tmp_path))}.*{name}") as raised:
            AutoConfig.from_pretrained(tmp_path)
        assert "\n" not in str(raised.value)
        assert len(str(raised.value)) < 1000


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


def test_a_configuration_says_where_it_was_loaded_from(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "atenta_encoder", "_name_or_path": "/etc"}')
    assert AutoConfig.from_pretrained(tmp_path).name_or_path == str(tmp_path)


@every_config
def test_allowed_values(config_class):
    for hidden_act in ACT2FN:
        assert config_class(hidden_act=hidden_act).hidden_act == hidden_act
    assert config_class(hidden_size=30, num_attention_heads=4, head_dim=8).head_dim == 8
    assert config_class(hidden_size=33, num_attention_heads=3, position_embedding_type="learned").head_dim == 11
    assert config_class(dropout=0, pad_token_id=None, eos_token_id=[2, 3]).eos_token_id == [2, 3]


@every_config
def test_saving_and_loading_keeps_all_options(config_class, tmp_path):
    config = config_class(hidden_size=64, num_attention_heads=2, norm_first=True, position_embedding_type="rotary")
    config.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["model_type"] == config_class.model_type
    for loaded in (config_class.from_pretrained(tmp_path), AutoConfig.from_pretrained(tmp_path)):
        assert type(loaded) is config_class
        assert loaded.to_json_string() == config.to_json_string()
    assert config_class.from_dict(json.loads(config.to_json_string())).to_dict() == config.to_dict()


@every_config
def test_unknown_options_are_kept(config_class, tmp_path):
    """As in transformers, options stored by other programs are saved and loaded."""
    config = config_class(trained_by="a program", num_labels=5, summary="a text")
    config.save_pretrained(tmp_path)
    loaded = config_class.from_pretrained(tmp_path)
    assert (loaded.trained_by, loaded.num_labels, loaded.summary) == ("a program", 5, "a text")


def test_num_hidden_layers_is_another_name_for_encoder_layers():
    config = AtentaEncoderDecoderConfig(num_hidden_layers=4, decoder_layers=2)
    assert (config.encoder_layers, config.num_hidden_layers, config.decoder_layers) == (4, 4, 2)
    config.num_hidden_layers = 3
    assert config.encoder_layers == 3
    assert "num_hidden_layers" not in config.to_dict()
    assert config.get_text_config(decoder=True).num_hidden_layers == 2


@every_config
def test_generation_options_are_not_in_the_configuration(config_class):
    assert {"max_length", "num_beams", "do_sample", "temperature"}.isdisjoint(config_class().to_dict())
