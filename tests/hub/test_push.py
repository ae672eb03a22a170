"""A model pushed to a Hub loads from it in a process without the package."""

import json

import pytest
from huggingface_hub import ModelCard

from atenta import (
    AtentaDecoderForCausalLM,
    AtentaEncoderDecoderForConditionalGeneration,
    AtentaEncoderForTokenClassification,
    AtentaPairVotesForCausalLM,
)
from atenta.registration import AUTO_CLASSES
from support.clean_process import run_function
from support.local_hub import LocalHub, local_hub
from support.saved import save_with_tokenizer

REPOSITORY = "tester/tiny-model"
BASES = {"configuration_base.py", "modeling_base.py", "generation_options.py"}
CODE = BASES | {"attention.py", "block.py", "embeddings.py", "modeling_transformer.py", "positions.py"}
CODE_OF_VOTES = BASES | {"configuration_pair_votes.py", "modeling_pair_votes.py", "vote_table.py"}


@pytest.fixture
def hub():
    with local_hub() as server:
        yield server


@pytest.fixture
def run_with(hub, tmp_path):
    """Run a function in a process that uses the local Hub and has an empty cache."""

    def run(function, *arguments, with_package):
        environment = {
            "HF_ENDPOINT": hub.url,
            "HF_TOKEN": "hf_local",
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_OFFLINE": "0",
            "NO_PROXY": "127.0.0.1",
        }
        home = tmp_path / function.__name__
        home.mkdir(exist_ok=True)
        return run_function(function, *arguments, home=home, with_package=with_package, environment=environment)

    return run


def push_tokenizer_and_model(folder: str, auto_class: str, repository: str) -> None:
    import transformers

    import atenta  # noqa: F401

    transformers.AutoTokenizer.from_pretrained(folder).push_to_hub(repository)
    getattr(transformers, auto_class).from_pretrained(folder).push_to_hub(repository, tags=["mine"])


def save_and_push(folder: str, auto_class: str, repository: str) -> None:
    from pathlib import Path

    import transformers

    import atenta  # noqa: F401

    model = getattr(transformers, auto_class).from_pretrained(folder)
    model.save_pretrained(Path(folder).parent / "saved", push_to_hub=True, repo_id=repository)


def push_configuration(folder: str, repository: str) -> None:
    from pathlib import Path

    import transformers

    import atenta  # noqa: F401

    config = transformers.AutoConfig.from_pretrained(folder)
    config.save_pretrained(Path(folder).parent / "configuration", push_to_hub=True, repo_id=repository)


def load_and_run(repository: str, auto_class: str, folder: str) -> None:
    import re

    import torch
    import transformers
    from huggingface_hub import ModelCard

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


def card_of(hub: LocalHub) -> ModelCard:
    return ModelCard(hub.storage.files(REPOSITORY)["README.md"].decode())


@pytest.mark.parametrize(
    ("auto_class", "model_class"),
    [
        ("AutoModelForTokenClassification", AtentaEncoderForTokenClassification),
        ("AutoModelForCausalLM", AtentaDecoderForCausalLM),
        ("AutoModelForSeq2SeqLM", AtentaEncoderDecoderForConditionalGeneration),
        ("AutoModelForCausalLM", AtentaPairVotesForCausalLM),
    ],
)
def test_pushed_model_loads_without_the_package(auto_class, model_class, hub, run_with, tmp_path):
    model = save_with_tokenizer(model_class, tmp_path / "model")
    run_with(push_tokenizer_and_model, tmp_path / "model", auto_class, REPOSITORY, with_package=True)

    files = hub.storage.files(REPOSITORY)
    assert {"model.safetensors", "config.json", "README.md", "tokenizer.json", "tokenizer_config.json"} <= set(files)
    code = {name for name in files if name.endswith(".py")}
    assert code == CODE_OF_VOTES if model_class is AtentaPairVotesForCausalLM else code >= CODE
    assert ("generation_config.json" in files) == model.can_generate()
    assert not [name for name in files if name.endswith((".bin", ".pt", ".pth", ".pkl", ".pickle"))]
    auto_map = json.loads(files["config.json"])["auto_map"]
    assert set(auto_map) == {"AutoConfig", *AUTO_CLASSES[model_class.config_class]}
    assert "auto_map" not in json.loads(files["tokenizer_config.json"])
    card = card_of(hub)
    assert f'"{REPOSITORY}"' in card.text
    assert "## Limits" in card.text  # and so not the generic card that came with the tokenizer
    assert f"`{model_class.__name__}`" in card.text
    assert {"atenta", "mine"} <= set(card.data.tags)

    run_with(load_and_run, REPOSITORY, auto_class, tmp_path / "model", with_package=False)


def test_a_model_that_is_saved_and_pushed_has_our_card(hub, run_with, tmp_path):
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "model")
    run_with(save_and_push, tmp_path / "model", "AutoModelForCausalLM", REPOSITORY, with_package=True)
    assert "## Limits" in card_of(hub).text
    assert "modeling_decoder.py" in hub.storage.files(REPOSITORY)


def test_card_that_a_person_wrote_is_kept(hub, run_with, tmp_path):
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "model")
    arguments = (tmp_path / "model", "AutoModelForCausalLM", REPOSITORY)
    run_with(push_tokenizer_and_model, *arguments, with_package=True)
    written = b"---\nlicense: mit\ntags:\n- mine\n---\n\nMine.\n"
    repository = hub.storage.repositories[REPOSITORY]
    repository.commits[repository.head]["README.md"] = hub.storage.add(written)
    run_with(push_tokenizer_and_model, *arguments, with_package=True)
    assert "Mine." in card_of(hub).text
    assert "## Limits" not in card_of(hub).text


def test_pushed_configuration_has_its_code(hub, run_with, tmp_path):
    save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path / "model")
    run_with(push_configuration, tmp_path / "model", REPOSITORY, with_package=True)
    files = hub.storage.files(REPOSITORY)
    assert {"config.json", "modeling_decoder.py", "configuration_decoder.py"} <= set(files)
