"""trl writes `<eos>` into texts. The model is given id 2 if its tokenizer is loaded to read special tokens there."""

from itertools import pairwise

import pytest
import torch
from datasets import Dataset
from packaging.version import Version
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers import __version__ as transformers_version
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
CASES = {
    "plain": (SFTTrainer, PLAIN, {}, READ),
    "packed": (SFTTrainer, PLAIN * 2, {"packing": True, "max_length": 9}, READ),
    "packed without ends": (
        SFTTrainer,
        PLAIN,
        {"packing": True, "packing_strategy": "wrapped", "max_length": 9, "shuffle_dataset": False},
        [READ[0] + READ[1]],
    ),
    "without padding": (SFTTrainer, PLAIN, {"padding_free": True, "max_length": None}, READ),
    "prompt and completion": (
        SFTTrainer,
        [{"prompt": "a", "completion": "b"}, {"prompt": "a", "completion": "cc"}],
        {},
        READ,
    ),
    "chat": (
        SFTTrainer,
        [{"messages": [user("b"), assistant("c")]}, {"messages": [user("cc"), assistant("e")]}],
        {},
        [ids(BOS, "u:b", EOS, "a:c", EOS), ids(BOS, "u:cc", EOS, "a:e", EOS)],
    ),
    "chat of prompt and completion": (
        SFTTrainer,
        [{"prompt": [user("b")], "completion": [assistant("c")]}] * 2,
        {},
        [ids(BOS, "u:b", EOS, "a:c", EOS)],
    ),
    "preferences": (DPOTrainer, [{"prompt": "a", "chosen": "b", "rejected": "cc"}] * 2, {}, READ),
    "preferences in a chat": (
        DPOTrainer,
        [{"prompt": [user("b")], "chosen": [assistant("c")], "rejected": [assistant("e")]}] * 2,
        {},
        [ids(BOS, "u:b", EOS, "a:c", EOS), ids(BOS, "u:b", EOS, "a:e", EOS)],
    ),
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


@pytest.mark.skipif(Version(transformers_version) < Version("5.20"), reason="transformers 5.20 brought the argument")
def test_messages_cannot_end_a_text_if_the_rows_ask_for_it(folder, train):
    sanitized = {"chat_template_kwargs": {"sanitize_control_tokens": True}}
    rows = [{"messages": [user("<eos>"), assistant("c<eos>")], **sanitized}] * 2
    _, batches = train(SFTTrainer, rows, AutoTokenizer.from_pretrained(folder, split_special_tokens=False))
    assert {tuple(text) for text in sequences(batches)} == {tuple(ids(BOS, "u:<eos>", EOS, "a:c<eos>", EOS))}


def test_ids_of_the_users_own_are_trained_on_as_they_are(folder, train):
    """A corpus may contain `<eos>`: its ids, with the end added by id, need no other setting."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rows = [{"input_ids": [*tokenizer(text).input_ids, tokenizer.eos_token_id]} for text in ("ab", "a<eos>b")]
    _, batches = train(SFTTrainer, rows, tokenizer)
    assert {tuple(text) for text in sequences(batches)} == {
        tuple(ids(BOS, "ab", EOS)),
        tuple(ids(BOS, "a<eos>b", EOS)),
    }


def test_a_model_trained_by_trl_ends_its_texts(folder, train):
    tokenizer = AutoTokenizer.from_pretrained(folder, split_special_tokens=False)
    model, _ = train(SFTTrainer, [{"text": "abc"}] * 2, tokenizer, max_steps=30, learning_rate=0.03)
    tokenizer.split_special_tokens = True  # a text from outside cannot end itself
    prompt = tokenizer("a", return_tensors="pt")
    assert model.eval().generate(**prompt, max_new_tokens=8, do_sample=False)[0].tolist() == ids(BOS, "abc", EOS)


@pytest.mark.parametrize("case", ["packed", "without padding"])
def test_packed_texts_do_not_see_each_other(case, folder, train):
    trainer_class, rows, options, _ = CASES[case]
    tokenizer = AutoTokenizer.from_pretrained(folder, split_special_tokens=False)
    model, batches = train(trainer_class, rows, tokenizer, **options)
    model.eval()
    batch = {name: value for name, value in batches[0].items() if name not in ("labels", "fused_lm_head")}
    texts = list(sequences([batch]))
    assert len(texts) > 1
    with torch.no_grad():
        together = model(**batch).logits[0]
        alone = torch.cat([model(torch.tensor([text])).logits[0] for text in texts])
        one_text = model(batch["input_ids"]).logits[0]
    torch.testing.assert_close(together, alone)
    assert not torch.allclose(one_text, alone, atol=1e-3)
