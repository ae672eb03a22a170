"""A folder is pushed in one commit, without side files, asks before it replaces, and goes on after a fault."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import ModelCard, close_session, constants
from transformers import AutoModelForCausalLM

from atenta import AtentaDecoderForCausalLM, AtentaEncoderForTokenClassification
from atenta.engines.choice import file_name
from atenta.engines.onnx_models import WEIGHTS_KEY, weights_digest
from atenta.hub import publishing
from atenta.hub.card import write_model_card
from atenta.hub.card_facts import CardFacts
from atenta.hub.publishing import PushError, check_pushable, plan_push, push_folder
from support.local_hub import READER, REFUSED, Fault, used_hub
from support.saved import edit_json, save_with_tokenizer

REPOSITORY = "tester/tiny-model"
METRICS = {"test": {"baseline": {"accuracy": 0.25}, "model": {"accuracy": 0.5}}, "card": {"data": "tales"}}
SIDE_FILES = (
    *("checkpoint-2/model.safetensors", "checkpoint-2/optimizer.pt", ".lock", "options.yaml", "options.yaml.tmp"),
    *("bad_rows.tsv", "predictions.tsv", "pytorch_model.bin", "training_args.bin", "spellings.txt", "notes.txt"),
    ".env",
)


@pytest.fixture
def hub(monkeypatch):
    with used_hub(monkeypatch) as server:
        yield server


@pytest.fixture
def folder(tmp_path):
    """The output folder of a run, with files that stay at home."""
    folder = tmp_path / "outputs" / "tiny"
    save_with_tokenizer(AtentaDecoderForCausalLM, folder)
    (folder / "metrics.json").write_text(json.dumps(METRICS), encoding="utf-8")
    (folder / "learning_curve.png").write_bytes(b"picture")
    write_model_card(folder)
    for name in SIDE_FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"side")
    return folder


def add_onnx(folder, quantization="int8"):
    """Write what push knows an export by: the digest of the weights, as the file has them, and in int8 a node."""
    (folder / "onnx").mkdir()
    node = '"\x0bMatMulNBits' if quantization else ""
    told = f"{node}{WEIGHTS_KEY}\x12@{weights_digest(folder)}"  # entries of protocol buffers
    (folder / "onnx" / file_name("model", quantization)).write_bytes(told.encode())


def commits(hub, repository=REPOSITORY):
    return len(hub.storage.repositories[repository].commits) - 1  # the first is of the empty repository


def refusal(folder, repository=REPOSITORY, **options) -> str:
    """Return the one line with which a push is refused."""
    with pytest.raises(PushError) as error:
        push_folder(folder, repository, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_what_is_sent_and_what_stays(hub, folder):
    add_onnx(folder)
    card_before = (folder / "README.md").read_bytes()
    (plan,) = plan_push(folder, REPOSITORY)
    assert str(plan).startswith(f"{REPOSITORY} (new): add ")
    assert (plan.exists, plan.replaces) == (False, False)
    assert not hub.storage.repositories
    assert not [each for each in hub.requests if each.startswith(("POST", "PUT"))]
    assert push_folder(folder, "tiny-model") == f"{hub.url}/{REPOSITORY}"  # a name without an owner is the user's
    sent = hub.storage.files(REPOSITORY)
    assert set(plan.added) == set(sent)
    expected = {
        *("model.safetensors", "config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"),
        *("metrics.json", "learning_curve.png", "onnx/model_int8.onnx"),
    }
    assert {name for name in sent if not name.endswith(".py")} == {*expected, "README.md"}
    assert "modeling_decoder.py" in sent
    for name in expected:
        assert sent[name] == (folder / name).read_bytes()
    card = ModelCard(sent["README.md"].decode())
    for stated in (f'"{REPOSITORY}"', "# Tiny model", "tales"):
        assert stated in card.text
    assert (folder / "README.md").read_bytes() == card_before
    assert hub.storage.repositories[REPOSITORY].private
    (plan,) = plan_push(folder, REPOSITORY)
    assert (plan.added, plan.changed, plan.removed) == ((), (), ())
    assert "nothing to send" in str(plan)
    push_folder(folder, REPOSITORY)
    assert commits(hub) == 1


@pytest.fixture
def restorer(tmp_path):
    """The folder of a restorer of characters, which reads spellings."""
    labels = {"id2label": {0: "a", 1: "á"}, "label2id": {"a": 0, "á": 1}, "type_vocab_size": 2}
    options = {"character_variants": {"a": "aá"}, "spellings_file": "words.txt", "window_length": 30, **labels}
    save_with_tokenizer(AtentaEncoderForTokenClassification, tmp_path / "m", **options)
    (tmp_path / "m" / "words.txt").write_text("a", encoding="utf-8")
    return tmp_path / "m"


def test_the_spellings_of_a_restorer_and_the_readings_beside_a_model_of_phones_are_sent(hub, restorer, folder):
    add_onnx(restorer)
    push_folder(restorer, REPOSITORY, collection="Restorers")
    for repository in (REPOSITORY, f"{REPOSITORY}-onnx"):
        assert hub.storage.files(repository)["words.txt"] == b"a"
    (folder / "readings.txt").write_text("br\tde\td ʒ ɪ\n", encoding="utf-8")
    push_folder(folder, "tester/phones")
    assert hub.storage.files("tester/phones")["readings.txt"].decode() == "br\tde\td ʒ ɪ\n"


@pytest.mark.parametrize("name", ["*", ".env", "options.yaml", "../words.txt", "onnx/a.txt", "", 3])
def test_spellings_of_another_name_are_refused(name, hub, restorer):
    before = edit_json(restorer / "config.json", spellings_file=name)
    for stays in (".env", ".words.txt", "options.yaml", "training_args.bin"):
        (restorer / stays).write_bytes(b"side")
    assert f"config.json is damaged: spellings_file is {name!r}" in refusal(restorer)
    edit_json(restorer / "config.json", **before)
    (restorer / "words.txt").unlink()
    assert "words.txt" in refusal(restorer)
    assert not hub.requests


def test_links_and_hidden_files_stay_and_are_named(hub, folder, tmp_path):
    outside = tmp_path / "outside"
    (outside / "onnx").mkdir(parents=True)
    for name in ("secret", "onnx/model.onnx"):
        (outside / name).write_bytes(b"outside")
    links = {"LICENSE": "secret", "notes.png": "secret", "modeling_more.py": "secret", "onnx": "onnx"}
    for name, target in links.items():
        (folder / name).symlink_to(outside / target)
    (folder / "metrics.json").replace(outside / "metrics.json")
    (folder / "metrics.json").symlink_to(outside / "metrics.json")
    (folder / "LICENSE.txt").symlink_to("config.json")
    for name in (".hidden.py", ".LICENSE", ".picture.png"):
        (folder / name).write_bytes(b"hidden")
    (plan,) = plan_push(folder, REPOSITORY)
    push_folder(folder, REPOSITORY)
    sent = hub.storage.files(REPOSITORY)
    stay = {*links, "metrics.json", "LICENSE.txt", ".hidden.py", ".LICENSE", ".picture.png", "onnx/model.onnx"}
    assert not stay & set(sent)
    assert b"outside" not in sent.values()
    assert b"tales" not in sent["README.md"]  # which the metrics tell
    linked = {f"{name} (a link)" for name in (*links, "metrics.json", "LICENSE.txt")}
    assert linked <= set(plan.left_out)
    assert {".hidden.py", ".env", "options.yaml", "training_args.bin", "checkpoint-2/"} <= set(plan.left_out)
    assert set(plan.left_out).isdisjoint(sent)
    assert "LICENSE (a link)" in str(plan)
    assert "has no onnx folder" in refusal(folder, collection="Tiny models")


def link(path):
    target = path.parent.parent / path.name
    path.replace(target)  # as in the cache of the Hub
    path.symlink_to(target)


def pipe(path):
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def write(content):
    return lambda path: path.write_bytes(content)


TOKEN = f"hf_{'a1B' * 11}"


@pytest.mark.parametrize(
    ("damage", "name", "stated"),
    [
        *((link, name, "is a link") for name in ("config.json", "model.safetensors", "tokenizer.json")),
        *((pipe, name, "is neither") for name in ("README.md", "onnx/model.onnx", "config.json")),
        *((Path.unlink, name, "found no ") for name in ("tokenizer_config.json", "config.json", "model.safetensors")),
        (write(b" "), "model.safetensors", ""),
        (write(b"{"), "metrics.json", ""),
        (write(b'{"card": {"rows": {"train": "many"}}}'), "metrics.json", "train"),
        (write(json.dumps({"run": {"command": f"x --hub_token {TOKEN}"}}).encode()), "metrics.json", "like a token"),
        (write(b'{"model_type": "atenta_decoder", "hidden_size": "x"}'), "config.json", "hidden_size"),
        (write(b'{"model": 3}'), "tokenizer.json", "model.vocab"),
        (write(b"\xff"), "README.md", ""),
    ],
)
def test_a_folder_that_cannot_be_pushed(damage, name, stated, hub, folder):
    add_onnx(folder)
    damage(folder / name)
    message = refusal(folder)
    assert name in message
    assert stated in message
    assert TOKEN not in message
    assert not hub.requests


def test_weights_in_several_files_are_sent_together(hub, folder):
    AutoModelForCausalLM.from_pretrained(folder).save_pretrained(folder, max_shard_size="20KB")
    shards = {path.name for path in folder.glob("model-*.safetensors")}
    assert len(shards) > 1
    stray = "model-00009-of-00009.safetensors"
    (folder / "model.safetensors").unlink(missing_ok=True)
    (folder / stray).write_bytes(b"of an earlier run")
    push_folder(folder, REPOSITORY)
    sent = set(hub.storage.files(REPOSITORY))
    assert {name for name in sent if name.startswith("model") and "safetensors" in name} == {
        *shards,
        "model.safetensors.index.json",
    }
    (folder / min(shards)).unlink()
    assert f"found no {min(shards)}" in refusal(folder)
    index = json.loads((folder / "model.safetensors.index.json").read_text(encoding="utf-8"))
    for name in ("../x.safetensors", ".env", "options.yaml", "*", None, []):
        weight_map = dict.fromkeys(index["weight_map"], name)
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
        assert f"index.json: weight_map has {name!r}" in refusal(folder)


def test_graphs_of_other_weights_are_refused_with_the_command_that_mends_it(hub, folder):
    add_onnx(folder, None)
    push_folder(folder, REPOSITORY)
    assert [name for name in hub.storage.files(REPOSITORY) if name.startswith("onnx/")]
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    requests = len(hub.requests)
    for options in ({"replace": True}, {"replace": True, "collection": "Tiny models"}):
        message = refusal(folder, **options)
        assert ".onnx was not made of the weights" in message
        assert f"atenta export {folder}" in message
    for path in (folder / "onnx").iterdir():
        path.rename(path.with_stem(f"{path.stem}_int8"))
    assert f"atenta export {folder} --quantization int8" in refusal(folder, replace=True)
    assert len(hub.requests) == requests


def test_files_of_others_in_the_repository_stay(hub, folder):
    push_folder(folder, REPOSITORY)
    found = hub.storage.repositories[REPOSITORY]
    theirs = {"photo.jpg", "models/x.safetensors", "scripts/train.py", "modelling/onnx/a.onnx", ".mine.py"}
    for name in theirs:
        found.commits[found.head][name] = hub.storage.add(b"theirs")
    (plan,) = plan_push(folder, REPOSITORY)
    assert plan.removed == ()
    (folder / "metrics.json").write_text("{}", encoding="utf-8")
    push_folder(folder, REPOSITORY, replace=True)
    assert theirs <= set(hub.storage.files(REPOSITORY))


def test_an_edited_card_is_pushed_as_it_is(hub, folder):
    path = folder / "README.md"
    path.write_text(path.read_text(encoding="utf-8").replace("tales", "my tales"), encoding="utf-8")
    push_folder(folder, REPOSITORY)
    assert hub.storage.files(REPOSITORY)["README.md"] == path.read_bytes()


def test_what_a_person_adds_to_the_metadata_stays(hub, folder):
    card = folder / "README.md"
    card.write_text(card.read_text(encoding="utf-8").replace("---\n", "---\nlicense: mit\n", 1), encoding="utf-8")
    push_folder(folder, REPOSITORY)
    pushed = ModelCard(hub.storage.files(REPOSITORY)["README.md"].decode())
    assert pushed.data.license == "mit"
    assert f'"{REPOSITORY}"' in pushed.text  # and the rest is filled in


def test_nothing_is_replaced_unless_told(hub, folder):
    push_folder(folder, REPOSITORY)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "modeling_decoder.py").unlink()
    (folder / "modeling_extra.py").write_text("", encoding="utf-8")
    before = hub.storage.files(REPOSITORY)
    message = refusal(folder)
    for stated in ("add modeling_extra.py", "replace model.safetensors", "remove modeling_decoder.py", "replace=True"):
        assert stated in message
    assert hub.storage.files(REPOSITORY) == before
    (plan,) = plan_push(folder, REPOSITORY)
    assert (plan.added, plan.removed) == (("modeling_extra.py",), ("modeling_decoder.py",))
    push_folder(folder, REPOSITORY, replace=True)
    after = hub.storage.files(REPOSITORY)
    assert after["model.safetensors"] == (folder / "model.safetensors").read_bytes()
    assert "modeling_decoder.py" not in after
    assert "modeling_extra.py" in after


@pytest.mark.parametrize("private", [False, True])
def test_the_visibility_of_a_repository_is_not_changed(private, hub, folder):
    push_folder(folder, REPOSITORY, private=private)
    assert hub.storage.repositories[REPOSITORY].private is private
    assert f"private={not private} was given" in refusal(folder, private=not private)


def test_a_collection_of_the_model_and_its_onnx_files(hub, folder):
    add_onnx(folder)
    address = push_folder(folder, REPOSITORY, collection="Tiny models")
    (found,) = hub.storage.collections.values()
    assert address == f"{hub.url}/collections/{found.slug}"
    assert (found.title, found.private) == ("Tiny models", True)
    assert found.items == [REPOSITORY, f"{REPOSITORY}-onnx"]
    original, variant = (hub.storage.files(name) for name in found.items)
    assert not [name for name in original if name.startswith("onnx/")]
    names = {"onnx/model_int8.onnx", "config.json", "tokenizer.json", "tokenizer_config.json", "README.md"}
    assert set(variant) == names | {"generation_config.json"}
    card = ModelCard(variant["README.md"].decode())
    assert card.data.base_model == REPOSITORY
    assert card.data.base_model_relation == "quantized"
    assert "onnx" in card.data.tags
    assert card.data.eval_results is None
    assert 'quantization="int8"' in card.text
    assert hub.storage.repositories[f"{REPOSITORY}-onnx"].private
    assert push_folder(folder, REPOSITORY, collection="Tiny models") == address  # again: nothing changes
    assert (commits(hub), commits(hub, f"{REPOSITORY}-onnx"), len(found.items)) == (1, 1, 2)


FULL = f"{REPOSITORY} is full: the Hub says"
STORAGE = "Private repository storage limit reached, please upgrade your plan"


@pytest.mark.parametrize(
    ("repository", "token", "fault", "stated"),
    [
        *((name, None, None, "expected OWNER/NAME") for name in ("a/b/c", "ana/ação", "ana/-x-", "ana/" + "x" * 100)),
        (REPOSITORY, REFUSED, None, "The Hub refuses the token (401): `hf auth login`"),
        (REPOSITORY, None, Fault("/info/lfs/", "POST", 413, "Payload too large"), FULL),
        (REPOSITORY, None, Fault("/info/lfs/", "POST", 403, STORAGE), FULL),
        (REPOSITORY, None, Fault("/commit/", "POST", 507, "Insufficient storage"), FULL),
    ],
)
def test_a_push_that_the_hub_refuses(repository, token, fault, stated, hub, folder):
    hub.faults += [replace(fault, times=100)] if fault else []
    message = refusal(folder, repository, token=token)
    assert stated in message
    assert fault is None or fault.message in message
    assert not any(hub.storage.files(name) for name in hub.storage.repositories)


def test_a_token_that_may_not_write(hub, folder):
    assert f"The token may not write to {REPOSITORY} (403)" in refusal(folder, token=READER)
    push_folder(folder, REPOSITORY)
    (folder / "metrics.json").write_text("{}", encoding="utf-8")
    before = hub.storage.files(REPOSITORY)
    assert "(403)" in refusal(folder, token=READER, replace=True)
    assert hub.storage.files(REPOSITORY) == before


def test_no_token(hub, folder, monkeypatch, tmp_path):
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "none"))
    monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(tmp_path / "none either"))
    assert refusal(folder).startswith("No token of the Hub was found: `hf auth login`")


def test_a_connection_that_is_lost_for_good_and_the_next_push(hub, folder):
    hub.faults.append(Fault("/commit/", "POST", times=100))
    message = refusal(folder)
    assert message.startswith("The connection to the Hub was lost or cannot be made (")
    assert message.endswith("it is kept: push again, and the rest is sent.")
    assert hub.storage.files(REPOSITORY) == {}  # no half of it
    hub.faults.clear()
    hub.requests.clear()
    push_folder(folder, REPOSITORY)
    assert not [each for each in hub.requests if each.startswith("PUT")]  # the weights are there already
    assert commits(hub) == 1


def test_a_commit_whose_answer_is_lost_is_not_made_twice(hub, folder, monkeypatch):
    create = publishing.HfApi.create_commit

    def lose_the_answer(self, *arguments, **options):
        monkeypatch.setattr(publishing.HfApi, "create_commit", create)
        create(self, *arguments, **options)
        raise ConnectionError("gone")

    monkeypatch.setattr(publishing.HfApi, "create_commit", lose_the_answer)
    push_folder(folder, REPOSITORY)
    assert commits(hub) == 1


def test_a_half_upload_makes_no_commit_and_one_that_is_lost_is_repeated(hub, folder):
    hub.faults.append(Fault("/_lfs/", forget=True))
    assert "LFS pointer pointed to a file that does not exist: model.safetensors" in refusal(folder)
    assert hub.storage.files(REPOSITORY) == {}
    hub.faults.append(Fault("/_lfs/"))
    push_folder(folder, REPOSITORY)
    assert hub.storage.files(REPOSITORY)["model.safetensors"] == (folder / "model.safetensors").read_bytes()
    assert commits(hub) == 1


def test_a_repository_that_changes_meanwhile_is_not_overwritten(hub, folder, monkeypatch):
    push_folder(folder, REPOSITORY)
    (folder / "metrics.json").write_text("{}", encoding="utf-8")
    create, found = publishing.HfApi.create_commit, hub.storage.repositories[REPOSITORY]

    def after_another(self, *arguments, **options):
        found.commits["b" * 40] = {**found.commits[found.head], "metrics.json": hub.storage.add(b"theirs")}
        found.head = "b" * 40
        return create(self, *arguments, **options)

    monkeypatch.setattr(publishing.HfApi, "create_commit", after_another)
    assert "was changed by somebody else meanwhile (412)" in refusal(folder, replace=True)
    assert hub.storage.files(REPOSITORY)["metrics.json"] == b"theirs"


def test_a_card_with_metadata_that_the_hub_refuses(hub, folder):
    write_model_card(folder, CardFacts(data="tales", licence="my own"))
    (folder / "README.md").write_text((folder / "README.md").read_text(encoding="utf-8") + "Mine.", encoding="utf-8")
    message = refusal(folder)
    assert message.startswith('Invalid metadata in README.md. - "license" must be one of')
    assert hub.storage.files(REPOSITORY) == {}


def test_without_network(hub, folder, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    close_session()
    assert refusal(folder) == "HF_HUB_OFFLINE is set, so nothing can be sent: unset it."
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    close_session()
    hub.server_close()
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:1")
    assert refusal(folder).startswith("The connection to the Hub was lost or cannot be made (ConnectError")


def test_what_can_be_told_before_a_training(hub, folder):
    check_pushable(REPOSITORY)
    assert not hub.storage.repositories
    publishing.HfApi().create_repo(REPOSITORY, private=True)
    check_pushable(REPOSITORY)
    publishing.HfApi().upload_file(
        path_or_fileobj=b"---\nlicense: mit\n---\n", path_in_repo="README.md", repo_id=REPOSITORY
    )
    with pytest.raises(PushError, match=r"has README\.md already"):
        check_pushable(REPOSITORY)
    push_folder(folder, REPOSITORY, replace=True)
    with pytest.raises(PushError, match="has a model already"):
        check_pushable(REPOSITORY)
    check_pushable(REPOSITORY, replace=True)
    with pytest.raises(PushError, match="is private and private=False was given"):
        check_pushable(REPOSITORY, private=False, replace=True)
    with pytest.raises(PushError, match="refuses the token"):
        check_pushable("tester/other", token=REFUSED)
