"""The n best outputs and their scores: by teacher forcing, by trying all texts, and in two processes.

Run by `torchrun`, this file is one of the two.
"""

import json
from dataclasses import asdict
from itertools import product
from pathlib import Path

import pytest
import torch
from accelerate import Accelerator
from tokenizers import Tokenizer, decoders
from tokenizers.models import WordLevel
from torch.utils.data import DataLoader
from transformers import PreTrainedTokenizerFast

from atenta.modeling import AtentaEncoderDecoderForConditionalGeneration
from atenta.recipes.decoding.n_best import Hypothesis, decode_n_best
from support.models import assert_close, tiny_model
from support.ranks import run_ranks

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
    model = tiny_model(AtentaEncoderDecoderForConditionalGeneration, 3, initializer_range=0.4, **sizes, **options)
    model.generation_config.max_length = max_length
    return model


def loader(batch_size=2, sources=SOURCES):
    def collate(batch):
        rows = [[TOKENS.index(character) for character in source] + [EOS] for source in batch]
        return tiny_tokenizer().pad({"input_ids": rows}, return_tensors="pt")

    return DataLoader(sources, batch_size=batch_size, collate_fn=collate)


def teacher_forced_score(model, batch, row, ids, length_penalty=1.0):
    """The score by its definition, from one forward pass over the whole output (length,)."""
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
    found = decode_n_best(model, loader(), tokenizer, num_beams=num_beams, num_return_sequences=n)
    assert len(found) == len(SOURCES)
    first = 0
    for batch in loader():
        ids = model.generate(**batch, num_beams=num_beams, num_return_sequences=n).unflatten(0, (-1, n))
        for row, outputs in enumerate(ids[:, :, 1:]):
            for output, hypothesis in zip(outputs, found[first + row], strict=True):
                assert hypothesis.text == tokenizer.decode(output, skip_special_tokens=True)
                assert hypothesis.finished == (EOS in output)
                expected = teacher_forced_score(model, batch, row, output, length_penalty or 1.0)
                assert hypothesis.score == pytest.approx(expected, abs=1e-5)
        first += len(ids)
    finished = {hypothesis.finished for hypotheses in found for hypothesis in hypotheses}
    assert finished == {True, False}  # both kinds are scored here


def test_a_beam_as_wide_as_the_space_finds_the_best_of_all_texts():
    model, source = tiny(max_length=4), SOURCES[0]
    (batch,) = loader(sources=[source])
    open_tokens = [index for index in range(len(TOKENS)) if index != EOS]
    texts = [(*body, EOS) for length in range(3) for body in product(open_tokens, repeat=length)]
    texts += product(open_tokens, repeat=3)  # cut at the longest length
    scored = sorted(((teacher_forced_score(model, batch, 0, torch.tensor(ids)), ids) for ids in texts), reverse=True)
    (found,) = decode_n_best(model, [batch], tiny_tokenizer(), num_beams=len(texts), num_return_sequences=20)
    assert [hypothesis.text for hypothesis in found] == [
        tiny_tokenizer().decode(ids, skip_special_tokens=True) for _, ids in scored[:20]
    ]
    assert_close(torch.tensor([each.score for each in found]), torch.tensor([score for score, _ in scored[:20]]))
    assert [each.finished for each in found] == [EOS in ids for _, ids in scored[:20]]


def test_the_best_come_first_and_the_greedy_output_is_among_them():
    model, tokenizer = tiny(), tiny_tokenizer()
    greedy = decode_n_best(model, loader(), tokenizer)
    for (alone,), hypotheses in zip(
        greedy, decode_n_best(model, loader(), tokenizer, num_beams=60, num_return_sequences=60), strict=True
    ):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert scores[0] >= alone.score - 1e-5
        same = [each for each in hypotheses if (each.text, each.finished) == (alone.text, alone.finished)]
        assert min(abs(each.score - alone.score) for each in same) < 1e-5


def test_the_model_decodes_without_dropout():
    model = tiny(dropout=0.5).train()
    first, second = (decode_n_best(model, loader(), tiny_tokenizer()) for _ in range(2))
    assert first == second == decode_n_best(tiny(), loader(), tiny_tokenizer())


def test_more_outputs_than_beams_are_refused():
    with pytest.raises(ValueError, match="num_return_sequences=3 asks for more outputs than num_beams=2"):
        decode_n_best(tiny(), loader(), tiny_tokenizer(), num_beams=2, num_return_sequences=3)


def test_two_processes_return_what_one_does():
    """Five sources in batches of two: the second process's last batch is padded with sources that come twice."""
    expected = decode_n_best(tiny(), loader(), tiny_tokenizer(), num_beams=3, num_return_sequences=2)
    printed = run_ranks(Path(__file__)).splitlines()
    assert len(printed) == 2
    for line in printed:
        found = [[Hypothesis(**each) for each in hypotheses] for hypotheses in json.loads(line)]
        assert [[(each.text, each.finished) for each in hypotheses] for hypotheses in found] == [
            [(each.text, each.finished) for each in hypotheses] for hypotheses in expected
        ]
        assert_close(*(torch.tensor([[each.score for each in row] for row in rows]) for rows in (found, expected)))


def main():
    accelerator = Accelerator()
    assert accelerator.num_processes == 2
    model, batches = accelerator.prepare(tiny(), loader())
    found = decode_n_best(
        model, batches, tiny_tokenizer(), num_beams=3, num_return_sequences=2, accelerator=accelerator
    )
    print(json.dumps([[asdict(each) for each in hypotheses] for hypotheses in found]), flush=True)
    # a DistributedDataParallel that is freed after its process group may wait for ever
    model, batches = accelerator.free_memory(model, batches)
    accelerator.end_training()


if __name__ == "__main__":
    main()
