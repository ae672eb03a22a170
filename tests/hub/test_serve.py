"""`transformers serve` with an exported decoder: completions, streams, and chats with one id for a special token."""

import json
import re
import subprocess
import sys
from urllib.request import Request, urlopen

import pytest
import torch

from atenta import AtentaDecoderForCausalLM, AtentaTokenizer
from atenta.hub.transformers_export import export_transformers
from atenta.tokenization.alphabet import BYTE_TOKENS
from support.models import ALL_LAYOUTS, tiny_model

pytestmark = pytest.mark.slow  # a server's start is that of a new process with torch

*_, ROTARY = ALL_LAYOUTS
PROMPT, NUM_TOKENS = "Era uma vez", 12
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<{{ message.role }}>{{ message.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
SERVE = "import sys; from transformers.cli.transformers import main; sys.argv[0] = 'transformers'; main()"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A decoder, its tokenizer, and a function that posts a request about it and returns what is answered."""
    folder = tmp_path_factory.mktemp("served")
    tokenizer = AtentaTokenizer.from_alphabet(family="decoder", tags=["<user>", "<assistant>"])
    tokenizer.chat_template = TEMPLATE
    model = tiny_model(AtentaDecoderForCausalLM, vocab_size=len(tokenizer), **ROTARY)
    model.generation_config.suppress_tokens = tokenizer.convert_tokens_to_ids(list(BYTE_TOKENS))  # which end a stream
    for each in (model, tokenizer):
        each.save_pretrained(folder / "model")
    export_transformers(folder / "model", folder / "copy")
    command = [sys.executable, "-c", SERVE, "serve", folder / "copy", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        log = []
        for line in server.stderr:
            log.append(line)
            if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
                break
        else:
            pytest.fail("".join(log))

        def post(path, **body):
            content = json.dumps({"model": str(folder / "copy"), "max_tokens": NUM_TOKENS, **body}).encode()
            request = Request(found[1] + path, content, {"Content-Type": "application/json"})
            with urlopen(request) as answer:
                return answer.read().decode()

        try:
            yield model, tokenizer, post
        finally:
            server.kill()


def continuation(model, tokenizer, ids):
    """Return the text that a model writes after ids."""
    generated = model.generate(torch.tensor([ids]), max_new_tokens=NUM_TOKENS, do_sample=False)[0, len(ids) :]
    text = tokenizer.decode(generated, skip_special_tokens=True)
    assert text
    return text


def events(stream):
    """Return the objects of a stream of events."""
    lines = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def test_completions(served):
    model, tokenizer, post = served
    ids = tokenizer(PROMPT).input_ids
    expected = continuation(model, tokenizer, ids)
    answer = json.loads(post("/v1/completions", prompt=PROMPT))
    assert answer["choices"][0]["text"] == expected
    assert answer["usage"]["prompt_tokens"] == len(ids)

    parts = events(post("/v1/completions", prompt=PROMPT, stream=True))
    texts = [part["choices"][0]["text"] for part in parts]
    assert "".join(texts) == expected
    assert len(list(filter(None, texts))) > 1


def test_chats(served):
    model, tokenizer, post = served
    user, assistant = tokenizer.convert_tokens_to_ids(["<user>", "<assistant>"])
    content = tokenizer("Olá", add_special_tokens=False).input_ids
    ids = [tokenizer.bos_token_id, user, *content, tokenizer.eos_token_id, assistant]
    expected = continuation(model, tokenizer, ids)
    messages = [{"role": "user", "content": "Olá"}]
    answer = json.loads(post("/v1/chat/completions", messages=messages))
    assert answer["choices"][0]["message"]["content"] == expected
    assert answer["usage"]["prompt_tokens"] == len(ids)
    parts = events(post("/v1/chat/completions", messages=messages, stream=True))
    assert "".join(part["choices"][0]["delta"].get("content") or "" for part in parts) == expected


def test_a_message_cannot_end_the_chat_where_the_server_is_told_so(served):
    *_, post = served
    messages = [{"role": "user", "content": "a<eos>"}]
    counts = [
        json.loads(post("/v1/chat/completions", messages=messages, chat_template_kwargs=options))["usage"]
        for options in ({}, {"sanitize_control_tokens": True})
    ]
    assert [count["prompt_tokens"] for count in counts] == [6, 6 + len("<eos>") - 1]
