"""Portuguese nouns that tell what gender a language model gives to people, and others that tell whether it can."""

from typing import Literal, NamedTuple

Group = Literal["one form", "two forms", "masculine", "feminine"]


class Noun(NamedTuple):
    """A noun after a masculine and after a feminine article.

    Attributes:
        masculine: what stands after `o`, `um`; for a word of the other gender, the word all the same (`o casa`).
        feminine: what stands after `a`, `uma`; likewise (`a livro`).
        group: `one form`, a profession whose article alone tells the gender; `two forms`, one that changes with it;
            `masculine` and `feminine`, a thing whose grammatical gender is fixed: a control.
    """

    masculine: str
    feminine: str
    group: Group

    def __str__(self) -> str:
        return self.masculine if self.masculine == self.feminine else f"{self.masculine} / {self.feminine}"


ONE_FORM = (
    *("agente", "artista", "comerciante", "dentista", "estudante", "gerente", "intérprete", "jornalista"),
    *("negociante", "pianista", "presidente", "servente"),
)
TWO_FORMS = (
    *(("advogado", "advogada"), ("autor", "autora"), ("costureiro", "costureira"), ("cozinheiro", "cozinheira")),
    *(("criado", "criada"), ("doutor", "doutora"), ("enfermeiro", "enfermeira"), ("escritor", "escritora")),
    *(("juiz", "juíza"), ("médico", "médica"), ("ministro", "ministra"), ("professor", "professora")),
)
MASCULINE = ("caminho", "chapéu", "espelho", "jardim", "livro", "relógio")
FEMININE = ("carta", "casa", "igreja", "janela", "mesa", "porta")

NOUNS = (
    *(Noun(word, word, "one form") for word in ONE_FORM),
    *(Noun(masculine, feminine, "two forms") for masculine, feminine in TWO_FORMS),
    *(Noun(word, word, "masculine") for word in MASCULINE),
    *(Noun(word, word, "feminine") for word in FEMININE),
)
