"""The pipeline question-answering: spans, windows, offsets and shapes, for our models and others'."""

import pytest
import torch
from datasets import Dataset
from tokenizers import BertWordPieceTokenizer
from transformers import BertConfig, BertForQuestionAnswering, BertTokenizerFast, pipeline

from atenta import AtentaEncoderForQuestionAnswering, AtentaEncoderForTokenClassification
from atenta.recipes.tasks.questions import answers_from_logits, encode_questions
from support.models import tiny_model
from support.saved import save, save_with_tokenizer

QUESTION = "Onde nasceu?"
CONTEXT = "Joaquim Maria Machado de Assis nasceu no Morro do Livramento, e\u0301 claro. " * 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    save_with_tokenizer(AtentaEncoderForQuestionAnswering, folder)
    return folder


@pytest.fixture(scope="module")
def answer(folder):
    pipe = pipeline("question-answering", str(folder), device="cpu")
    torch.manual_seed(0)
    pipe.model.double()
    pipe.model.qa_outputs.weight.data.normal_(std=0.5)
    return pipe


@pytest.mark.parametrize("align_to_words", [False, True])
def test_the_answer_is_that_of_the_recipe(answer, align_to_words):
    """With the windows of the recipe, of which several are needed."""
    row = {"id": "1", "question": QUESTION, "context": CONTEXT, "answers": {"text": [], "answer_start": []}}
    windows = encode_questions({name: [value] for name, value in row.items()}, answer.tokenizer, 80, 30)
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = answer.tokenizer.pad({name: windows[name] for name in names}, return_tensors="pt")
    with torch.no_grad():
        outputs = answer.model(**inputs)
    logits = outputs.start_logits.numpy(), outputs.end_logits.numpy()
    listed = [dict(zip(windows, values)) for values in zip(*windows.values())]
    (expected,) = answers_from_logits(*logits, listed, [row], 30, align_to_words)
    options = {"max_seq_len": 80, "doc_stride": 30, "max_answer_len": 30}
    assert answer(question=QUESTION, context=CONTEXT, align_to_words=align_to_words, **options)["answer"] == expected


def test_the_shapes_are_those_of_transformers_4(answer):
    one = answer(question=QUESTION, context=CONTEXT)
    assert one.keys() == {"score", "start", "end", "answer"}
    assert one["answer"] == CONTEXT[one["start"] : one["end"]]
    assert answer({"question": QUESTION, "context": CONTEXT}) == one
    rows = [{"question": QUESTION, "context": CONTEXT}, {"question": "Quem?", "context": CONTEXT[:50]}]
    expected = [answer(row) for row in rows]
    assert answer(rows) == answer(rows, batch_size=2) == answer(Dataset.from_list(rows)) == expected
    assert answer(question=[QUESTION, "Quem?"], context=[CONTEXT, CONTEXT[:50]]) == expected
    assert answer(question=[QUESTION], context=CONTEXT) == [one]
    assert answer([]) == answer(question=[], context=[]) == []
    several = answer(question=QUESTION, context=CONTEXT, top_k=4)
    assert several[0] == one
    scores = [each["score"] for each in several]
    assert len(several) == 4
    assert scores == sorted(scores, reverse=True)
    assert len({(each["start"], each["end"]) for each in several}) == 4


def test_the_score_is_a_product_of_probabilities(answer):
    context = "Rio"
    inputs = answer.tokenizer([QUESTION], [context], return_tensors="pt")
    with torch.no_grad():
        outputs = answer.model(**inputs)
    length = inputs.input_ids.shape[1]
    places = [0, *range(length - 1 - len(context), length - 1)]  # <bos>, and the context before <eos>
    start, end = (logits[0, places].softmax(-1) for logits in (outputs.start_logits, outputs.end_logits))
    found = answer(question=QUESTION, context=context, top_k=6, align_to_words=False, handle_impossible_answer=True)
    expected = {("", 0, 0): start[0] * end[0]} | {
        (context[i:j], i, j): start[i + 1] * end[j] for i in range(3) for j in range(i + 1, 4)
    }
    best = sorted(map(float, expected.values()), reverse=True)[:6]
    assert [each["score"] for each in found] == pytest.approx(best, rel=1e-4)
    for each in found:
        assert each["score"] == pytest.approx(expected[each["answer"], each["start"], each["end"]].item(), rel=1e-4)


def test_options_saved_with_the_model_are_read_back(answer, folder, tmp_path):
    options = {"max_seq_len": 80, "doc_stride": 30, "max_answer_len": 7, "align_to_words": False, "top_k": 20}
    model = answer.model.__class__.from_pretrained(folder)
    model.config.task_specific_params = {"question-answering": options}
    save(model, answer.tokenizer, tmp_path)
    unsaved = pipeline("question-answering", str(folder), device="cpu")
    saved = pipeline("question-answering", str(tmp_path), device="cpu")
    asked = {"question": QUESTION, "context": CONTEXT}
    assert len(saved(**asked)) == 20
    assert saved(**asked) == unsaved(**asked, **options) != unsaved(**asked)
    assert saved(**asked, max_answer_len=9) == unsaved(**asked, **{**options, "max_answer_len": 9})
    model.config.task_specific_params["question-answering"]["doc_stride"] = "x"
    with pytest.raises(ValueError, match=r"task_specific_params of .*: doc_stride='x'"):
        pipeline("question-answering", model, tokenizer=str(folder))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"question": QUESTION}, "expected question=… and context=…"),
        ({"question": QUESTION, "context": " "}, "Found ' ' as the context; expected a text that is not empty"),
        ({"question": "", "context": "a"}, "Found '' as the question"),
        ({"question": ["a", "b"], "context": ["c"]}, "Found 2 questions and 1 contexts; expected one for each"),
        ({"question": "a", "context": "b\ud800"}, "`context` has the lone surrogate"),
        ({"question": "a", "context": "b", "top_k": 0}, "top_k=0; expected 1 or more"),
        ({"question": "a", "context": "b", "align_to_words": "no"}, "align_to_words='no'; expected True or False"),
        ({"question": "a" * 30, "context": "b", "max_question_len": 20}, "has 30 tokens; max_question_len is 20"),
        ({"question": "a" * 500, "context": "b"}, "leaves too few for its text in windows of 512 that overlap by 128"),
    ],
)
def test_what_does_not_fit_is_refused(answer, options, message):
    with pytest.raises(ValueError, match=message):
        answer(**options)


def test_a_model_of_another_kind_is_refused(answer):
    model = tiny_model(AtentaEncoderForTokenClassification)
    with pytest.raises(ValueError, match="AtentaEncoderForTokenClassification does not answer questions"):
        pipeline("question-answering", model, tokenizer=answer.tokenizer)


def test_a_model_of_others(tmp_path):
    """A tiny random BERT with word pieces: offsets are those of the text, and answers are words."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "onde", "no", "rio", "de", "jane", "##iro", "?", "."]
    (tmp_path / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    BertWordPieceTokenizer(str(tmp_path / "vocab.txt")).save(str(tmp_path / "tokenizer.json"))
    tokenizer = BertTokenizerFast(tokenizer_file=str(tmp_path / "tokenizer.json"))
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = BertForQuestionAnswering(BertConfig(vocab_size=len(words), **sizes)).eval()
    pipe = pipeline("question-answering", model, tokenizer=tokenizer, device="cpu")
    nothing = pipe(question="onde?", context="\u200b")  # which BERT does not read
    assert (nothing["start"], nothing["end"], nothing["answer"]) == (0, 0, "")
    context = "no rio de janeiro. no rio."
    for each in pipe(question="onde?", context=context, top_k=10, max_seq_len=16, doc_stride=2):
        assert context[each["start"] : each["end"]] == each["answer"]
        assert each["answer"].split()[-1].rstrip(".") in ("no", "rio", "de", "janeiro", "")
