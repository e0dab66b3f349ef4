"""What a measurement found: one value for the table, for JSON, and for whoever reads either."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Literal

#: The part whose lines say where the time goes; they have a table of their own.
SHARES = "shares"
NOT_MEASURED = "not measured"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table: ours, the other's where there is one, and what was asked for.

    `judged` says whether the target is about the ratio or about our own figure, and `better` in
    which direction. `ratio` is the median of the turns' own ratios: what disturbs a turn disturbs
    both programs of it. `least` and `most` are the spread of what is judged, over `turns`.
    """

    part: str
    what: str
    unit: str
    ours: float | None = None
    peer: float | None = None
    ratio: float | None = None
    target: float | None = None
    judged: Literal["ratio", "ours"] = "ratio"
    better: Literal["more", "less"] = "more"
    least: float | None = None
    most: float | None = None
    rows: int = 0
    turns: int = 1
    #: What a reader has to know; for a part that could not be measured here, why.
    note: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is met; None where nothing was asked for or nothing measured."""
        found = self.ratio if self.judged == "ratio" else self.ours
        if found is None or self.target is None:
            return None
        return found >= self.target if self.better == "more" else found <= self.target

    def told(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {**asdict(self), "met": self.met}

    @classmethod
    def read(cls, told: Mapping[str, Any]) -> Figure:
        """Return what `told` said."""
        return cls(**{name: value for name, value in told.items() if name != "met"})


def missing(part: str, what: str, why: str) -> Figure:
    """Return the line of a measurement that cannot be made here."""
    return Figure(part=part, what=what, unit="", note=f"{NOT_MEASURED}: {why}")


def beside(
    part: str,
    what: str,
    ours: Sequence[float],
    peer: Sequence[float],
    *,
    target: float | None,
    rows: int,
    unit: str = "rows/s",
    note: str = "",
) -> Figure:
    """Return the line of two programs that ran in turn; more of `unit` is better."""
    ratios = [mine / theirs for mine, theirs in zip(ours, peer, strict=True)]
    return Figure(
        part=part,
        what=what,
        unit=unit,
        ours=median(ours),
        peer=median(peer),
        ratio=median(ratios),
        target=target,
        least=min(ratios),
        most=max(ratios),
        rows=rows,
        turns=len(ratios),
        note=note,
    )
