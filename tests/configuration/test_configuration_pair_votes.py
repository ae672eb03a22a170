"""The options of pair votes: defaults, saving, and an error for each wrong value."""

import pytest
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig

from atenta import AtentaPairVotesConfig, AtentaTokenizer


def test_defaults():
    config = AtentaPairVotesConfig()
    assert config.vocab_size == len(AtentaTokenizer.from_alphabet(family="decoder"))
    assert (config.max_distance, config.num_pairs, config.num_triples) == (None, 0, 0)
    assert (config.pad_token_id, config.bos_token_id, config.eos_token_id) == (0, 1, 2)
    for option_of_a_transformer in ("hidden_size", "num_attention_heads", "dropout", "position_embedding_type"):
        assert not hasattr(config, option_of_a_transformer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vocab_size": 0}, r"vocab_size=0; expected at least 1"),
        ({"vocab_size": 2_097_152}, r"vocab_size=2097152; expected at most 2097151"),
        ({"max_distance": 0}, r"max_distance=0; expected at least 1, or None"),
        ({"max_distance": 1.5}, r"max_distance.*int.*float"),
        ({"smoothing": 0}, r"smoothing=0; expected a finite number of at least 1e-12"),
        ({"smoothing": -1.0}, r"smoothing=-1\.0"),
        ({"smoothing": float("inf")}, r"smoothing=inf"),
        ({"smoothing": float("nan")}, r"smoothing=nan"),
        ({"num_pairs": -1}, r"num_pairs=-1; expected at least 0 \(nothing counted\)"),
        ({"num_triples": -1}, r"num_triples=-1"),
        ({"vocab_size": 2}, r"eos_token_id=2 is outside the vocabulary"),
        ({"smothing": 1.0}, r"has no option 'smothing'\. Did you mean 'smoothing'\?"),
        ({"max_distances": 8}, r"has no option 'max_distances'\. Did you mean 'max_distance'\?"),
    ],
    ids=str,
)
def test_errors_give_the_value_and_what_is_allowed(options, message):
    with pytest.raises((ValueError, StrictDataclassError), match=f"(?s){message}"):
        AtentaPairVotesConfig(**options)


def test_largest_vocabulary_is_allowed():
    assert AtentaPairVotesConfig(vocab_size=2_097_151).vocab_size ** 3 < 2**63
    assert 2_097_152**3 >= 2**63


def test_saving_and_loading_keeps_all_options(tmp_path):
    config = AtentaPairVotesConfig(vocab_size=30_000, max_distance=8, smoothing=1, pad_token_id=None)
    config.save_pretrained(tmp_path)
    loaded = AutoConfig.from_pretrained(tmp_path)
    assert type(loaded) is AtentaPairVotesConfig
    assert loaded.to_json_string() == config.to_json_string()
