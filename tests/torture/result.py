"""What a part of the torture has to show: counts for the table, and every violation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

#: The columns of the table, in order; a part counts into those that concern it.
COLUMNS = (
    "crash points",
    "kills",
    "second kills",
    "faults",
    "slow tests",
    "model steps",
    "mutations",
    "mutants",
    "killed",
    "double charges",
    "lost rows",
    "secrets found",
)
#: What a finding is counted as in the table, by words that are in it.
_WORDS = {
    "double charges": (
        *("charged 2", "charged 3", "calls were made", "belongs to no take", "over the budget"),
        "were set aside for",
    ),
    "lost rows": (
        *(
            "ended",
            "has another video",
            "not in the store",
            "did not end",
            "the sheet has the rows",
        ),
    ),
    "secrets found": ("a secret:",),
}
#: The counts of a part that looked for all of these and found none.
NONE_YET = dict.fromkeys(_WORDS, 0)


@dataclass
class Violation:
    """Something that must never be, and the command that shows it again."""

    words: str
    again: str

    def __str__(self) -> str:
        return f"{self.words}\n    again: {self.again}"


@dataclass
class Result:
    """One line of the table; `counts` by column."""

    part: str
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[Violation] = field(default_factory=list)
    seconds: float = 0.0
    #: The crash points that were visited.
    points: set[str] = field(default_factory=set)

    def add(self, kills: int, findings: Iterable[str], again: str) -> None:
        """Count one trial; `again` is the command that carries it out by itself."""
        self.counts["kills"] += min(kills, 1)
        self.counts["second kills"] += max(0, kills - 1)
        for finding in findings:
            for column, words in _WORDS.items():
                self.counts[column] += any(word in finding for word in words)
            self.violations.append(Violation(finding, again))


def as_table(results: list[Result]) -> str:
    """Return the results as one table, with a line for all of them together."""
    total = Result("all together", seconds=sum(result.seconds for result in results))
    for result in results:
        total.counts.update(result.counts)
        total.violations += result.violations
    heads = ("part", *COLUMNS, "violations", "seconds")
    lines = [heads, *(_cells(result) for result in [*results, total])]
    widths = [max(len(line[n]) for line in lines) for n in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if n == 0 else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )


def _cells(result: Result) -> tuple[str, ...]:
    # A part that looked for something and found none says 0; one that did not look says nothing.
    counts = [str(result.counts[name]) if name in result.counts else "" for name in COLUMNS]
    return (result.part, *counts, str(len(result.violations)), f"{result.seconds:.0f}")
