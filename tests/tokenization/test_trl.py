"""trl writes `<eos>` into texts. The model is given id 2 if its tokenizer is loaded to read special tokens there."""

from itertools import pairwise

import pytest
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer, SFTConfig, SFTTrainer

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from support.models import tiny_model

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # trl's use of transformers

BOS, EOS = 1, 2
CONFIGS = {SFTTrainer: SFTConfig, DPOTrainer: DPOConfig}
TOKENIZER = AtentaTokenizer.from_alphabet("abceosu<>:", family="decoder")
TOKENIZER.chat_template = (
    "{{ bos_token }}{% for turn in messages %}{{ turn.role[0] }}:{{ turn.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}"
)


def ids(*parts):
    """Return the ids of characters, given as texts, and of special tokens, given as ids."""
    characters = [TOKENIZER.convert_tokens_to_ids(list(part)) if isinstance(part, str) else [part] for part in parts]
    return [index for part in characters for index in part]


def user(content):
    return {"role": "user", "content": content}


def assistant(content):
    return {"role": "assistant", "content": content}


@pytest.fixture
def folder(tmp_path):
    """Save a tiny decoder with its tokenizer, and return the folder."""
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1}
    tiny_model(AtentaDecoderForCausalLM, vocab_size=len(TOKENIZER), **sizes).save_pretrained(tmp_path / "model")
    TOKENIZER.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def train(folder, tmp_path):
    """Return a function that trains by trl, and returns the model and the batches that it was given."""

    def run(trainer_class, rows, tokenizer, **options):
        options = {"max_steps": 2, "per_device_train_batch_size": 2, "disable_tqdm": True} | options
        arguments = CONFIGS[trainer_class](
            str(tmp_path / "run"), use_cpu=True, bf16=False, report_to="none", save_strategy="no", **options
        )
        model, batches = AutoModelForCausalLM.from_pretrained(folder), []
        # trl's older versions make the reference from transformers' own classes only.
        reference = {"ref_model": AutoModelForCausalLM.from_pretrained(folder)} if trainer_class is DPOTrainer else {}
        trainer = trainer_class(
            model, args=arguments, train_dataset=Dataset.from_list(rows), processing_class=tokenizer, **reference
        )
        hook = model.register_forward_pre_hook(lambda _, __, inputs: batches.append(dict(inputs)), with_kwargs=True)
        trainer.train()
        hook.remove()
        return model, batches

    return run


def sequences(batches, name="input_ids"):
    """Yield each text in the batches, without padding; packed texts one by one."""
    for batch in batches:
        for row, tokens in enumerate(batch[name]):
            if batch.get("attention_mask") is not None:
                yield tokens[batch["attention_mask"][row].bool()].tolist()
            else:
                starts = [*torch.nonzero(batch["position_ids"][row] == 0).flatten().tolist(), len(tokens)]
                yield from (tokens[start:end].tolist() for start, end in pairwise(starts))


PLAIN = [{"text": "ab"}, {"text": "acc"}]
READ = [ids(BOS, "ab", EOS), ids(BOS, "acc", EOS)]
CHATS = [{"messages": [user("b"), assistant("c")]}, {"messages": [user("cc"), assistant("e")]}]
OF_CHATS = [ids(BOS, "u:b", EOS, "a:c", EOS), ids(BOS, "u:cc", EOS, "a:e", EOS)]
WRAPPED = {"packing": True, "packing_strategy": "wrapped", "max_length": 9, "shuffle_dataset": False}
OWN = [{"input_ids": ids(BOS, "ab", EOS)}, {"input_ids": ids(BOS, "a<eos>b", EOS)}]  # a corpus may contain `<eos>`
PARTS = [{"prompt": "a", "completion": "b"}, {"prompt": "a", "completion": "cc"}]
PREFERENCES = [{"prompt": "a", "chosen": "b", "rejected": "cc"}] * 2
CASES = {
    "plain": (SFTTrainer, PLAIN, {}, READ),
    # Positions mark where packed texts begin, which then do not see each other.
    "packed": (SFTTrainer, PLAIN * 2, {"packing": True, "max_length": 9}, READ),
    "packed without ends": (SFTTrainer, PLAIN, WRAPPED, [READ[0] + READ[1]]),
    "without padding": (SFTTrainer, PLAIN, {"padding_free": True, "max_length": None}, READ),
    "prompt and completion": (SFTTrainer, PARTS, {}, READ),
    "chat": (SFTTrainer, CHATS, {}, OF_CHATS),
    "ids of the user's own": (SFTTrainer, OWN, {}, [row["input_ids"] for row in OWN]),
    "preferences": (DPOTrainer, PREFERENCES, {}, READ),
}


@pytest.mark.parametrize(("trainer_class", "rows", "options", "expected"), CASES.values(), ids=CASES)
def test_the_model_is_given_the_end_of_every_text(trainer_class, rows, options, expected, folder, train):
    tokenizer = AutoTokenizer.from_pretrained(folder, split_special_tokens=False)
    _, batches = train(trainer_class, rows, tokenizer, **options)
    assert len(batches) >= 2
    assert sorted(map(list, {tuple(text) for text in sequences(batches)})) == sorted(expected)
    if trainer_class is SFTTrainer:
        assert {labels[-1] for labels in sequences(batches, "labels")} == {EOS}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"text": "ab"}, {"text": "a<eos>b"}], [ids(BOS, "ab<eos>"), ids(BOS, "a<eos>b<eos>")]),
        ([{"messages": [user("b"), assistant("c")]}], [ids("<bos>u:b<eos>a:c<eos>")]),
    ],
    ids=["plain", "chat"],
)
def test_the_default_splits_what_trl_writes_and_warns(rows, expected, folder, train):
    with pytest.warns(UserWarning, match=r"A text has '<(bos|eos)>', .* as trl and chat templates do"):
        _, batches = train(SFTTrainer, rows, AtentaTokenizer.from_pretrained(folder))
    assert sorted(map(list, {tuple(text) for text in sequences(batches)})) == sorted(expected)
    assert all(EOS not in text for text in expected)


def test_a_model_trained_by_trl_ends_its_texts(folder, train):
    tokenizer = AutoTokenizer.from_pretrained(folder, split_special_tokens=False)
    model, _ = train(SFTTrainer, [{"text": "abc"}] * 2, tokenizer, max_steps=30, learning_rate=0.03)
    tokenizer.split_special_tokens = True  # a text from outside cannot end itself
    prompt = tokenizer("a", return_tensors="pt")
    assert model.eval().generate(**prompt, max_new_tokens=8, do_sample=False)[0].tolist() == ids(BOS, "abc", EOS)
