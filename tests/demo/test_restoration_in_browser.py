"""The page restores what `restore_accents` and `restore_text` restore, character for character."""

import csv
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from atenta import AtentaEncoderDecoderForConditionalGeneration, AtentaTokenizer, restore_accents, restore_text
from atenta.restoration.character_codes import RESTORED

PREDICTIONS = Path(__file__).parents[2] / "restoration" / "portuguese_accents" / "predictions.tsv"
NEAR = 0.03  # two builds of onnxruntime may round a number of an int8 model up and down, which doubtful ones show
# Takes several times texts, what to restore, and a variant.
READ_ALL = """async (cases) => {
  const [{ loadTagger, taggerFolder }, { counted, restored, restoredCodes }] =
    await Promise.all([import("./window_reader.js"), import("./reading.js")]);
  const taggers = {};
  const read = async (text, switches, variant) => {
    const tagger = await (taggers[taggerFolder(switches)] ??= loadTagger(taggerFolder(switches)));
    const reading = await tagger.read(text, switches, variant), { places, width, probabilities } = reading;
    return {
      text: restored(reading),
      sure: restored(reading, 0.9),
      characters: counted(reading, restoredCodes(reading)).characters,
      probabilities: Array.from(places, (place, index) => [place, probabilities[index * width]]),
    };
  };
  const found = [];
  for (const [texts, switches, variant] of cases) {
    found.push([]);
    for (const text of texts) found.at(-1).push(await read(text, switches, variant));
  }
  return found;
}"""
SWITCHES = [each for count in (1, 2, 3) for each in combinations(RESTORED, count)]
NASTY = [
    *("", "a", "\n", "e\u0301 acao nao\u0303", "a\r\nnao\r\n", "\ufeffnao", "a\x1cacao nao\u0085e\u2028voce \xa0la"),
    "İstanbul esta la, ΑΣ ς e ß: NAO É, Acao, ﬁ nao",
    "😀 acao 😀 https://x.com/acao😀nao nao 𝐀cao 中文acao nao ²acao ½",
    "joao@example.com.br e @joao.silva, #promocao e &#acao",
    "```acao` nao``` `codigo` nao `x y` nao ` acao ` ``nao``",
    "--.com acao -.-a.com nao ...acao.br a.b.c.com.br/nao»nao",
    "endere&ccedil;o, wa.me/acao, localhost:80/acao, 10.0.0.1/acao, acao.com.br:80/nao, situacao.ele/ela",
    "Pao&Agua; etc./nao, acao.srt, 2.5e-3 e 1e",
    "www.acao.com.br/nao e uol.com.br/acao, e facil.com isso e facil.com. Isso, e facil.comercio",
    "arquivo.csv e relatorio.PDF nao a+b://acao ação.py x.jpeg2 nao",
    "a" * 300 + " nao " + "acao " * 300,
    "joao " * 52 + "https://exemplo.com/acao " + "nao e " * 60,
    "Ela nao está la\u0300. Está là, ja esta acão, ÇA é",
    "Ola {usuario}, {{ acao }} ${acao} %(nao)s {maca, limao} docs/acao/ e/ou nao/acao/ja ../acao.md ~/acao /acao/nao",
    "_acao_ acao_nao 1acao acao1 d'agua guarda-chuva nao-",
]
OF_EITHER = re.compile("[eo][mn][aeiou]")
DIFFERING = [
    "o PREMIO academico de Antonio, que joga Pokemon: falamos do estomago e da femea 😀 genio economico",
    "Ténis, tenis e tênis; demos, DEMOS, os dêmos; Gomez e Jimenez, demode; e\u0301 eco\u0301nomo, genio-\u0301",
    "A mae do bebe fez pure; ele bebe e aprende croche e CARATE",
    "https://x.com/genio e genio; 中文genio genio中 a_genio 1genio genio1 fenix\r\ncolonia",
]
SPOKEN = [
    *(" ", "   ", "\n\n", "voce vem amanha ", "voce vem amanha\r\nnao sei\r\n", "ola\nana\n\nvoce vem", "sim 😀"),
    *("titulo\r\n\r\r\n eu nao sei\r\n\r\n", "\r\n\tsim  nao\n"),
    *(
        "veja https://x.com/acao",
        "fala com joao@example.com",
        "`codigo`",
        "e\u0301 ou nao\u0303 a\u0301",
        "Ja? Sim, ja.",
    ),
    "voce vem amanha nao sei se o joao vai poder ir mas eu vou",
    *("- trabalho\n- casa\n- escola", "compras\tarroz\tfeijao", "saldanha botelho e o ŉ da usP, ßaldanha, pRs"),
    *("NAO SEI", "ß ω ς İ ﬁ", "e  dois   espacos", "\ttab\u00a0e\u2028linha\x85fim", "😀"),
]


@pytest.fixture(scope="module")
def sentences():
    """Sentences of the test that the model has not been trained on, without their marks."""
    with PREDICTIONS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [row["source"] for row in rows[:: len(rows) // 360]]


def test_texts_are_restored_as_in_python(run_script, sentences):
    assert len(sentences) >= 300
    texts = [*sentences, *NASTY, "\n".join(sentences[:60])]
    differing = [text for text in texts if OF_EITHER.search(text)] + DIFFERING
    cases = [(texts, ["accents"], None), (differing, ["accents"], "br"), (differing, ["accents"], "pt")]
    for (given, _, variant), found in zip(cases, run_script(READ_ALL, cases), strict=True):
        in_python = restore_accents(given, variant=variant, return_probabilities=True)
        sure = restore_accents(given, variant=variant, min_confidence=0.9)
        for of_page, restored, sure_text in zip(found, in_python, sure, strict=True):
            assert of_page["text"] == restored.text
            places, probabilities = zip(*of_page["probabilities"]) if of_page["probabilities"] else ((), ())
            np.testing.assert_allclose(probabilities, restored.probabilities[list(places)], atol=NEAR)
            if np.all(np.abs(restored.probabilities - 0.9) > NEAR):
                assert of_page["sure"] == sure_text


def test_capitals_and_signs_are_restored_as_in_python(run_script, sentences):
    bare = [sentence.lower().replace(",", "").rstrip(".!?") for sentence in sentences[::36]]
    texts = [*bare, *NASTY, *SPOKEN, "\n".join(bare), " ".join(bare)]
    cases = [(texts, switches, None) for switches in SWITCHES]
    for switches, found in zip(SWITCHES, run_script(READ_ALL, cases), strict=True):
        options = {name: name in switches for name in RESTORED}
        in_python = restore_text(texts, **options, return_probabilities=True)
        sure = restore_text(texts, **options, min_confidence=0.9)
        for text, of_page, restored, sure_text in zip(texts, found, in_python, sure, strict=True):
            assert of_page["characters"] == len(restored.pieces)
            places, chances = zip(*of_page["probabilities"]) if of_page["probabilities"] else ((), ())
            probabilities = np.ones(len(restored.pieces) + 1)
            probabilities[list(places)] = chances
            # In Python the last character and the sign after it are one piece.
            probabilities = np.append(probabilities[:-2], probabilities[-2:].min()) if text else probabilities[:0]
            np.testing.assert_allclose(probabilities, restored.probabilities, atol=NEAR)
            if restored.probabilities.min(initial=1) > 0.5 + NEAR:
                assert of_page["text"] == restored.text, switches
            if np.all(np.abs(restored.probabilities - 0.9) > NEAR):
                assert of_page["sure"] == sure_text, switches


def test_a_long_text_is_prepared_in_parts_that_end_where_words_end(run_script):
    cut = """async (text) => [...(await import("./spans.js")).wordParts(text)]"""
    for text in ("", "nao", "acao, e\u00a0ja\n" * 9000, "a" * 70_000, "a" * 40_000 + " " * 40_000 + "b"):
        parts = run_script(cut, text)
        assert "".join(parts) == text
        assert all(part[0].isspace() for part in parts[1:])
    assert len(run_script(cut, "nao " * 30_000)) == 4


def test_half_a_character_is_an_error(run_script):
    error = """async () => {
      const { normalized } = await import("./code_points.js");
      try { return normalized("a\\ud83d"); } catch (error) { return error.message; }
    }"""
    assert run_script(error) == "The text has a lone surrogate, which is half of a character."


def test_the_encoder_decoder_writes_what_generate_writes(run_script, translator):
    write = """async (text) => {
      const { loadEncoderDecoder } = await import("./encoder_decoder.js");
      const { ids, heads } = await (await loadEncoderDecoder()).write(text);
      return { ids, sums: heads.flat().map((row) => row.reduce((sum, weight) => sum + weight)) };
    }"""
    tokenizer = AtentaTokenizer.from_pretrained(translator)
    model = AtentaEncoderDecoderForConditionalGeneration.from_pretrained(translator)
    for text in ("A acao comecou", "e\u0301 中", ""):
        found = run_script(write, text)
        expected = model.generate(**tokenizer(text, return_tensors="pt"))[0, 1:].tolist()
        assert found["ids"] == expected
        np.testing.assert_allclose(found["sums"], 1, atol=1e-5)


def test_the_graph_of_cross_attention_has_the_weights_of_the_model(site, translator):
    model = AtentaEncoderDecoderForConditionalGeneration.from_pretrained(translator, attn_implementation="eager")
    inputs = {"input_ids": [[5, 6, 7, 8, 2]], "decoder_input_ids": [[1, 9, 8, 7, 6, 5, 4]]}
    with torch.no_grad():
        outputs = model(**{name: torch.tensor(ids) for name, ids in inputs.items()}, output_attentions=True)
    session = onnxruntime.InferenceSession(site / "models" / "encoder_decoder" / "cross_attention.onnx")
    (weights,) = session.run(["weights"], {name: np.array(ids) for name, ids in inputs.items()})
    np.testing.assert_allclose(weights, torch.cat(outputs.cross_attentions).numpy(), atol=1e-5)
