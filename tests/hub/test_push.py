"""A model pushed to a Hub loads from it in a process without the package."""

import json

import pytest
from huggingface_hub import ModelCard, constants

from atenta import (
    AtentaDecoderConfig,
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaPairVotesForCausalLM,
    AtentaTokenizer,
    Spellings,
)
from atenta.registration import AUTO_CLASSES
from support.clean_process import run_function
from support.local_hub import LocalHub, used_hub
from support.models import tiny_config, tiny_model
from support.saved import save_with_tokenizer
from support.taggers import BASES as BASES_OF_LETTERS
from support.taggers import make_restorer

REPOSITORY = "tester/tiny-model"
BASES = {"configuration_base.py", "modeling_base.py", "generation_options.py"}
CODE = BASES | {"attention.py", "block.py", "embeddings.py", "modeling_transformer.py", "positions.py"}
CODE_OF_VOTES = BASES | {"configuration_pair_votes.py", "modeling_pair_votes.py", "vote_table.py"}


@pytest.fixture
def hub(monkeypatch, tmp_path):
    with used_hub(monkeypatch) as server:
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
        yield server


def load_and_run(*asked: str) -> None:
    """Load models, each given by its repository, its auto class and its folder, in one process."""
    import re

    import torch
    import transformers
    from huggingface_hub import ModelCard

    for repository, auto_class, folder in zip(asked[::3], asked[1::3], asked[2::3]):
        tokenizer = transformers.AutoTokenizer.from_pretrained(repository, trust_remote_code=False)
        model = getattr(transformers, auto_class).from_pretrained(repository, trust_remote_code=True)
        assert type(model).__module__.startswith("transformers_modules."), type(model).__module__
        inputs = tokenizer(["Olá", "Não há de quê"], padding=True, return_tensors="pt")
        if model.config.is_encoder_decoder:
            inputs["decoder_input_ids"] = inputs["input_ids"]
        with torch.no_grad():
            logits = model(**inputs).logits
        local = getattr(transformers, auto_class).from_pretrained(folder, trust_remote_code=True)
        with torch.no_grad():
            torch.testing.assert_close(logits, local(**inputs).logits, rtol=0, atol=0)
        assert tokenizer.is_fast
        assert len(logits) == 2
        exec(re.search(r"```python\n(.*?)```", ModelCard.load(repository).text, re.DOTALL).group(1))


def card_of(hub: LocalHub, repository: str = REPOSITORY) -> ModelCard:
    return ModelCard(hub.storage.files(repository)["README.md"].decode())


def test_pushed_models_load_without_the_package(hub, tmp_path):
    models = {
        "AutoModelForSeq2SeqLM": AtentaEncoderDecoderForConditionalGeneration,
        "AutoModelForCausalLM": AtentaPairVotesForCausalLM,
    }
    asked = []
    for auto_class, model_class in models.items():
        repository, folder = f"tester/{model_class.config_class.model_type}", tmp_path / auto_class
        push(hub, model_class, folder, repository)
        asked += [repository, auto_class, folder]
    environment = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_OFFLINE": "0"}
    run_function(load_and_run, *asked, home=tmp_path, environment=environment)


def push(hub, model_class, folder, repository):
    """Push a model, and check what the repository then has."""
    model = save_with_tokenizer(model_class, folder)
    AtentaTokenizer.from_pretrained(folder).push_to_hub(repository)
    model.push_to_hub(repository, tags=["mine"])
    files = hub.storage.files(repository)
    assert {"model.safetensors", "config.json", "README.md", "tokenizer.json", "tokenizer_config.json"} <= set(files)
    code = {name for name in files if name.endswith(".py")}
    assert code == CODE_OF_VOTES if model_class is AtentaPairVotesForCausalLM else code >= CODE
    assert ("generation_config.json" in files) == model.can_generate()
    assert not [name for name in files if name.endswith((".bin", ".pt", ".pth", ".pkl", ".pickle"))]
    auto_map = json.loads(files["config.json"])["auto_map"]
    assert set(auto_map) == {"AutoConfig", *AUTO_CLASSES[model_class.config_class]}
    assert "auto_map" not in json.loads(files["tokenizer_config.json"])
    card = card_of(hub, repository)
    assert f'"{repository}"' in card.text
    assert "## Limits" in card.text  # and so not the generic card that came with the tokenizer
    assert f"`{model_class.__name__}`" in card.text
    assert {"atenta", "mine"} <= set(card.data.tags)


def test_a_card_is_ours_until_a_person_writes_one(hub, tmp_path):
    model = tiny_model(AtentaDecoderForCausalLM)
    model.save_pretrained(tmp_path / "saved", push_to_hub=True, repo_id=REPOSITORY)
    assert "## Limits" in card_of(hub).text
    repository = hub.storage.repositories[REPOSITORY]
    written = b"---\nlicense: mit\ntags:\n- mine\n---\n\nMine.\n"
    repository.commits[repository.head]["README.md"] = hub.storage.add(written)
    model.push_to_hub(REPOSITORY)
    assert "Mine." in card_of(hub).text
    assert "## Limits" not in card_of(hub).text


def test_a_restorer_is_pushed_with_its_spellings_or_not_at_all(hub):
    restorer = make_restorer(spellings=Spellings(BASES_OF_LETTERS, {"acao": ("ação",)}))
    restorer.model.push_to_hub(REPOSITORY)
    assert hub.storage.files(REPOSITORY)["spellings.txt"] == "ação\n".encode()
    restorer.model.spellings = None
    with pytest.raises(ValueError, match=r"spellings\.txt .*CharacterRestorer"):
        restorer.model.push_to_hub("tester/other")
    assert "config.json" not in hub.storage.files("tester/other")


def test_pushed_configuration_has_its_code(hub, tmp_path):
    tiny_config(AtentaDecoderConfig).save_pretrained(tmp_path / "saved", push_to_hub=True, repo_id=REPOSITORY)
    assert {"config.json", "modeling_decoder.py", "configuration_decoder.py"} <= set(hub.storage.files(REPOSITORY))
