"""Draws the diagrams of the course: `python docs/diagrams` writes them to docs/_static, in both languages."""

import math
from collections.abc import Callable
from pathlib import Path

from drawing import FILL, Diagram
from restored import restored

FOLDER = Path(__file__).parents[1] / "_static"


def attention(say: Diagram) -> str:
    """One head, from characters to its output, with the scores of document 2's causal example."""
    letters = "casa"
    for row, letter in enumerate(letters):
        say.text(206, 38 + 20 * row, letter, "middle")
    say.matrix(220, 22, 4, 6, "embedding")
    say.text(352, 50, "x", "bold")
    say.text(352, 72, say("(caracteres, hidden_size)", "(characters, hidden_size)"), "shape")
    say.line((280, 102), (280, 120), arrow=False)
    say.line((92, 120), (468, 120), arrow=False)
    names = say("consultas chaves valores", "queries keys values").split()
    for x, letter, name in zip((92, 280, 468), "QKV", names):
        say.line((x, 120), (x, 138))
        say.box(x - 42, 140, 84, 32, "attention", f"× W^{letter}")
        say.line((x, 172), (x, 194))
        say.matrix(x - 30, 196, 4, 3, "attention")
        say.text(x + 38, 230, letter, "bold")
        say.text(x + 38, 250, name)
    say.text(294, 304, say("(caracteres, head_dim) cada um", "(characters, head_dim) each"), "shape")

    scores = [[1.0, 0.5, 0.2, 0.1], [0.8, 1.2, 0.6, 0.3], [0.4, 0.7, 1.1, 0.9], [0.2, 0.5, 0.8, 1.3]]
    say.line((280, 276), (280, 300), (92, 300), arrow=False)
    say.line((92, 276), (92, 320))
    names = say("pontuações máscara pesos", "scores mask weights").split()
    ways = "QK^T / √head_dim", say("0 ou −∞ (causal)", "0 or −∞ (causal)"), "softmax"
    for x, name, way in zip((36, 228, 420), names, ways):
        say.text(x + 72, 338, name, "middle bold")
        say.text(x + 72, 358, way, "middle shape")
        for place, letter in enumerate(letters):
            say.text(x + 36 * place + 18, 382, letter, "middle tiny")
            say.text(x - 10, 412 + 36 * place, letter, "middle tiny")
    for row in range(4):
        total = sum(math.exp(score) for score in scores[row][: row + 1])
        for column in range(4):
            seen, y = column <= row, 388 + 36 * row
            weight = math.exp(scores[row][column]) / total if seen else 0.0
            cells = say.number(scores[row][column]), "0" if seen else "−∞", say.number(weight) if seen else "0"
            for x, cell, is_scores, shade in zip((36, 228, 420), cells, (True, False, False), (0.25, 0.0, weight)):
                fill = FILL["hidden"][0] if not seen and not is_scores else "#8fbcf2"
                opacity = 1 if not seen and not is_scores else shade
                say.parts.append(
                    f'<rect x="{x + 36 * column}" y="{y}" width="36" height="36" fill="{fill}" '
                    f'fill-opacity="{opacity:.2f}" stroke="#2f6db3" stroke-width="0.8"/>'
                )
                classes = "middle tiny light" if not seen and not is_scores else "middle tiny"
                say.text(x + 36 * column + 18, y + 23, cell, classes)
    say.text(199, 466, "+", "middle bold")
    say.line((376, 460), (402, 460))

    say.line((492, 532), (492, 570))
    say.sign(492, 584, "×")
    say.line((468, 276), (468, 284), (584, 284), (584, 584), (506, 584))
    say.line((480, 584), (346, 584))
    say.matrix(282, 548, 4, 3, "attention")
    say.text(270, 580, say("saída: média dos valores", "output: mean of the values"), "end bold")
    say.text(270, 602, say("(caracteres, head_dim)", "(characters, head_dim)"), "end shape")
    note = say(
        "Várias cabeças fazem o mesmo lado a lado, com a forma\n(lote, cabeças, caracteres, head_dim). Suas saídas se "
        "juntam,\ne uma projeção as leva a (lote, caracteres, hidden_size).",
        "Several heads do the same side by side, in the shape\n(batch, heads, characters, head_dim). Their "
        "outputs are joined,\nand a projection takes them to (batch, characters, hidden_size).",
    )
    say.line((24, 644), (576, 644), arrow=False, kind="line dashed")
    say.text(300, 668, note, "middle shape", step=20)
    return say.svg(
        600,
        726,
        say("Uma cabeça de atenção", "One attention head"),
        say(
            "Os vetores x dos caracteres c, a, s, a viram consultas Q, chaves K e valores V. Às pontuações "
            "QKᵀ/√head_dim soma-se a máscara, −∞ acima da diagonal. O softmax dá os pesos, e a saída é a média "
            "dos valores com eles.",
            "The vectors x of the characters c, a, s, a become queries Q, keys K and values V. The mask, −∞ above the "
            "diagonal, is added to the scores QKᵀ/√head_dim. Softmax gives the weights of the mean of the values, the "
            "output.",
        ),
    )


def block(say: Diagram) -> str:
    """A block with the norm before each sub-layer, and one with the norm after the sum."""
    attention, batch = say("Atenção", "Attention"), say("lote", "batch")
    heads, characters = say("cabeças", "heads"), say("caracteres", "characters")
    orders = (
        (127, say("LayerNorm antes", "LayerNorm before"), "norm_first=True", ("norm", "sub", "add")),
        (471, say("LayerNorm depois", "LayerNorm after"), say("como nos documentos", "as in the documents"),
         ("sub", "add", "norm")),
    )  # fmt: skip
    for x, title, subtitle, order in orders:
        say.text(x, 34, title, "middle bold")
        say.text(x, 55, subtitle, "middle shape")
        say.line((x, 72), (x, 98), arrow=False)
        y = 98
        for sub in (("attention", attention), ("feed-forward", "Feed-forward")):
            branch = y - 8
            for part in order:
                if part == "add":
                    say.line((x, y), (x, y + 16))
                    say.line((x, branch), (x - 97, branch), (x - 97, y + 30), (x - 14, y + 30))
                    say.sign(x, y + 30)
                    y += 42
                else:
                    height = 34 if part == "norm" else 46
                    say.line((x, y), (x, y + 14))
                    say.box(x - 75, y + 16, 150, height, *(("norm", "LayerNorm") if part == "norm" else sub))
                    y += 16 + height
            say.line((x, y), (x, y + 22), arrow=False)
            y += 22
        say.line((x, y), (x, y + 14))
    last = say("Depois do último bloco,\nmais uma LayerNorm.", "One more LayerNorm\nafter the last block.")
    say.text(127, 486, last, "middle shape")
    shapes = (
        (85, "", f"({batch},\n{characters},\nhidden_size)"),
        (164, "attention", f"({batch}, {heads},\n{characters},\nhead_dim)"),
        (324, "feed-forward", f"({batch},\n{characters},\nintermediate_size)"),
        (420, "", f"({batch},\n{characters},\nhidden_size)"),
    )
    for y, kind, shape in shapes:
        say.text(288, y, shape, f"middle shape {kind}", step=18)
    return say.svg(
        576,
        522,
        say("Um bloco do Transformer", "A Transformer block"),
        say(
            "Dois blocos lado a lado. À esquerda: LayerNorm, atenção, soma com a entrada; LayerNorm, "
            "feed-forward, soma com a entrada. À direita: atenção, soma, LayerNorm; feed-forward, soma, "
            "LayerNorm. A forma dos dados é (lote, caracteres, hidden_size), dentro da atenção (lote, cabeças, "
            "caracteres, head_dim) e dentro da rede feed-forward (lote, caracteres, intermediate_size).",
            "Two blocks beside each other. Left: LayerNorm, attention, sum with the input; LayerNorm, "
            "feed-forward, sum with the input. Right: attention, sum, LayerNorm; feed-forward, sum, LayerNorm. "
            "The data have the shape (batch, characters, hidden_size), inside attention (batch, heads, "
            "characters, head_dim), and inside the feed-forward network (batch, characters, intermediate_size).",
        ),
    )


def embed(say: Diagram, x: float, y: float, width: float = 240) -> None:
    """Draw the way from ids to vectors, from `y` on, 68 pixels high."""
    say.line((x, y), (x, y + 18))
    say.box(x - width / 2, y + 20, width, 36, "embedding", say("embeddings + posições", "embeddings + positions"))
    say.line((x, y + 56), (x, y + 74))


def encoder(say: Diagram) -> str:
    """The encoder: every character sees all others."""
    say.tiles(20, 20, "<bos> c a ■ a <eos> <pad>", "1 15 13 419 13 2 0", letter=40)
    say.text(372, 42, say("caracteres", "characters"), "bold")
    say.text(372, 71, say("ids (lote, caracteres)", "ids (batch, characters)"), "shape")
    embed(say, 183, 82)
    hidden = say("(lote, caracteres,\nhidden_size)", "(batch, characters,\nhidden_size)")
    say.text(330, 114, hidden, "shape")
    layers = [("attention", say("Atenção", "Attention")), ("feed-forward", "Feed-forward")]
    end = say.block(88, 158, 190, layers)
    say.text(34, 254, "N ×", "bold")
    say.text(452, 174, say("quem (linha) vê quem", "who (row) sees whom"), "middle bold")
    say.sees(382, 204, ["1111110"] * 7, "• c a ■ a • ▫", "• c a ■ a • ▫", size=20)
    say.text(
        452,
        364,
        say("todos, menos o <pad> (▫)\n• <bos>, <eos>", "all, except <pad> (▫)\n• <bos>, <eos>"),
        "middle shape",
    )
    say.line((183, end), (183, 420), arrow=False)
    say.text(195, 410, hidden.replace("\n", " "), "shape")
    say.line((102, 420), (478, 420), arrow=False)
    each = say("(lote, caracteres,\n", "(batch, characters,\n")
    heads = (
        (102, say("letra escondida", "hidden letter"), f"{each}vocab_size)"),
        (290, say("etiqueta, trecho", "tag, span"), each + say("etiquetas)", "tags)")),
        (478, say("classe, do <bos>", "class, from <bos>"), say("(lote,\nclasses)", "(batch,\nclasses)")),
    )
    for x, label, shape in heads:
        say.line((x, 420), (x, 438))
        say.box(x - 86, 440, 172, 40, "head", label)
        say.text(x, 502, shape, "middle shape")
    note = say(
        "Cada tarefa tem a sua cabeça, que dá os logits.", "Each task has a head of its own, which gives the logits."
    )
    say.text(290, 554, note, "middle shape")
    return say.svg(
        580,
        574,
        say("O encoder", "The encoder"),
        say(
            "Caracteres, um deles escondido, viram ids, depois embeddings com posições; N blocos de atenção e "
            "feed-forward, em que todos veem todos, menos o preenchimento; e no fim a cabeça da tarefa: a letra "
            "escondida, uma etiqueta para cada caractere ou uma classe para o texto.",
            "Characters, one of them hidden, become ids, then embeddings with positions; N blocks of attention "
            "and feed-forward, in which all see all, except the padding; at the end the head of the task: the "
            "hidden letter, a tag for each character, or a class for the text.",
        ),
    )


def decoder(say: Diagram) -> str:
    """The decoder: every character sees itself and those before it."""
    say.tiles(22, 20, "<bos> c a s a", "1 15 13 31 13")
    say.text(334, 42, say("caracteres", "characters"), "bold")
    say.text(334, 71, say("ids (lote, caracteres)", "ids (batch, characters)"), "shape")
    embed(say, 165, 82)
    hidden = say("(lote, caracteres,\nhidden_size)", "(batch, characters,\nhidden_size)")
    say.text(334, 114, hidden, "shape")
    layers = [("attention", say("Atenção causal", "Causal attention")), ("feed-forward", "Feed-forward")]
    end = say.block(70, 158, 190, layers)
    say.text(16, 254, "N ×", "bold")
    say.text(432, 174, say("quem (linha) vê quem", "who (row) sees whom"), "middle bold")
    say.sees(380, 202, [("1" * n).ljust(5, "0") for n in range(1, 6)], "• c a s a", "• c a s a")
    say.text(432, 327, say("a si e os anteriores\n• <bos>", "itself and those before\n• <bos>"), "middle shape")
    say.line((165, end), (165, end + 18))
    say.box(45, end + 20, 240, 36, "head", say("cabeça: camada linear", "head: linear layer"))
    logits = say("logits (lote, caracteres,\nvocab_size)", "logits (batch, characters,\nvocab_size)")
    say.text(334, end + 34, logits, "shape")
    say.line((165, end + 56), (165, end + 78))
    say.tiles(22, end + 80, "c a s a <eos>")
    following = say("o caractere seguinte,\nem cada posição", "the next character,\nat each position")
    say.text(334, end + 92, following, "shape")
    note = say(
        "Para escrever, o último previsto entra no fim\nda entrada, e o modelo lê de novo.",
        "To write, the last one predicted joins the end\nof the input, and the model reads again.",
    )
    say.text(280, end + 146, note, "middle shape")
    return say.svg(
        560,
        round(end) + 184,
        say("O decoder", "The decoder"),
        say(
            "Os caracteres <bos>, c, a, s, a viram ids, depois embeddings com posições; N blocos de atenção causal e "
            "feed-forward, em que cada um vê a si e os anteriores; no fim uma camada linear dá os logits do caractere "
            "seguinte em cada posição: c, a, s, a, <eos>.",
            "The characters <bos>, c, a, s, a become ids, then embeddings with positions; N blocks of causal "
            "attention and feed-forward, in which each sees itself and those before it; at the end a linear layer"
            " gives the logits of the next character at each position: c, a, s, a, <eos>.",
        ),
    )


def encoder_decoder(say: Diagram) -> str:
    """The encoder-decoder: the decoder also sees the whole source."""
    source, target = say("entrada", "source"), say("saída", "target")
    batch, heads = say("lote", "batch"), say("cabeças", "heads")
    for x, name in ((146, "encoder"), (446, "decoder")):
        say.text(x, 30, name, "middle bold")
    say.tiles(30, 44, "n a o <eos> <pad>", "26 13 27 2 0", letter=40)
    say.tiles(332, 44, "<bos> n ã o", "1 26 106 27")
    for x in (146, 446):
        embed(say, x, 106, 226)
    layers = [("attention", say("Atenção", "Attention")), ("feed-forward", "Feed-forward")]
    end = say.block(56, 182, 180, layers)
    causal = ("attention", say("Atenção causal", "Causal attention"))
    cross = ("attention", say("Atenção cruzada", "Cross-attention"))
    other = say.block(356, 182, 180, [causal, cross, layers[1]])
    say.text(8, 278, "N ×", "bold")
    say.text(563, 318, "× N", "bold")
    say.line((146, end), (146, end + 22), (300, end + 22), (300, 296), (354, 296), kind="cross")
    say.text(303, 286, "K, V", "bold attention")
    say.text(146, end + 48, f"({batch}, {source},\nhidden_size)", "middle shape")
    say.line((446, other), (446, other + 18))
    say.box(346, other + 20, 200, 36, "head", say("camada linear", "linear layer"))
    say.line((446, other + 56), (446, other + 78))
    say.tiles(332, other + 80, "n ã o <eos>")
    say.text(322, other + 34, f"({batch}, {target},\nvocab_size)", "end shape")
    following = say("o caractere seguinte,\nem cada posição", "the next character,\nat each position")
    say.text(322, other + 92, following, "end shape")

    top = other + 136
    say.line((24, top), (576, top), arrow=False, kind="line dashed")
    say.text(300, top + 28, say("quem (linha) vê quem (coluna)", "who (row) sees whom (column)"), "middle bold")
    causal_seen = [("1" * n).ljust(4, "0") for n in range(1, 5)]
    grids = (
        (58, say("Atenção", "Attention"), ["11110"] * 5, "n a o • ▫", "n a o • ▫", f"{source} × {source}"),
        (260, causal[1], causal_seen, "• n ã o", "• n ã o", f"{target} × {target}"),
        (450, cross[1], ["11110"] * 4, "• n ã o", "n a o • ▫", f"{target} × {source}"),
    )
    for x, name, seen, rows, columns, shape in grids:
        middle = x + 21 * len(seen[0]) / 2
        say.text(middle, top + 58, name, "middle")
        say.sees(x, top + 86, seen, rows, columns)
        say.text(middle, top + 212, shape, "middle shape")
    note = say(
        f"Pesos de cada uma: ({batch}, {heads}, linhas, colunas)\n• é <bos> ou <eos>; ▫ é <pad>, que não se vê",
        f"Weights of each: ({batch}, {heads}, rows, columns)\n• is <bos> or <eos>; ▫ is <pad>, which is not seen",
    )
    say.text(300, top + 242, note, "middle shape", step=22)
    return say.svg(
        600,
        round(top) + 282,
        say("O encoder-decoder", "The encoder-decoder"),
        say(
            "À esquerda o encoder lê a entrada, n, a, o; à direita o decoder lê o que já foi escrito, <bos>, n, "
            "ã, o. A saída do encoder dá as chaves K e os valores V à atenção cruzada de cada bloco do decoder. "
            "No fim uma camada linear prevê o caractere seguinte. A atenção do encoder e a cruzada veem a entrada"
            " toda, menos o preenchimento; a do decoder, só a si e os anteriores.",
            "Left, the encoder reads the source, n, a, o; right, the decoder reads what has been written, <bos>, "
            "n, ã, o. The encoder's output gives the keys K and values V to the cross-attention of each block of "
            "the decoder. At the end a linear layer predicts the next character. The encoder's attention and "
            "cross-attention see the whole source, except the padding; the decoder's own, only itself and those "
            "before it.",
        ),
    )


def pretrain_finetune(say: Diagram) -> str:
    """Pre-training, weights, fine-tuning, for each family."""
    say.text(140, 34, say("pré-treino", "pre-training"), "middle bold")
    say.text(140, 55, say("muito texto, sem rótulos", "much text, no labels"), "middle shape")
    say.text(453, 34, say("ajuste fino", "fine-tuning"), "middle bold")
    say.text(453, 55, say("poucos exemplos da tarefa", "few examples of the task"), "middle shape")
    rows = (
        ("encoder", "c a ■ a", "s", say("o que foi escondido", "what was hidden"),
         say("cabeça nova", "new head"), say("classe, etiqueta, trecho", "class, tag, span")),
        ("decoder", "c a s", "a", say("o que vem depois", "what comes next"),
         say("mesma cabeça", "same head"), say("resposta a um pedido", "answer to a prompt")),
        ("encoder-decoder", "c ■ a", "c a s a", say("o texto inteiro de novo", "the whole text again"),
         say("mesma cabeça", "same head"), say("acentos, resumo, tradução", "accents, summary, translation")),
    )  # fmt: skip
    for number, (family, read, written, objective, head, tasks) in enumerate(rows):
        y = 74 + 134 * number
        say.box(16, y, 248, 118, "frame")
        say.box(330, y, 246, 118, "frame")
        say.text(140, y + 25, family, "middle bold")
        reads, writes = len(read.split()), len(written.split())
        x = say.tiles(127 - 14.5 * (reads + writes), y + 38, read, letter=29)
        say.line((x, y + 54), (x + 22, y + 54))
        say.tiles(x + 28, y + 38, written, letter=29)
        say.text(140, y + 98, objective, "middle")
        say.line((264, y + 59), (328, y + 59))
        say.text(296, y + 50, say("pesos", "weights"), "middle tiny")
        say.text(453, y + 25, say("os mesmos blocos", "the same blocks"), "middle")
        say.box(373, y + 38, 160, 34, "head", head)
        say.text(453, y + 98, tasks, "middle tiny")
    return say.svg(
        592,
        484,
        say("Do pré-treino ao ajuste fino", "From pre-training to fine-tuning"),
        say(
            "Três linhas. O encoder adivinha a letra escondida e recebe depois uma cabeça nova, para classes, "
            "etiquetas ou trechos. O decoder adivinha a letra seguinte e depois responde a pedidos, com a mesma "
            "cabeça. O encoder-decoder reescreve um texto com um trecho escondido e depois põe acentos, resume ou"
            " traduz. Os pesos do pré-treino são o começo do ajuste fino.",
            "Three rows. The encoder guesses the hidden letter, and then gets a new head, for classes, tags or "
            "spans. The decoder guesses the next letter, and then answers prompts with the same head. The "
            "encoder-decoder rewrites a text with a hidden span, and then restores accents, summarises or "
            "translates. Fine-tuning starts from the weights of pre-training.",
        ),
    )


DIAGRAMS: tuple[Callable[[Diagram], str], ...] = (
    attention,
    block,
    encoder,
    decoder,
    encoder_decoder,
    pretrain_finetune,
)


if __name__ == "__main__":
    for draw in (*DIAGRAMS, restored):
        for language in ("pt", "en"):
            (FOLDER / f"{draw.__name__}.{language}.svg").write_text(draw(Diagram(language)), encoding="utf-8")
