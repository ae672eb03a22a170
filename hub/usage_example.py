"""The code on a model card that runs the model."""

import json

from ..engines.kinds import prompt_separator, saved_options
from .card_facts import ModelFacts

_PIPELINES = {
    "text-generation": """\
generate = pipeline("text-generation", model=NAME, trust_remote_code=True)
print(generate(EXAMPLE, max_new_tokens=50)[0]["generated_text"])
""",
    "text2text-generation": """\
transform = pipeline("text2text-generation", model=NAME, trust_remote_code=True)
print(transform(EXAMPLE)[0]["generated_text"])
""",
    "fill-mask": """\
fill = pipeline("fill-mask", model=NAME, trust_remote_code=True)
for prediction in fill("Bom d<mask>a"):
    print(prediction["token_str"], round(prediction["score"], 3))
""",
    "text-classification": """\
classify = pipeline("text-classification", model=NAME, trust_remote_code=True)
print(classify(EXAMPLE))
""",
    "token-classification": """\
tag = pipeline(
    "token-classification", model=NAME, trust_remote_code=True, aggregation_strategy="simple"
)
for span in tag(EXAMPLE):
    print(span["entity_group"], span["start"], span["end"])
""",
    "character-restoration": """\
restore = pipeline("character-restoration", model=NAME, trust_remote_code=True)
print(restore(EXAMPLE)["restored_text"])
print(restore(EXAMPLE, min_confidence=0.99, return_probabilities=True))
""",
    "question-answering": """\
answer = pipeline("question-answering", model=NAME, trust_remote_code=True)
print(answer(question="Onde nasceu Machado de Assis?", context="Machado de Assis nasceu no Rio de Janeiro."))
""",
}
_IMPORT_PIPELINE = "from transformers import pipeline\n\n"
_LOADED = """\
import torch
from transformers import AUTO_CLASS, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained(NAME, trust_remote_code=True)
model = AUTO_CLASS.from_pretrained(NAME, trust_remote_code=True).eval()
"""
_WITHOUT_PIPELINE = {
    "next-sentence-prediction": """\
inputs = tokenizer("Está a chover.", "Levo o guarda-chuva.", return_tensors="pt")
with torch.no_grad():
    follows, does_not = model(**inputs).logits[0].softmax(-1).tolist()
print(f"the second text follows the first: {follows:.3f}")
""",
    "pretraining": """\
inputs = tokenizer("Bom d<mask>a.", "Como está?", return_tensors="pt")
with torch.no_grad():
    outputs = model(**inputs)
masked = inputs.input_ids[0] == tokenizer.mask_token_id
print(tokenizer.decode(outputs.prediction_logits[0, masked].argmax(-1)))
print(f"the second text follows the first: {outputs.seq_relationship_logits[0].softmax(-1)[0]:.3f}")
""",
    "feature-extraction": """\
inputs = tokenizer([EXAMPLE], return_tensors="pt")
with torch.no_grad():
    print(model(**inputs).last_hidden_state.shape)
""",
}
# Of classes of transformers itself, which has no pipelines for these tasks.
_WITHOUT_OUR_PIPELINE = {
    "text2text-generation": """\
inputs = tokenizer([EXAMPLE], return_tensors="pt")
print(tokenizer.batch_decode(model.generate(**inputs), skip_special_tokens=True))
""",
    "question-answering": """\
question, context = "Onde nasceu Machado de Assis?", "Machado de Assis nasceu no Rio de Janeiro."
inputs = tokenizer(question, context, return_tensors="pt")
with torch.no_grad():
    outputs = model(**inputs)
start, end = outputs.start_logits.argmax(), outputs.end_logits.argmax()
print(tokenizer.decode(inputs.input_ids[0, start : end + 1]))
""",
}
_VECTORS_OF_TWO_STACKS = """\
inputs = tokenizer([EXAMPLE], return_tensors="pt")
start = torch.tensor([[model.config.decoder_start_token_id]])
with torch.no_grad():
    outputs = model(**inputs, decoder_input_ids=start)
print(outputs.encoder_last_hidden_state.shape, outputs.last_hidden_state.shape)
"""
_LETTERS = """\
from atenta import CharacterRestorer
from atenta.phonemization.letter_tagger import LetterTagger

tagger = LetterTagger(CharacterRestorer.from_pretrained(NAME))
print(tagger.write([EXAMPLE], [TAG], n_best=2))
"""
_ONNX_RESTORATION = """\
from atenta import CharacterRestorer
from huggingface_hub import snapshot_download

restorer = CharacterRestorer.from_pretrained(snapshot_download(NAME))
print(restorer.restore([EXAMPLE])[0].text)
"""
_ONNX = """\
from atenta import load_engine
from huggingface_hub import snapshot_download

engine = load_engine(snapshot_download(NAME), engine="onnx"QUANTIZATION)
print(engine.METHOD([EXAMPLE]))
"""
_EXAMPLES = {
    "text-generation": "Era uma vez",
    "text-classification": "Gostei muito deste livro.",
    "token-classification": "Machado de Assis nasceu no Rio de Janeiro.",
    "character-restoration": "A acao comecou amanha, nao e?",
}


def write_usage(model: ModelFacts, name: str, example: str | None = None, *, is_built_in: bool = False) -> str:
    """Return Python that loads a model, by its repository or folder, and prints what it makes of an example.

    A model of a class that is built into transformers is loaded without the pipelines and the code of this package.
    """
    task = model.kind.task
    if model.writes_units:
        code = _LETTERS
    elif is_built_in and task in _WITHOUT_OUR_PIPELINE:
        code = _LOADED + _WITHOUT_OUR_PIPELINE[task]
    elif task in _PIPELINES:
        code = _IMPORT_PIPELINE + _PIPELINES[task]
    elif task == "feature-extraction" and model.family == "encoder-decoder":
        code = _LOADED + _VECTORS_OF_TWO_STACKS
    else:
        code = _LOADED + _WITHOUT_PIPELINE[task]
    if is_built_in:
        code = code.replace(", trust_remote_code=True", "")
    return _fill(code, model, name, example)


def write_onnx_usage(model: ModelFacts, name: str, quantization: str | None, example: str | None = None) -> str:
    """Return Python that runs the ONNX files of a model; `quantization` is the argument of `load_engine`."""
    if model.writes_units:
        return _fill(_LETTERS, model, name, example)  # which takes the ONNX file where there is one
    code = _ONNX_RESTORATION if model.restores else _ONNX
    code = code.replace("METHOD", "generate" if model.generates else "predict")
    code = code.replace("QUANTIZATION", f", quantization={as_python(quantization)}" if quantization else "")
    return _fill(code, model, name, example)


def _fill(code: str, model: ModelFacts, name: str, example: str | None) -> str:
    config = model.config.to_dict()
    default = "palavra" if model.writes_units else _EXAMPLES.get(model.kind.task, "um texto")
    tag = next(iter(saved_options(config, model.kind.task).get("tag_characters", {})), None)
    code = code.replace("[TAG]", f"[{as_python(tag)}]" if tag else "[]").replace("AUTO_CLASS", model.kind.auto_class)
    code = code.replace("EXAMPLE", as_python((example or default) + prompt_separator(config)))
    return code.replace("NAME", as_python(name))  # last: a name may contain the other words


def as_python(text: str) -> str:
    """Return a text as a literal of Python, between double quotes, which may stand in a code span of Markdown."""
    return "".join(
        each if each.isprintable() and each != "`" else f"\\U{ord(each):08x}"
        for each in json.dumps(text, ensure_ascii=False)
    )
