"""What a work's figures come to: medians, ratios to the best peer and to the limit, targets met or missed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, Literal

OURS = "atenta"
LIMIT = "limit"


@dataclass(frozen=True)
class Spread:
    """A figure over the rounds."""

    middle: float
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> "Spread":
        """Median, least and largest of a figure."""
        return cls(median(values), min(values), max(values))

    @classmethod
    def of_ratio(cls, above: Sequence[float], below: Sequence[float]) -> "Spread":
        """Ratio of the medians; least and largest ratio of two figures of one round."""
        ratios = [one / other for one, other in zip(above, below, strict=True)]
        return cls(median(above) / median(below), min(ratios), max(ratios))

    @classmethod
    def of_difference(cls, above: Sequence[float], below: Sequence[float]) -> "Spread":
        """Difference of the medians; least and largest difference of two figures of one round."""
        differences = [one - other for one, other in zip(above, below, strict=True)]
        return cls(median(above) - median(below), min(differences), max(differences))


@dataclass(frozen=True)
class Target:
    """What our figure is to reach: at most `bound`, or at least where more is better.

    Attributes:
        bound: of what `kind` names.
        against: the contestant that ours is compared with.
        kind: our figure over the other's, ours minus the other's, or ours alone.
    """

    bound: float
    against: str | None = None
    kind: Literal["ratio", "difference", "figure"] = "ratio"


@dataclass
class Work:
    """One work, and the figures of all that did it, one a round.

    Attributes:
        name: what is done.
        unit: of the figures.
        figures: of each contestant. `OURS` and `LIMIT` are told from the others, which are peers.
        targets: what ours is to reach.
        more_is_better: rates, and not times.
    """

    name: str
    unit: str
    figures: dict[str, list[float]]
    targets: Sequence[Target] = ()
    more_is_better: bool = False
    peers: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.peers = [name for name in self.figures if name not in (OURS, LIMIT)]

    @property
    def best_peer(self) -> str | None:
        """The peer with the best median."""
        best = max if self.more_is_better else min
        return best(self.peers, key=lambda name: median(self.figures[name]), default=None)

    def rows(self) -> list[dict[str, Any]]:
        """Return a row a contestant: figure, and its ratios to the best peer's and to the limit's."""
        return [
            {
                "work": self.name,
                "contestant": name,
                "unit": self.unit,
                "figure": asdict(Spread.of(values)),
                "best_peer": self.best_peer,
                "to_best_peer": self._ratio(values, self.best_peer),
                "to_limit": self._ratio(values, LIMIT),
            }
            for name, values in self.figures.items()
        ]

    def goals(self) -> list[dict[str, Any]]:
        """Return a row a target: what was to be reached, what was, and whether that is enough."""
        return [self._goal(target) for target in self.targets]

    def _ratio(self, values: Sequence[float], other: str | None) -> dict[str, float] | None:
        return asdict(Spread.of_ratio(values, self.figures[other])) if other in self.figures else None

    def _goal(self, target: Target) -> dict[str, Any]:
        ours = self.figures[OURS]
        if target.kind == "figure":
            reached = Spread.of(ours)
        else:
            compared = Spread.of_ratio if target.kind == "ratio" else Spread.of_difference
            reached = compared(ours, self.figures[target.against])
        enough = reached.middle >= target.bound if self.more_is_better else reached.middle <= target.bound
        return {
            "work": self.name,
            "unit": self.unit,
            **asdict(target),
            "at": "least" if self.more_is_better else "most",
            "reached": asdict(reached),
            "met": enough,
        }
