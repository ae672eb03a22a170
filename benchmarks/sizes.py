"""The sizes of the models, and what a step of training one costs."""

from dataclasses import dataclass

VOCABULARY = 128
FIRST_CHARACTER = 3  # smaller ids are special


@dataclass(frozen=True)
class Size:
    """A model's size: blocks (in each stack), width, heads, inner width of the feed-forward network."""

    layers: int
    width: int
    heads: int
    inner: int

    def __str__(self) -> str:
        return f"{self.layers} × {self.width}"

    def matrix_numbers(self, family: str) -> int:
        """Numbers in the matrices that each token is multiplied with: projections, feed-forward, output layer.

        An encoder-decoder's are those of both stacks, for as many tokens in a source as in a target.
        """
        block = 4 * self.width**2 + 2 * self.width * self.inner
        stacks = {"decoder": block, "encoder": block, "encoder-decoder": 2 * block + 4 * self.width**2}
        return self.layers * stacks[family] + self.width * VOCABULARY


TINY = Size(2, 128, 4, 512)
SMALL = Size(4, 256, 4, 1024)  # Wu et al. (2021)
BASE = Size(6, 512, 8, 2048)  # documents 3 and 4; Vaswani et al. (2017), table 3
LARGE = Size(12, 1024, 16, 4096)

COMPARED = {"cpu": (SMALL, BASE), "cuda": (BASE, LARGE)}
GROWING = {"cpu": (TINY, SMALL, BASE), "cuda": (SMALL, BASE, LARGE)}
