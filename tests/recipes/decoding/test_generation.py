"""Generated texts: the n best outputs and their scores, checked by teacher forcing and by trying all texts.

Two processes decode in `training/test_two_processes.py`.
"""

from itertools import product

import pytest
import torch
from tokenizers import Tokenizer, decoders
from tokenizers.models import WordLevel
from torch.utils.data import DataLoader
from transformers import PreTrainedTokenizerFast

from atenta import AtentaDecoderForCausalLM, AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes.decoding.generation import continue_text, decode_n_best, n_best_columns
from atenta.tokenization.text_windows import GeneratedText
from support.models import double_model
from support.saved import save_with_tokenizer

TOKENS = ["<pad>", "<bos>", "<eos>", "a", "b", "c"]
SOURCES = ["abcabc", "b", "cab", "aaaa", "ca"]
EOS = TOKENS.index("<eos>")
MAX_LENGTH = 5  # with <bos>


def tiny_tokenizer():
    core = Tokenizer(WordLevel({token: index for index, token in enumerate(TOKENS)}, unk_token="<pad>"))
    core.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>", padding_side="right"
    )


def tiny(max_length=MAX_LENGTH, **options):
    sizes = {"vocab_size": len(TOKENS), "hidden_size": 16, "encoder_layers": 1, "decoder_layers": 1}
    model = double_model(AtentaEncoderDecoderForConditionalGeneration, 3, initializer_range=0.4, **sizes, **options)
    model.generation_config.max_length = max_length
    return model


def loader(batch_size=2, sources=SOURCES):
    def collate(batch):
        rows = [[TOKENS.index(character) for character in source] + [EOS] for source in batch]
        return tiny_tokenizer().pad({"input_ids": rows}, return_tensors="pt")

    return DataLoader(sources, batch_size=batch_size, collate_fn=collate)


def teacher_forced_score(model, batch, row, ids, length_penalty=1.0):
    """The score by its definition, from one forward pass over the complete output (length,)."""
    ends = (ids == EOS).nonzero()
    ids = ids[: ends[0, 0] + 1] if len(ends) else ids
    source = {name: tensor[row : row + 1] for name, tensor in batch.items()}
    with torch.no_grad():
        logits = model(**source, labels=ids.unsqueeze(0)).logits[0]
    return logits.log_softmax(-1).gather(-1, ids.unsqueeze(-1)).sum().item() / len(ids) ** length_penalty


@pytest.mark.parametrize("length_penalty", [None, 0.5])
@pytest.mark.parametrize(("num_beams", "n"), [(1, 1), (4, 1), (4, 3)])
def test_scores_are_those_of_teacher_forcing(num_beams, n, length_penalty):
    model, tokenizer = tiny(), tiny_tokenizer()
    model.generation_config.length_penalty = length_penalty
    decoded = decode_n_best(model, loader(), tokenizer, num_beams=num_beams, num_return_sequences=n)
    assert len(decoded) == len(SOURCES)
    first = 0
    for batch in loader():
        ids = model.generate(**batch, num_beams=num_beams, num_return_sequences=n).unflatten(0, (-1, n))
        for row, outputs in enumerate(ids[:, :, 1:]):
            for output, found in zip(outputs, decoded[first + row], strict=True):
                assert found.text == tokenizer.decode(output, skip_special_tokens=True)
                assert found.finished == (EOS in output)
                expected = teacher_forced_score(model, batch, row, output, length_penalty or 1.0)
                assert found.score == pytest.approx(expected, abs=1e-5)
        first += len(ids)
    assert {found.finished for ranked in decoded for found in ranked} == {True, False}


def test_a_beam_as_wide_as_the_space_finds_the_best_texts():
    model, source = tiny(max_length=4), SOURCES[0]
    (batch,) = loader(sources=[source])
    open_tokens = [index for index in range(len(TOKENS)) if index != EOS]
    texts = [(*body, EOS) for length in range(3) for body in product(open_tokens, repeat=length)]
    texts += product(open_tokens, repeat=3)  # cut off at the maximum length
    scored = sorted(((teacher_forced_score(model, batch, 0, torch.tensor(ids)), ids) for ids in texts), reverse=True)
    (found,) = decode_n_best(model, [batch], tiny_tokenizer(), num_beams=len(texts), num_return_sequences=20)
    assert found == [
        GeneratedText(
            tiny_tokenizer().decode(ids, skip_special_tokens=True),
            pytest.approx(score, abs=1e-5),
            EOS in ids,
            sum(token != TOKENS.index("<pad>") for token in ids),
        )
        for score, ids in scored[:20]
    ]


def test_decoding_is_without_dropout():
    model = tiny(dropout=0.5).train()
    first, second = (decode_n_best(model, loader(), tiny_tokenizer()) for _ in range(2))
    assert first == second == decode_n_best(tiny(), loader(), tiny_tokenizer())


def test_several_outputs_are_columns():
    outputs = [
        [GeneratedText("sou", -0.1, True, 4), GeneratedText("só", -1.25, True, 3)],
        [GeneratedText("vês", -0.00004, True, 4), GeneratedText("", -2.0, False, 0)],
    ]
    assert n_best_columns(outputs) == {
        "output 1": ["sou", "vês"],
        "score 1": ["-0.1000", "-0.0000"],
        "output 2": ["só", ""],
        "score 2": ["-1.2500", "-2.0000"],
    }


@pytest.mark.parametrize("prompt", ["Era ", ""])
def test_a_continuation_is_determined_by_its_seed(tmp_path, prompt):
    model = save_with_tokenizer(AtentaDecoderForCausalLM, tmp_path)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path)
    first, again, other = (continue_text(model, tokenizer, prompt, 12, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert first.startswith(prompt)
    assert len(prompt) < len(first) <= len(prompt) + 12


def test_a_continuation_ends_where_learned_positions_end(tmp_path):
    save_with_tokenizer(
        AtentaDecoderForCausalLM, tmp_path, position_embedding_type="learned", max_position_embeddings=9
    )
    model = AtentaDecoderForCausalLM.from_pretrained(tmp_path)
    model.generation_config.eos_token_id = None
    text = continue_text(model, PreTrainedTokenizerFast.from_pretrained(tmp_path), "Era ", 12, seed=1)
    assert len("Era ") < len(text) <= 9
