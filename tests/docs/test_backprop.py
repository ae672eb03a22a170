"""The model that is trained in the page: its gradients are torch's, its counts the package's, and it learns."""

import numpy as np
import pytest
import torch
from playwright.sync_api import expect

from atenta import AtentaDecoderConfig, AtentaDecoderForCausalLM, AtentaPairVotesConfig, AtentaPairVotesForCausalLM

BLOCK = "model.layers.0"
# Where the package keeps what pronoun_model.js calls by its short name.
PARAMETERS = {
    "embeddings": "model.embeddings.embed_tokens.weight",
    "query": f"{BLOCK}.self_attn.q_proj.weight",
    "key": f"{BLOCK}.self_attn.k_proj.weight",
    "value": f"{BLOCK}.self_attn.v_proj.weight",
    "output": f"{BLOCK}.self_attn.o_proj.weight",
    "gain1": f"{BLOCK}.self_attn_frame.norm.weight",
    "shift1": f"{BLOCK}.self_attn_frame.norm.bias",
    "up": f"{BLOCK}.feed_forward.up_proj.weight",
    "upBias": f"{BLOCK}.feed_forward.up_proj.bias",
    "down": f"{BLOCK}.feed_forward.down_proj.weight",
    "downBias": f"{BLOCK}.feed_forward.down_proj.bias",
    "gain2": f"{BLOCK}.feed_forward_frame.norm.weight",
    "shift2": f"{BLOCK}.feed_forward_frame.norm.bias",
    "head": "lm_head.weight",
    "headBias": "lm_head.bias",
}
SPECIAL = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": None}
LAB = '<div class="training-lab"></div>'
RUN = """([seed, size, steps]) => {
  const asRows = (all) => Object.fromEntries(Object.entries(all).map(([name, matrix]) =>
    [name, Array.from({ length: matrix.rows }, (_, row) => [...matrix.row(row)])]));
  const { train } = makeSentences(), model = new PronounModel(makeRandom(seed)), optimizer = new AdamW(model.weights);
  for (const { data } of Object.values(model.weights)) data.forEach((_, at) => { data[at] += 0.3 * Math.sin(at); });
  const before = asRows(model.weights), batch = train.slice(0, size), found = [];
  for (let step = 0; step < steps; step++) {
    const { loss, gradients } = model.lossAndGradients(batch);
    optimizer.step(gradients);
    found.push({ loss, gradients: asRows(gradients) });
  }
  const positions = Array.from({ length: 14 }, (_, row) => [...sinusoids(14).row(row)]);
  return { before, after: asRows(model.weights), batch, found, positions, size: VOCABULARY.length };
}"""


def as_of_torch(name, rows):
    """Return a matrix of the page, which multiplies from the right as in the documents, in torch's order."""
    matrix = torch.tensor(rows, dtype=torch.float64)
    return matrix.squeeze(0) if len(matrix) == 1 else matrix if name == "embeddings" else matrix.T.contiguous()


def test_gradients_and_steps_are_those_of_torch(open_page):
    ran = open_page("").evaluate(RUN, [3, 8, 3])
    config = AtentaDecoderConfig(
        vocab_size=ran["size"], hidden_size=32, num_hidden_layers=1, num_attention_heads=1, intermediate_size=64,
        dropout=0.0, attn_implementation="eager", **SPECIAL,
    )  # fmt: skip
    model = AtentaDecoderForCausalLM(config).double()
    model.load_state_dict({PARAMETERS[name]: as_of_torch(name, rows) for name, rows in ran["before"].items()})
    table, positions = torch.tensor(ran["positions"], dtype=torch.float64), model.model.embeddings.positions
    torch.testing.assert_close(table.float(), positions.compute(torch.arange(14)), atol=2e-6, rtol=0)
    positions.table = table  # of float64, where the package computes in float32
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    ids = torch.tensor([sentence["ids"] for sentence in ran["batch"]])
    targets = torch.tensor([sentence["target"] for sentence in ran["batch"]])
    parameters = dict(model.named_parameters())
    assert parameters.keys() == set(PARAMETERS.values())
    for found in ran["found"]:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(input_ids=ids).logits[:, -1], targets)
        loss.backward()
        assert found["loss"] == pytest.approx(loss.item(), rel=1e-12)
        for name, rows in found["gradients"].items():
            expected = parameters[PARAMETERS[name]].grad
            assert expected.abs().max() > 1e-5, name
            torch.testing.assert_close(as_of_torch(name, rows), expected, atol=1e-12, rtol=1e-9, msg=name)
        optimizer.step()
    for name, rows in ran["after"].items():
        torch.testing.assert_close(as_of_torch(name, rows), parameters[PARAMETERS[name]].data, atol=1e-9, rtol=0)


@pytest.mark.parametrize("max_distance", [None, 1])
def test_counts_are_those_of_the_package(open_page, max_distance):
    counted = open_page("").evaluate(
        """(distance) => { const sentences = makeSentences();
          return { ...sentences, ...countVotes(sentences, distance ?? Infinity), size: VOCABULARY.length }; }""",
        max_distance,
    )
    train, held = (
        torch.tensor([[*each["ids"], each["target"]] for each in counted[part]]) for part in ("train", "held")
    )
    config = AtentaPairVotesConfig(vocab_size=counted["size"], max_distance=max_distance, **SPECIAL)
    model = AtentaPairVotesForCausalLM(config).fit(train)
    logits = model(input_ids=held[:, :-1], logits_to_keep=1).logits[:, -1]
    assert counted["loss"] == pytest.approx(torch.nn.functional.cross_entropy(logits, held[:, -1]).item(), rel=1e-5)
    assert counted["accuracy"] == pytest.approx((logits.argmax(-1) == held[:, -1]).float().mean().item())


def curve(page, chart):
    """Return the heights of a curve, from 0 to 1, after its last point was drawn."""
    path = page.locator(f".charts figure:nth-child({chart}) path").get_attribute("d")
    heights = [float(point.split()[1]) for point in path.replace("M", "L").split("L")[1:]]
    return (150 - np.array(heights)) / 138


def test_the_pronoun_model_learns_in_the_page(open_page):
    page = open_page(LAB, language="pt-BR", viewport={"width": 390, "height": 800}, color_scheme="dark")
    figures, said = page.locator(".figures"), page.locator(".figures [role=status]")
    own = page.locator(".sentence").first
    untrained = own.locator(".word").evaluate_all("all => all.map((one) => +one.dataset.weight)")
    assert max(untrained) < 0.1
    assert sum(untrained) == pytest.approx(1)

    page.clock.install()
    page.get_by_role("button", name="Treinar").press("Enter")
    page.clock.run_for(20_000)
    expect(figures).to_contain_text("200.")
    expect(said).to_have_text("Pronto.")
    right = curve(page, 2)
    assert right[0] < 0.1
    assert right[-1] > 0.95
    assert curve(page, 1)[-1] < 0.05  # far below both lines
    word = own.locator(".word", has_text="impressora")
    assert float(word.get_attribute("data-weight")) > 0.9
    expect(own.locator(".answer")).to_contain_text("ela")
    assert page.locator(".sentence .answer.right").count() == 4


def test_a_seed_decides_all_and_the_buttons_stop_and_begin_again(open_page):
    page = open_page(LAB)
    figures, seed = page.locator(".figures"), page.get_by_label("Seed")
    step, train = page.get_by_role("button", name="One step"), page.get_by_role("button", name="Train")
    begin = page.get_by_role("button", name="Begin again")
    fresh = figures.inner_text()
    assert page.evaluate("TRAINING_WORDS.done") == "Done."

    def three_steps():
        for _ in range(3):
            step.click()
        return figures.inner_text()

    first = three_steps()
    assert "Step 3." in first
    begin.click()
    assert figures.inner_text() == fresh
    assert three_steps() == first
    seed.fill("7")
    seed.press("Enter")
    expect(figures).to_contain_text("Step 0.")
    assert three_steps() != first

    train.click()
    expect(figures).not_to_contain_text("Step 3.")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("status").first).to_have_text("Stopped.")
    stopped = figures.inner_text()
    page.evaluate("() => new Promise((end) => requestAnimationFrame(() => requestAnimationFrame(end)))")
    assert figures.inner_text() == stopped


def test_a_sentence_of_the_readers_is_read_or_its_unknown_words_named(open_page):
    page = open_page(LAB)
    own, words = page.get_by_label("A sentence of yours"), page.locator(".sentence").first.locator(".word")
    own.fill("descubra  se a bateria ou")
    expect(page.locator(".refused")).to_contain_text("a, ou")
    expect(words).to_have_count(0)
    own.fill("Bateria e modelo descubra se")
    expect(page.locator(".refused")).to_have_text("")
    expect(words).to_have_count(6)
    assert sum(words.evaluate_all("all => all.map((one) => +one.dataset.weight)")) == pytest.approx(1)
    own.fill("")
    expect(words).to_have_count(1)
