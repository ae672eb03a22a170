"""The language of pictures, and of what the course says: English, or Portuguese after `set_language("pt")`."""

from atenta.hub.card_words import CardLanguage, translate, with_separators

# A text has parts to be filled in with `str.format` where it has braces.
PORTUGUESE = {
    # the course's checks
    "Right.": "Certo.",
    "Not yet: try again.": "Ainda não: tente de novo.",
    "No answer yet: put one in place of `...`.": "Ainda sem resposta: escreva uma no lugar de `...`.",
    # attention and masks
    "self-attention": "autoatenção",
    "self-attention of groups": "autoatenção de grupos",
    "encoder self-attention": "autoatenção do encoder",
    "decoder self-attention": "autoatenção do decoder",
    "cross-attention": "atenção cruzada",
    "{name}, layer {layer}": "{name}, camada {layer}",
    "{name}, layer {layer}, head {head}": "{name}, camada {layer}, cabeça {head}",
    "head {head}": "cabeça {head}",
    "key (attended to)": "chave (para onde se olha)",
    "query (attends)": "consulta (quem olha)",
    "attention weight\n(square-root scale)": "peso de atenção\n(escala de raiz quadrada)",
    "attention masks": "máscaras de atenção",
    "key": "chave",
    "query": "consulta",
    "visible": "visível",
    "hidden: padding": "oculto: preenchimento",
    "hidden: a later character": "oculto: caractere posterior",
    # the page of attention maps
    "Attention maps": "Mapas de atenção",
    "attention map": "mapa de atenção",
    "attention": "atenção",
    "layer": "camada",
    "head": "cabeça",
    "Rows are queries, the tokens that attend; columns are keys, the tokens attended to.": "As linhas são as "
    "consultas, os tokens que olham; as colunas são as chaves, os tokens para os quais se olha.",
    "← and → change the head, ↑ and ↓ the layer.": "← e → trocam a cabeça; ↑ e ↓, a camada.",
    "Colours show the square root of the weight, so that weak weights are visible.": "A cor mostra a raiz quadrada do "
    "peso, para que os pesos fracos apareçam.",
    "Point at a cell to see its weight.": "Aponte para uma célula para ver o peso.",
    "attends to": "olha para",
    # positions
    "{kind} positions": "posições {kind}",
    "position vectors": "vetores de posição",
    "cosine and sine of each plane": "cosseno e seno de cada plano",
    "dimension": "dimensão",
    "position": "posição",
    "cosine similarity of positions": "similaridade de cosseno entre posições",
    "cosine similarity by distance": "similaridade de cosseno por distância",
    "distance": "distância",
    "range": "do mínimo ao máximo",
    "mean": "média",
    # votes
    "votes for the token after “{last}”": "votos para o token depois de “{last}”",
    "earlier token": "token anterior",
    "sum": "soma",
    "{shown} of {number} candidates": "{shown} de {number} candidatos",
    "no votes from more than 1 token back": "sem votos de mais de 1 token atrás",
    "no votes from more than {distance} tokens back": "sem votos de mais de {distance} tokens atrás",
    # decoding
    "step {number}": "passo {number}",
    "chosen, in the result": "escolhido, no resultado",
    "chosen": "escolhido",
    "not chosen": "não escolhido",
    "dropped before choosing": "descartado antes da escolha",
    "after temperature, top-k, top-p, …": "depois de temperatura, top-k, top-p, …",
    "starts with": "começa com",
    "→ chosen": "→ escolhido",
    "→ chosen  ✓ allowed, not chosen": "→ escolhido  ✓ permitido, não escolhido",
    "second line: after temperature, top-k, top-p and other options": "segunda linha: depois de temperatura, top-k, "
    "top-p e outras opções",
    "ended: with log p / number of tokens ** length_penalty": "terminou: com log p / número de tokens ** "
    "length_penalty",
    "step": "passo",
    "text so far": "texto até aqui",
    "candidates": "candidatos",
    "ended": "terminou",
    "result  {text}  with score {score}": "resultado  {text}  com pontuação {score}",
    # runs
    "loss": "perda",
    "training loss": "perda no treino",
    "validation {metric}": "{metric} na validação",
    "training step": "passo de treino",
    "loss (nats), log scale": "perda (nats), escala logarítmica",
    "{number} texts": "{number} textos",
    "characters of the source": "caracteres da entrada",
    "Perfectly calibrated": "Calibração perfeita",
    "share that is right": "proporção de acertos",
    "confidence": "confiança",
    "characters\n(log scale)": "caracteres\n(escala logarítmica)",
    "Predicted label": "Rótulo previsto",
    "True label": "Rótulo verdadeiro",
    # the gender of professions
    "professions with one form": "profissões de uma forma",
    "professions with two forms": "profissões de duas formas",
    "masculine things (control)": "coisas masculinas (controle)",
    "feminine things (control)": "coisas femininas (controle)",
    "← feminine     bits     masculine →": "← feminino     bits     masculino →",
    "P(masculine)": "P(masculino)",
    "masculine  feminine in texts": "masculino  feminino nos textos",
    "controls with their own gender: {} of {}": "controles com o seu gênero: {} de {}",
}

_chosen: dict[str, CardLanguage] = {"language": "en"}


def set_language(language: str) -> None:
    """Choose the language of the pictures that are drawn from now on.

    Args:
        language: `"en"` or `"pt"`.

    Raises:
        ValueError: If the language is another one.
    """
    if language not in ("en", "pt"):
        raise ValueError(f"language={language!r}; expected 'en' or 'pt'.")
    _chosen["language"] = language


def chosen_language() -> CardLanguage:
    """Return the language that [`set_language`] chose: `"en"` or `"pt"`."""
    return _chosen["language"]


def say(text: str) -> str:
    """Return an English text in the chosen language.

    Raises:
        KeyError: If it has no translation, so that no Portuguese picture is left with an English label.
    """
    return PORTUGUESE[text] if chosen_language() == "pt" else text


def say_name(name: str) -> str:
    """Return what recipes call a metric, an attention and the like in the chosen language; another name as it is."""
    known = PORTUGUESE.get(name) if chosen_language() == "pt" else None
    return known or translate(name, chosen_language())


def say_number(number: float, form: str) -> str:
    """Return a number in a format such as `.2f`; in Portuguese with a decimal comma, and points between thousands."""
    return with_separators(format(number, form), chosen_language())
