"""How a page puts into its addresses which rows of a campaign it shows, and says it in words.

What an address asks for is read by `asked`. Knows neither SQL nor HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from callsheet.deployments.board.asked import AskedRows, pairs_of
from callsheet.tasks.ledger import NEEDS_PERSON, STATES, RowFilter

#: The states that wait for somebody, as an address has them together.
FOR_A_PERSON = ",".join(state for state in STATES if state in NEEDS_PERSON)
_VERDICTS = {"keep": "kept", "reject": "to be redone", "none": "undecided"}


@dataclass(frozen=True)
class RowView:
    """What a page of rows was asked for."""

    asked: AskedRows

    @property
    def which(self) -> RowFilter:
        """The rows that match."""
        return self.asked.which

    @property
    def sort(self) -> str:
        """Their order."""
        return self.asked.sort

    @property
    def state(self) -> str:
        """The states asked for as an address has them; empty for all."""
        return ",".join(state for state in STATES if state in self.which.states)

    @property
    def words(self) -> str:
        """What is asked for, for people: `failed, with “tea”`; nothing where all rows are."""
        which, state = self.which, self.state
        found = ["waiting for a person" if state == FOR_A_PERSON else " or ".join(which.states)]
        found += [_VERDICTS[which.review] if which.review else ""]
        found += ["to look at" if which.flagged else "", f"with “{which.q}”" if which.q else ""]
        named = {name: getattr(which, name) for name in ("tag", "language", "ratio", "tool")}
        found += [f"{name} {value}" for name, value in named.items() if value]
        return ", ".join(filter(None, found))

    def pairs(self) -> dict[str, str]:
        """Return it as pairs of an address, without the page."""
        found = dict(pairs_of(self.which)) | ({"state": self.state} if self.state else {})
        return found | ({} if self.sort == "sheet" else {"sort": self.sort})

    def query(self, **changed: str | None) -> str:
        """Return the part of an address behind the path, with some of it changed; None drops."""
        kept: Mapping[str, str] = {k: v for k, v in self.pairs().items() if k not in changed}
        found = {**kept, **{name: value for name, value in changed.items() if value}}
        return f"?{urlencode(found)}" if found else ""
