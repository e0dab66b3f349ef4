"""What differs between the ledger, the service and the store, and what a repair does about it.

`reconcile`, `verify` and `plan --refresh` ask the same question at different places. This file has
the one shape of what they find, and the words for it; it asks nobody.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Any, Literal

from callsheet.tasks.aftercare.explain import service_of
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.deliveries import Delivered
from callsheet.tasks.ledger.values import CampaignRow, Take
from callsheet.tasks.runtime.suggest import suggest
from callsheet.tasks.store.store import Listed
from callsheet.tasks.values.amounts import as_number, in_credits

FREE = Decimal(0)

#: At the service: `gone` it no longer has the video; `undelivered` it has the video and the store
#: does not; `rendering` it still renders although the ledger has ended; `ended` it failed or was
#: cancelled there; `charge` it has another cost; `unrecorded` its key is of Callsheet and not in
#: the ledger; `match` a call with an unknown outcome made it; `changed` it was delivered, and has
#: another title or state there since.
#: In the store: `missing` is gone, `changed` has other bytes, `unplayable` has the right bytes and
#: is no video; `wanting` was never delivered although the row asks for it; `unknown` could not be
#: checked. `bare` is a video without a picture, which is no error; `report` is a changed report.
Verdict = Literal[
    "gone", "undelivered", "rendering", "ended", "charge", "unrecorded", "match", "changed",
    "intact", "missing", "unplayable", "wanting", "unknown", "bare", "report",
]  # fmt: skip
#: The results of checking a file, in the order in which they are counted.
OF_FILES: tuple[Verdict, ...] = (
    "intact", "missing", "changed", "unplayable", "wanting", "unknown",
)  # fmt: skip
#: What a repair does, at no charge. At the service: let the next run `fetch` the video of a row,
#: `book` its cost, `adopt` it for an uncertain row, `settle` a call typed by hand with it. In the
#: store: `refetch` a file, `copy` it again to another place, make a `picture`.
Repair = Literal["fetch", "book", "adopt", "settle", "refetch", "copy", "picture"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that differs; `row` is None for a video or a file of no row.

    `repair` is what a repair does about it (None: a person decides), `done` what it did, `left` why
    it did nothing; `remedy` is what you can type, `cost` what that costs (None: not known).
    """

    verdict: Verdict
    words: str = ""
    row: CampaignRow | None = None
    take: Take | None = None
    repair: Repair | None = None
    done: str | None = None
    left: str | None = None
    remedy: str | None = None
    cost: Decimal | None = FREE
    #: The video at the service, what it cost if that is to be booked, and the call that made it.
    video_id: str | None = None
    charged: Decimal | None = None
    call_id: int | None = None
    #: The campaign and row that the key of an unrecorded video is of, if that is known.
    key_of: tuple[str | None, str | None] = (None, None)
    #: The file in the store: mp4, srt or vtt; its delivery (None: it was never delivered), which
    #: is a copy of the delivery `copy_of` if that is set; `found` is the sha256 of what is there.
    kind: str = ""
    file: Delivered | None = None
    copy_of: Delivered | None = None
    found: str | None = None

    @property
    def where(self) -> Literal["service", "store"]:
        """Where it was found: only the store has files."""
        return "store" if self.kind or self.verdict == "report" else "service"

    @property
    def owner(self) -> tuple[str | None, str | None]:
        """The names of its campaign and its row."""
        return self.key_of if self.row is None else (self.row.campaign, self.row.row)

    @property
    def attempt(self) -> tuple[CampaignRow, Take]:
        """The row and the take that it is about."""
        assert self.row is not None
        assert self.take is not None
        return self.row, self.take

    def __str__(self) -> str:
        done = self.done or (f"`{self.remedy}`" if self.remedy else "nothing to do")
        price = "" if self.cost == FREE or self.done else f" ({in_credits(self.cost)})"
        return f"{self.owner[1] or 'campaign'}, {self.where}: {self.words}: {done}{price}"

    def as_json(self, members: Collection[str]) -> dict[str, Any]:
        """Return it as JSON, with these members: `DIFFERENCE`, `PROBLEM` or `DRIFT`."""
        campaign, row = self.owner
        special = {
            "campaign": campaign,
            "row": row,
            "take": self.take.number if self.take else None,
            "kind": self.kind or self.verdict,
            "problem": self.verdict,
            "what": self.words,
            "charged": as_number(self.charged),
            "uri": self.file.uri if self.file else None,
            "cost": as_number(self.cost),
            "can_apply": self.repair is not None,
            "applied": self.done is not None,
            "repaired": self.done,
        }
        known = {name: getattr(self, name) for name in members if name not in special} | special
        return {name: known[name] for name in members}


#: A finding as one of the `differences` of `reconcile --json`, the `problems` of `verify --json`
#: and the `drift` of `plan --json`.
DIFFERENCE = (
    "kind", "campaign", "row", "take", "video_id", "words", "charged", "remedy", "can_apply",
    "applied",
)  # fmt: skip
PROBLEM = ("row", "take", "kind", "uri", "problem", "words", "repaired", "left")
DRIFT = ("row", "where", "what", "remedy", "cost", "repaired")


@dataclass(frozen=True, kw_only=True)
class Repairs:
    """What was found of a campaign (None: of all), and what repairs do or did about it.

    `compared` counts videos at the service, of which `others` are not Callsheet's, `files` those
    that should be in the store; `extra` are other files there.
    """

    campaign: Campaign | None = None
    findings: Sequence[Finding] = ()
    compared: int = 0
    others: int = 0
    advice: Sequence[str] = ()
    files: int = 0
    extra: Sequence[Listed] = ()
    #: What a retake costs of each row whose video neither the service nor the store has.
    retakes: Mapping[str, Decimal | None] = field(default_factory=dict)
    #: Whether both were asked: then a repair also writes the report of the campaign again.
    whole: bool = False

    @property
    def exit_status(self) -> int:
        """0 if nothing differs (any more), 5 if a file could not be checked, else 3."""
        left = {one.verdict for one in self.findings if not one.done} - {"bare"}
        return 5 if "unknown" in left else 3 if left else 0

    @property
    def kinds(self) -> str:
        """How many findings there are of each kind, in words."""
        found = Counter(one.verdict for one in self.findings)
        return ", ".join(f"{n} {verdict}" for verdict, n in found.items())

    @property
    def problems(self) -> list[Finding]:
        """The files in the store that are not intact."""
        return [one for one in self.findings if one.where == "store" and one.verdict in OF_FILES]

    @property
    def pictures(self) -> tuple[int, int]:
        """How many videos have no picture, and how many got theirs in a repair."""
        bare = [one for one in self.findings if one.verdict == "bare"]
        made = sum(one.done is not None for one in bare)
        return len(bare) - made, made

    def counts(self) -> dict[str, int]:
        """Return the number of files by result, and how many were repaired."""
        problems = self.problems
        found = Counter(one.verdict for one in problems)
        found["intact"] = self.files - len(problems)
        return {
            "total": self.files,
            **{verdict: found[verdict] for verdict in OF_FILES if found[verdict]},
            "repaired": sum(one.done is not None for one in problems),
        }

    def as_differences(self) -> dict[str, Any]:
        """Return the document of `reconcile --json`."""
        return {
            "compared": self.compared,
            "others": self.others,
            "differences": [one.as_json(DIFFERENCE) for one in self.findings],
            "advice": list(self.advice),
            "exit": self.exit_status,
        }

    def as_files(self, *, quick: bool) -> dict[str, Any]:
        """Return the document of `verify --json`."""
        assert self.campaign is not None
        missing, made = self.pictures
        return {
            "campaign": self.campaign.name,
            "quick": quick,
            "files": self.counts(),
            "problems": [one.as_json(PROBLEM) for one in self.problems],
            "pictures": {"missing": missing, "made": made},
            "extra": [{"uri": file.uri, "bytes": file.bytes} for file in self.extra],
            "exit": self.exit_status,
        }

    @property
    def drift(self) -> list[Finding]:
        """What changed outside as `plan --refresh` shows it: one line for the files of a row."""
        lines: dict[object, list[Finding]] = defaultdict(list)
        for number, one in enumerate(self.findings):
            row = one.owner[1]
            # What is lost at both places is one line, of the store.
            if not (one.verdict == "gone" and row in self.retakes):
                lines[row if row and one.where == "store" else number].append(one)
        return [self._line(found) for found in lines.values()]

    @property
    def needs_action(self) -> bool:
        """Whether something changed that is not repaired and can be."""
        return any(one.remedy and not one.done for one in self.drift)

    def _line(self, found: Sequence[Finding]) -> Finding:
        first = found[0]
        if first.where == "service" or first.row is None:
            # The files of a delivered video are in the store.
            needless = first.verdict == "gone" and first.attempt[1].delivered_at is not None
            return replace(first, remedy=None) if needless else first
        assert self.campaign is not None
        of, service = (self.campaign.name, first.row.row), service_of(self.campaign)
        lost = first.row.row in self.retakes
        line = replace(first, words="; ".join(_of_file(one, lost=lost) for one in found), done=None)
        if all(one.done for one in found):
            return replace(line, done="; ".join(dict.fromkeys(str(one.done) for one in found)))
        if lost:
            words = f"{line.words}; the service no longer has the video"
            retake = suggest("retake", *of, "--because", "the video is lost", "--run", *service)
            return replace(line, words=words, remedy=retake, cost=self.retakes[first.row.row])
        if any(one.left for one in found):
            return replace(line, remedy=suggest("explain", *of), cost=None)
        return replace(line, remedy=suggest("verify", self.campaign.name, "--repair", *service))


def _of_file(one: Finding, *, lost: bool) -> str:
    name = PurePosixPath(one.file.uri).name if one.file else one.kind
    words = f" ({one.words})" if one.words and one.verdict != "missing" else ""
    left = f": {one.left}" if one.left and not lost else ""
    return f"{name} is {one.verdict}{words}{left}"
