"""What a look at a campaign's deliveries finds: a verdict on every file. Values, no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tasks.ledger import CampaignRow, Delivered, Take
from tasks.store.store import Listed

#: `missing` is gone, `changed` has other bytes, `unplayable` has the right ones and is no film;
#: `wanting` was never delivered though the row asks for it; `unknown` could not be looked at.
Verdict = Literal["intact", "missing", "changed", "unplayable", "wanting", "unknown"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
#: Files of ours in a campaign's folder that are no deliveries.
OURS = ("manifest.json", "status.csv")


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditedFile:
    """One file that should be in the store, and what was found.

    `file` is what was delivered (None for captions that never were); `found` the sha256 of what
    has its name now; `repaired` says what a repair did, `left` why it did nothing.
    """

    row: CampaignRow
    take: Take
    kind: str
    file: Delivered | None
    verdict: Verdict
    words: str = ""
    found: str | None = None
    repaired: str | None = None
    left: str | None = None

    @property
    def sound(self) -> bool:
        """Whether nobody needs to do anything about it."""
        return self.verdict == "intact" or self.repaired is not None


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What a look at a campaign's deliveries found; `extra` are files nobody delivered."""

    campaign: str
    files: Sequence[AuditedFile]
    extra: Sequence[Listed] = ()

    @property
    def exit_status(self) -> int:
        """0 all intact, 3 something is wrong, 5 something could not be looked at."""
        if any(one.verdict == "unknown" and not one.sound for one in self.files):
            return 5
        return 0 if all(one.sound for one in self.files) else 3

    def counts(self) -> dict[str, int]:
        """Return how many files there are, by verdict as it was found, and how many repaired."""
        found = {verdict: sum(one.verdict == verdict for one in self.files) for verdict in VERDICTS}
        return {
            "total": len(self.files),
            **{verdict: count for verdict, count in found.items() if count},
            "repaired": sum(one.repaired is not None for one in self.files),
        }


def audit_document(audit: Audit, *, quick: bool) -> dict[str, Any]:
    """Return an audit as JSON: the document of `verify --json`."""
    return {
        "campaign": audit.campaign,
        "quick": quick,
        "files": audit.counts(),
        "problems": [
            {
                "row": one.row.row,
                "take": one.take.number,
                "kind": one.kind,
                "uri": one.file.uri if one.file else None,
                "problem": one.verdict,
                "words": one.words,
                "repaired": one.repaired,
                "left": one.left,
            }
            for one in audit.files
            if one.verdict != "intact"
        ],
        "extra": [{"uri": file.uri, "bytes": file.bytes} for file in audit.extra],
        "exit": audit.exit_status,
    }
