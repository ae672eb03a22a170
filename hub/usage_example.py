"""The code on a model card that runs the model."""

import json
import re
from collections.abc import Sequence

from ..engines.kinds import LOADED, prompt_separator, saved_options
from .card_facts import ModelFacts

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


def write_usage(model: ModelFacts, name: str, example: str | None = None, *, is_built_in: bool = False) -> str:
    """Return Python that loads a model, by its repository or folder, and prints what it makes of an example.

    A model of a class that is built into transformers is loaded without the pipelines and the code of this package.
    """
    code = model.kind.usage
    if is_built_in and model.kind.name in _WITHOUT_OUR_PIPELINE:
        code = LOADED + _WITHOUT_OUR_PIPELINE[model.kind.name]
    elif model.kind.name == "feature-extraction" and model.family == "encoder-decoder":
        code = LOADED + _VECTORS_OF_TWO_STACKS
    if is_built_in:
        code = code.replace(", trust_remote_code=True", "")
    return _fill(code, model, name, example)


def write_onnx_usage(model: ModelFacts, name: str, quantization: str | None, example: str | None = None) -> str:
    """Return Python that runs the ONNX files of a model; `quantization` is the argument of `load_engine`."""
    tags: list[str] = []
    code = _ONNX_RESTORATION if model.tags_characters else _ONNX
    if model.writes_units:
        code = model.kind.usage  # which takes the ONNX file where there is one
    code = code.replace("METHOD", "generate" if model.generates else "predict")
    if model.kind.name == "text2text-generation" and "\t" in (example or ""):  # its feature tags follow
        example, _, named = str(example).rpartition("\t")
        tags = [tag for tag in named.split(";") if tag]
        code = code.replace("[EXAMPLE]", "[EXAMPLE], tags=[[TAGS]]")
    code = code.replace("QUANTIZATION", f", quantization={as_python(quantization)}" if quantization else "")
    return _fill(code, model, name, example, tags)


def _fill(code: str, model: ModelFacts, name: str, example: str | None, tags: Sequence[str] = ()) -> str:
    config = model.config.to_dict()
    tag = next(iter(saved_options(config, model.kind.task).get("tag_characters", {})), None)
    filled = {
        "[TAGS]": f"[{', '.join(map(as_python, tags))}]",
        "[TAG]": f"[{as_python(tag)}]" if tag else "[]",
        "AUTO_CLASS": model.kind.auto_class,
        "NAME": as_python(name),
        "EXAMPLE": as_python((example or model.kind.example) + prompt_separator(config)),
    }
    # At once: a name, an example or a tag may contain these words.
    return re.sub(r"\[TAGS?\]|AUTO_CLASS|NAME|EXAMPLE", lambda word: filled[word[0]], code)


def as_python(text: str) -> str:
    """Return a text as a literal of Python, between double quotes, which may stand in a code span of Markdown."""
    return "".join(
        each if each.isprintable() and each != "`" else f"\\U{ord(each):08x}"
        for each in json.dumps(text, ensure_ascii=False)
    )
