"""Folders of models that are made to run code, to read or write elsewhere, or to ask the network, when loaded.

Each starts from an honest folder, in which all code that a saved model carries is replaced by hostile code.
"""

import json
import pickle
import shutil
import zipfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import onnx
import torch
from onnx.external_data_helper import set_external_data
from safetensors.torch import load_file, save_file

from atenta import AtentaEncoderDecoderForConditionalGeneration
from atenta.engines.onnx_export import export_onnx
from support.exported import save_lively
from support.small_models import SMALL_MODELS
from support.watched import SECRET, Box

_CODE = """import pathlib
pathlib.Path({marker!r}).write_text({name!r}, encoding="utf-8")
def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (), {{"from_pretrained": classmethod(lambda cls, *_, **__: cls())}})
"""
_AUTO_CLASSES = (
    *("AutoConfig", "AutoModel", "AutoModelForCausalLM", "AutoModelForSeq2SeqLM", "AutoModelForMaskedLM"),
    *("AutoModelForTokenClassification", "AutoModelForQuestionAnswering", "AutoModelForSequenceClassification"),
    *("AutoProcessor", "AutoFeatureExtractor", "AutoImageProcessor", "AutoVideoProcessor", "AutoModelForPreTraining"),
)
_PROMPT = (
    "{{ cycler.__init__.__globals__.os.system('touch MARKER') }}{{ self._TemplateReference__context.cycler.__init__"
    ".__globals__.os.popen('touch MARKER') }}{% for m in messages %}{{ m.content }}{% endfor %}"
)
_SECRETS = ("secret.txt", "secret.json", "tokenizer.4.0.0.json")
_ESCAPES = "\x1b]0;a\x07\x1b[2J"

Damage = Callable[[Path, Box], None]


def save_honest(box: Box, *kinds: str) -> None:
    """Save a small model of each kind, or of these, in `honest` of a box, and what hostile folders point to."""
    for kind in kinds or _HONEST:
        SMALL_MODELS[_HONEST[kind]].save(box.root / "honest" / kind)
        if kind not in ("questions", "masked"):
            export_onnx(box.root / "honest" / kind)
    save_lively(AtentaEncoderDecoderForConditionalGeneration, box.outside / "other", encoder_layers=1)


_HONEST = {  # by the names that doors use
    **{"texts": "pairs", "decoder": "decoder", "tagger": "tags", "questions": "questions", "masked": "masked"},
    "restorer": "characters",
}


def make_hostile(box: Box, kind: str, name: str) -> Path | None:
    """Make a hostile folder from the honest one of a kind, and return it; `None` if it has not what is damaged."""
    honest = box.root / "honest" / kind
    needs = "spellings.txt" if name in _OF_SPELLINGS else "onnx" if name in _OF_ONNX else "config.json"
    if not (honest / needs).exists():
        return None
    for path in (*(box.outside / each for each in _SECRETS), box.root / "home/.bashrc"):
        path.write_text(json.dumps({SECRET: SECRET}), encoding="utf-8")
    shutil.rmtree(box.root / "models")
    folder = box.root / "models" / "model"
    shutil.copytree(honest, folder)
    for path in folder.glob("*.py"):
        path.write_text(_code(box, path.name), encoding="utf-8")
    (folder / "evil.py").write_text(_code(box, "evil.py"), encoding="utf-8")
    HOSTILE[name](folder, box)
    return folder


def _code(box: Box, name: str) -> str:
    return _CODE.format(marker=str(box.marker), name=name)


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def _filled(value: Any, box: Box) -> str:
    """Return a text, or a value as JSON, with paths in place of MARKER and OUTSIDE."""
    text = value if isinstance(value, str) else json.dumps(value)
    return text.replace("MARKER", str(box.marker)).replace("OUTSIDE", str(box.outside))


def _edit(name: str, **changes: Any) -> Damage:
    """Return what changes keys of a JSON file; a key whose new value is `None` is taken out."""

    def edit(folder: Path, box: Box) -> None:
        values = {**_read(folder / name), **json.loads(_filled(changes, box))}
        _write(folder / name, {key: value for key, value in values.items() if value is not None})

    return edit


def _both(*damages: Damage) -> Damage:
    def damage(folder: Path, box: Box) -> None:
        for each in damages:
            each(folder, box)

    return damage


def _add(name: str, value: Any) -> Damage:
    """Return what adds a file."""
    return lambda folder, box: _write(folder / name, _filled(value, box))


_config, _tokenizer = partial(_edit, "config.json"), partial(_edit, "tokenizer_config.json")
_tokenizer_json = partial(_edit, "tokenizer.json")


def _auto_map(prefix: str = "") -> Mapping[str, str]:
    return dict.fromkeys(_AUTO_CLASSES, f"{prefix}evil.Evil") | {"AutoTokenizer": [f"{prefix}evil.Evil"] * 2}


def _link(name: str, target: str = "secret.txt") -> Damage:
    """Return what replaces a file by a link to a file outside: a given one, or a copy of it there."""

    def link(folder: Path, box: Box) -> None:
        path, outside = folder / name, box.outside / target
        if target == "itself":
            outside = box.outside / "itself" / name
            outside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, outside)
        path.parent.mkdir(exist_ok=True)
        path.unlink(missing_ok=True)
        path.symlink_to(outside)

    return link


def _remove(name: str) -> Damage:
    return lambda folder, box: (folder / name).unlink(missing_ok=True)


class _Payload:
    """An object that runs code when it is unpickled."""

    def __init__(self, box: Box) -> None:
        self.box = box

    def __reduce__(self) -> tuple[Any, ...]:
        return eval, (f"__import__('pathlib').Path({str(self.box.marker)!r}).write_text('pickle')",)


def _pickle(*names: str, zipped: bool = True) -> Damage:
    """Return what adds pickles that run code."""

    def add(folder: Path, box: Box) -> None:
        for name in names:
            (folder / name).unlink(missing_ok=True)
            if zipped:
                torch.save({"a": _Payload(box)}, folder / name)
            else:
                (folder / name).write_bytes(pickle.dumps({"a": _Payload(box)}))

    return add


def _shards(place: str) -> Damage:
    """Return what moves the weights to a place outside, which an index names."""

    def move(folder: Path, box: Box) -> None:
        weights = load_file(folder / "model.safetensors")
        (folder / "model.safetensors").unlink()
        if place.endswith(".safetensors"):
            save_file(weights, box.outside / Path(place).name, {"format": "pt"})
        else:
            torch.save({"a": _Payload(box)}, folder / place)
        index = {"metadata": {"total_size": 1}, "weight_map": dict.fromkeys(weights, _filled(place, box))}
        kind = "model.safetensors" if place.endswith(".safetensors") else "pytorch_model.bin"
        _write(folder / f"{kind}.index.json", index)

    return move


def _onnx(change: Callable[[onnx.ModelProto, Path, Box], None]) -> Damage:
    """Return what changes all ONNX files."""

    def damage(folder: Path, box: Box) -> None:
        for path in (folder / "onnx").glob("*.onnx"):
            model = onnx.load(path)
            change(model, path, box)
            path.write_bytes(model.SerializeToString())

    return damage


def _external_data(location: str) -> Callable[[onnx.ModelProto, Path, Box], None]:
    """Return what moves weights out of an ONNX file, to a file that is named by a path, or by a link."""

    def move(model: onnx.ModelProto, path: Path, box: Box) -> None:
        outside = box.outside / "weights.bin"
        with outside.open("wb") as file:
            for tensor in model.graph.initializer:
                if tensor.raw_data:
                    start, data = file.tell(), tensor.raw_data
                    file.write(data)
                    set_external_data(tensor, _filled(location, box), start, len(data))
                    tensor.ClearField("raw_data")
        if location == "link.bin":
            (path.parent / location).unlink(missing_ok=True)
            (path.parent / location).symlink_to(outside)

    return move


def _foreign_operator(model: onnx.ModelProto, path: Path, box: Box) -> None:
    model.graph.node[0].domain = "evil.operators"
    model.opset_import.append(onnx.helper.make_opsetid("evil.operators", 1))


def _run_configuration(model: onnx.ModelProto, path: Path, box: Box) -> None:
    values = {"session_options": {"enable_profiling": 1, "profile_file_prefix": f"{box.outside}/profile"}}
    model.metadata_props.add(key="ort_config", value=json.dumps(values))


def _zip_in_place_of_weights(folder: Path, box: Box) -> None:
    with zipfile.ZipFile(folder / "model.safetensors", "w") as file:
        file.writestr("archive/data.pkl", pickle.dumps(_Payload(box)))
        file.writestr("archive/version", "3")


def _adapter(base: str, **options: Any) -> Damage:
    values = {"peft_type": "LORA", "r": 4, "target_modules": "all-linear", "base_model_name_or_path": base, **options}
    return _both(_add("adapter_config.json", values), _pickle("adapter_model.bin"))


def _custom_pipelines(folder: Path, box: Box) -> None:
    tasks = ("text2text-generation", "question-answering", "character-restoration", "text-generation", "fill-mask")
    about = {"impl": "evil.Evil", "pt": ["AutoModel"], "type": "text"}
    names = {"pipelines": None, "custom_pipelines": dict.fromkeys((*tasks, "token-classification"), about)}
    _config(**names)(folder, box)


def _sentence_transformers(folder: Path, box: Box) -> None:
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "evil.Evil"},
        {"idx": 1, "name": "1", "path": "1_P", "type": "os.system"},
    ]
    _write(folder / "modules.json", modules)
    arguments = {"trust_remote_code": True}
    for name in ("sentence_bert_config.json", "config_sentence_transformers.json"):
        _write(folder / name, dict.fromkeys(("model_args", "tokenizer_args", "config_args"), arguments))


_EVIL_TYPE = {"model_type": "evil", "auto_map": _auto_map(), "architectures": ["Evil"]}
_ALL_CODE = _both(_config(auto_map=_auto_map()), _tokenizer(auto_map=_auto_map(), tokenizer_class="Evil"))

# By name. The first are of any folder, the others of those that have such files.
_OF_ANY: dict[str, Damage] = {
    "code": _both(),
    "auto_map of the tokenizer": _tokenizer(auto_map=_auto_map()),
    "auto_map of an unknown tokenizer": _tokenizer(auto_map=_auto_map(), tokenizer_class="Evil"),
    "auto_map as a list": _tokenizer(auto_map=["evil.Evil", None], tokenizer_class="Evil"),
    "auto_map without a tokenizer class": _tokenizer(auto_map=_auto_map(), tokenizer_class=None),
    "auto_map of the model": _config(auto_map=_auto_map()),
    "auto_map of everything": _ALL_CODE,
    "auto_map of an unknown type": _config(**_EVIL_TYPE),
    "auto_map of a type named like ours": _both(
        _config(**_EVIL_TYPE | {"model_type": "atenta_evil"}), _tokenizer(auto_map=_auto_map(), tokenizer_class="Evil")
    ),
    "auto_map of an unknown type with our class": _config(model_type="atenta_evil", auto_map=_auto_map()),
    "auto_map without a type": _both(_config(model_type=None, auto_map=_auto_map()), _ALL_CODE),
    **{f"auto_map of {name}": _both(_ALL_CODE, _config(model_type=name)) for name in ("bert", "gpt2", "llama")},
    **{
        f"auto_map of {name}": _both(_ALL_CODE, _config(model_type=name, is_encoder_decoder=True))
        for name in ("t5", "rag")
    },
    "trust_remote_code": _both(_ALL_CODE, _config(trust_remote_code=True), _tokenizer(trust_remote_code=True)),
    "trust_remote_code of lightglue": _config(
        model_type="lightglue",
        trust_remote_code=True,
        keypoint_detector_config={**_EVIL_TYPE, "trust_remote_code": True},
    ),
    "auto_map of a repository": _config(auto_map=_auto_map("stranger/repo--")),
    "auto_map of a repository for the tokenizer": _tokenizer(
        auto_map=_auto_map("stranger/repo--"), tokenizer_class="Evil"
    ),
    "auto_map of a path": _config(auto_map=_auto_map("../../outside/"), model_type="evil"),
    "custom_pipelines": _custom_pipelines,
    "architectures": _config(architectures=["../evil.Evil"]),
    "architectures of a module": _config(architectures=["torch"]),
    "tokenizer_class with a path": _tokenizer(tokenizer_class="../evil.Evil"),
    "tokenizer_class os.system": _both(_tokenizer(tokenizer_class="os.system"), _config(tokenizer_class="os.system")),
    "dtype": _config(dtype="__import__('os').system('touch MARKER')", torch_dtype="evil.Evil"),
    "processors": _both(
        *(
            _add(name, {"auto_map": _auto_map(), "processor_class": "Evil", "feature_extractor_type": "Evil"})
            for name in ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json")
        ),
        _tokenizer(processor_class="Evil"),
    ),
    "sentence-transformers": _sentence_transformers,
    "escapes in the type": _config(model_type=_ESCAPES, architectures=[_ESCAPES]),
    "escapes in the labels": _config(
        id2label={"0": _ESCAPES, "1": f"{_ESCAPES}1", "2": f"{_ESCAPES}2"}, label2id=None
    ),
    "escapes in the class": _both(
        _config(architectures=[f"{_ESCAPES}ForCausalLM"]), _tokenizer(tokenizer_class=_ESCAPES)
    ),
    "escapes in metrics": _add("metrics.json", {"test": {_ESCAPES: {_ESCAPES: 1.0}}, "run": {"command": _ESCAPES}}),
    "chat template": _both(_add("chat_template.jinja", _PROMPT), _add("additional_chat_templates/x.jinja", _PROMPT)),
    "chat template of the tokenizer": _tokenizer(chat_template=_PROMPT),
    "custom_generate": _both(
        lambda folder, box: _write(folder / "custom_generate/generate.py", _code(box, "generate.py")),
        _edit("generation_config.json", custom_generate="evil", trust_remote_code=True),
    ),
    "custom_generate of a repository": _edit("generation_config.json", custom_generate="stranger/repo"),
    "attn_implementation": _config(attn_implementation="stranger/attention"),
    "attn_implementation of a known owner": _config(attn_implementation="kernels-community/flash-attn2"),
    "_attn_implementation": _config(
        **dict.fromkeys(("_attn_implementation", "_attn_implementation_internal"), "kernels-community/flash-attn2")
    ),
    "kernels": _config(use_kernels=True, allow_all_kernels=True, kernel_config={"RMSNorm": "stranger/x:Norm"}),
    "experts_implementation": _config(experts_implementation="stranger/experts"),
    "quantization": _config(quantization_config={"quant_method": "torchao", "quant_type": "evil.Evil"}),
    "quantization unknown": _config(quantization_config={"quant_method": "evil", "auto_map": _auto_map()}),
    "adapter": _adapter("../../outside/other"),
    "adapter with a mapping": _adapter(
        "stranger/repo", auto_mapping={"base_model_class": "Evil", "parent_library": "evil"}
    ),
    "adapter alone": _both(_adapter("OUTSIDE/other"), _remove("config.json")),
    "adapter alone of a repository": _both(_adapter("stranger/repo"), _remove("config.json")),
    "pickle beside the weights": _pickle("pytorch_model.bin", "training_args.bin", "optimizer.pt", "model.pkl"),
    "pickle for weights": _both(_remove("model.safetensors"), _pickle("pytorch_model.bin")),
    "plain pickle for weights": _both(_remove("model.safetensors"), _pickle("pytorch_model.bin", zipped=False)),
    "pickle named safetensors": _pickle("model.safetensors"),
    "plain pickle named safetensors": _pickle("model.safetensors", zipped=False),
    "archive named safetensors": _zip_in_place_of_weights,
    "shards of pickles": _shards("pytorch_model-00001.bin"),
    "shards outside": _shards("../../outside/shard.safetensors"),
    "shards at an absolute path": _shards("OUTSIDE/shard.safetensors"),
    "_name_or_path": _config(_name_or_path="../../outside/other", name_or_path="OUTSIDE/other"),
    "_name_or_path of a repository": _config(_name_or_path="stranger/repo", name_or_path="stranger/repo"),
    "files of the tokenizer": _tokenizer(
        **dict.fromkeys(
            ("tokenizer_file", "vocab_file", "special_tokens_map_file", "added_tokens_file", "chat_template_file"),
            "OUTSIDE/secret.json",
        ),
        name_or_path="stranger/repo",
    ),
    "fast_tokenizer_files": _tokenizer(fast_tokenizer_files=["../../outside/tokenizer.4.0.0.json", "tokenizer.json"]),
    "transformers_weights": _config(transformers_weights="../../outside/shard.safetensors"),
    "spellings_file of all files": _both(
        _config(spellings_file="*"), _add("private.txt", SECRET), _pickle("optimizer.pt")
    ),
    "link for config.json": _link("config.json", "itself"),
    "link for weights": _link("model.safetensors", "itself"),
    "link for tokenizer.json": _link("tokenizer.json"),
    "link for a chat template": _link("additional_chat_templates/x.jinja"),
    "link for predictions": _link("predictions.tsv"),
    "link for metrics": _link("metrics.json", "secret.json"),
    "link for a card": _both(_link("README.md"), _link("LICENSE"), _link("a.png")),
    "tokenizer of another type": _tokenizer_json(model={"type": "Evil", "vocab": {}}),
    "normalizer of another type": _tokenizer_json(normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
    "pre_tokenizer of another type": _tokenizer_json(
        pre_tokenizer={"type": "Split", "pattern": {"Regex": "("}, "behavior": "x", "invert": 1}
    ),
}
_OF_SPELLINGS: dict[str, Damage] = {
    "spellings_file with a path": _config(spellings_file="../../outside/secret.txt"),
    "spellings_file at an absolute path": _config(spellings_file="OUTSIDE/secret.txt"),
    "spellings_file of the home": _config(spellings_file="../../home/.bashrc"),
    "spellings_file of a device": _config(spellings_file="/dev/zero"),
    "link for spellings": _link("spellings.txt"),
}
_OF_ONNX: dict[str, Damage] = {
    "link for ONNX": lambda folder, box: [
        _link(f"onnx/{path.name}")(folder, box) for path in (folder / "onnx").glob("*.onnx")
    ],
    "external data outside": _onnx(_external_data("../../../outside/weights.bin")),
    "external data at an absolute path": _onnx(_external_data("OUTSIDE/weights.bin")),
    "external data by a link": _onnx(_external_data("link.bin")),
    "foreign operators": _onnx(_foreign_operator),
    "configuration in an ONNX file": _onnx(_run_configuration),
}
HOSTILE = {**_OF_ANY, **_OF_SPELLINGS, **_OF_ONNX}
