"""`manifest.json` in the store: how it is read, and what it says of takes that a ledger lacks.

Written by every run (`report_files`) and read after a lost ledger, possibly one of an earlier
release or one that someone edited: a member that is odd counts as missing and costs nothing of the
others, members that are not known are left alone, and what is no manifest at all is None. It may
have 100,000 rows: one of them is in memory at a time.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger.audit_log import restored_since
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign, has_event
from callsheet.tasks.ledger.deliveries import Delivered
from callsheet.tasks.ledger.earlier_takes import EarlierTake, PastTake, keep_earlier
from callsheet.tasks.ledger.reviews import BY, NOTE, REASON, VERDICTS, Review
from callsheet.tasks.ledger.sync import Reported
from callsheet.tasks.ledger.values import CampaignRow, rows_of, takes_of
from callsheet.tasks.runtime.concurrency import map_at_once
from callsheet.tasks.runtime.errors import SpendRefused, StoreError
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.store.store import name_below
from callsheet.tasks.values.amounts import parse_credits
from callsheet.tasks.values.briefs import CREATE
from callsheet.tasks.values.edits import edit_of
from callsheet.tasks.values.names import object_name

FORMAT = 1
NAME = "manifest.json"

#: What a manifest says of a row: the members of `_LINE`, None where one is missing or odd, and
#: those that a later release adds.
Line = Mapping[str, Any]
#: Returns what stands in a member, None where that is not what it should be.
Reader = Callable[[Any], Any]


def _one_of(*kinds: type) -> Reader:
    # Not `isinstance`: a boolean is no number.
    return lambda value: value if type(value) in kinds else None


_text, _whole, _amount, _flag = _one_of(str), _one_of(int), _one_of(int, float), _one_of(bool)


def _several(readers: Mapping[str, Reader], *, optional: Sequence[str] = ()) -> Reader:
    """Return what reads a list of objects with these members: all of it, or nothing."""

    def read(value: Any) -> list[dict[str, Any]] | None:
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            return None
        found = [{name: reader(one.get(name)) for name, reader in readers.items()} for one in value]
        for one, told in zip(found, value, strict=True):
            if any(one[n] is None and (n not in optional or told.get(n) is not None) for n in one):
                return None
        return found

    return read


def _checks(value: Any) -> dict[str, str] | None:
    fits = isinstance(value, dict) and all(isinstance(words, str) for words in value.values())
    return value if fits else None


#: A delivered file: what it is, where it lies, and the digest and bytes it had there.
_FILES = _several({"kind": _text, "uri": _text, "sha256": _text, "bytes": _whole})
#: A take of another ledger: its brief, which attempt (0: not known), when it was sent. `line` is
#: what that ledger's manifest said of its row, as JSON.
_EARLIER = _several(
    {"digest": _text, "nth": _whole, "sent_at": _amount, "video_id": _text, "line": _text},
    optional=("video_id", "line"),
)
#: A row as `rows --json` has it, and what its key is made of. `sent_at` is when its request was, or
#: may have been, sent (Unix seconds); with `to_be_sent` it was about to be. Where that is another
#: attempt than the row's last one, `next_digest` and `next_nth` say which.
_LINE: Mapping[str, Reader] = {
    "row": _text,
    "state": _text,
    "reason": _text,
    "take": _whole,
    "key": _text,
    "video_id": _text,
    "quoted": _amount,
    "reserved": _amount,
    "charged": _amount,
    "paid_before": _amount,
    "variance": _amount,
    "video_take": _whole,
    "deliveries": _FILES,
    "review": _text,
    "review_reason": _text,
    "review_note": _text,
    "reviewed_by": _text,
    "checks": _checks,
    "operation": _text,
    "digest": _text,
    "nth": _whole,
    # The id that its key is made of, where the row was renamed.
    "first_id": _text,
    # When its video was deleted at the service, and by whom.
    "deleted_at": _amount,
    "deleted_by": _text,
    "take_quoted": _amount,
    "sent_at": _amount,
    "to_be_sent": _flag,
    "next_digest": _text,
    "next_nth": _whole,
    # Takes of another ledger that this one did not have.
    "earlier": _EARLIER,
}


def read_line(found: Any) -> Line | None:
    """Return a row's line; None where it is none."""
    if not isinstance(found, dict) or _text(found.get("row")) is None:
        return None
    return _line_of(found)


def _line_of(found: Mapping[str, Any]) -> Line:
    line = {name: read(found.get(name)) for name, read in _LINE.items()}
    return line | {name: value for name, value in found.items() if name not in _LINE}


#: A line as the ledger keeps it.
_dump = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """All rows of a campaign, as one run left them at `made_at` (Unix seconds)."""

    campaign: str
    #: Whether its videos were made by a sandbox of our own.
    sandbox: bool
    made_at: float | None
    #: The last line of the campaign's history, by number and moment (Unix seconds): a ledger that
    #: has it is the one that wrote the manifest, and no older copy of that.
    last_event: tuple[int, float] | None
    #: Rows that were renamed, with the ids that they had first.
    first: Sequence[tuple[str, str]]
    _text: str
    _rows: int

    def lines(self) -> Iterator[Line]:
        """Yield the lines that can be read, one by one."""
        lines = map(read_line, _Cursor(self._text, self._rows).elements())
        return (line for line in lines if line is not None)


def read_manifest(content: bytes) -> Manifest | None:
    """Return the manifest in a file, or None where there is none in it."""
    try:
        text = content.decode()
        members, rows, first = _parse(text)
    except (ValueError, RecursionError):
        return None
    if rows is None or _text(members.get("campaign")) is None:
        return None
    return Manifest(
        campaign=members["campaign"],
        sandbox=members.get("sandbox") is True,
        made_at=_moment(members.get("made_at")),
        last_event=_event(members.get("last_event")),
        first=first,
        _text=text,
        _rows=rows,
    )


def _parse(text: str) -> tuple[dict[str, Any], int | None, list[tuple[str, str]]]:
    """Return the members of a manifest but for its rows, where those begin, and the renamed ones.

    Raises ValueError where the text is no JSON object from its beginning to its end.
    """
    members: dict[str, Any] = {}
    rows, first = None, []
    cursor = _Cursor(text)
    for _ in cursor.parts("{", "}"):
        name = cursor.value()
        cursor.require(":")
        if name == "rows" and text.startswith("[", cursor.at):
            rows = cursor.at
            lines = map(read_line, cursor.elements())
            first = [(line["row"], line["first_id"]) for line in lines if line and line["first_id"]]
        else:
            members[name] = cursor.value()
    if cursor.at != len(text):
        raise ValueError
    return members, rows, first


def _moment(value: Any) -> float | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _event(value: Any) -> tuple[int, float] | None:
    found = value if isinstance(value, dict) else {}
    number, at = _whole(found.get("id")), _amount(found.get("at"))
    return None if number is None or at is None else (number, float(at))


_DECODE = json.JSONDecoder().raw_decode
_SPACE = re.compile(r"[ \t\r\n]*")


class _Cursor:
    """Reads JSON part by part, at a place in a text. Raises ValueError for what is no JSON."""

    def __init__(self, text: str, at: int = 0) -> None:
        self._text = text
        self.at = at
        self._skip_space()

    def value(self) -> Any:
        """Return the value that comes next."""
        found, self.at = _DECODE(self._text, self.at)
        self._skip_space()
        return found

    def elements(self) -> Iterator[Any]:
        """Yield the elements of the array that comes next."""
        return (self.value() for _ in self.parts("[", "]"))

    def parts(self, begin: str, end: str) -> Iterator[None]:
        """Stop at each part of the array or object that comes next: whoever loops reads it."""
        self.require(begin)
        if not self._passes(end):
            yield
            while self._passes(","):
                yield
            self.require(end)

    def require(self, sign: str) -> None:
        """Pass a sign."""
        if not self._passes(sign):
            raise ValueError(f"no {sign} at {self.at}")

    def _passes(self, sign: str) -> bool:
        if not self._text.startswith(sign, self.at):
            return False
        self.at += 1
        self._skip_space()
        return True

    def _skip_space(self) -> None:
        if found := _SPACE.match(self._text, self.at):
            self.at = found.end()


async def keep_manifest(at: Context, campaign: Campaign) -> Manifest | str | None:
    """Remember the takes of a manifest that another ledger wrote, before a new one replaces it.

    Returns that manifest, or what could not be read, if so. Raises SpendRefused for videos that a
    sandbox made.
    """
    name = f"{campaign.name}/{NAME}"
    known = await at.ledger.read(find_campaign, name=campaign.name)
    reported = Reported.read(known.reported if known else None)
    try:
        there = await at.store.head(name)
        ours = reported.files[0] if reported is not None else None
        if there is None or there.sha256 == ours:
            # None, or the one that this very ledger wrote at the end of its last run.
            return None
        content = await at.store.read(name)
    except StoreError as error:
        return f"the campaign's manifest in {at.store.address} could not be read ({error})"
    found = read_manifest(content) if content is not None else None
    if found is None or found.campaign != campaign.name:
        return None
    if found.sandbox and not campaign.sandbox:
        raise SpendRefused(
            f"{at.store.address}/{campaign.name} has videos that were made with --sandbox, and "
            "this ledger knows nothing of them; nothing was spent",
            remedy=f"move that folder away, or {again_with('--campaign', 'NAME')}",
        )
    if await at.ledger.read(_is_own, campaign=campaign, found=found):
        return None
    now = at.clock()
    lines = _earlier_takes(found, now if found.made_at is None else found.made_at)
    keep = partial(keep_earlier, campaign_id=campaign.id, first=found.first, at=now)
    await at.ledger.write(keep, found=lines)
    return found


def _is_own(connection: Connection, campaign: Campaign, found: Manifest) -> bool:
    """Whether this ledger wrote a manifest, and has everything that happened since.

    An older copy of it lacks the last event; one that was restored from a backup may have that,
    and not know what was sent a moment later.
    """
    last, made_at = found.last_event, found.made_at
    if last is None or made_at is None or restored_since(connection, made_at):
        return False
    number, moment = last
    return has_event(connection, campaign.id, id=number, at=moment)


def _earlier_takes(found: Manifest, made_at: float) -> Iterator[EarlierTake]:
    """Yield the takes that a manifest tells of, sent or about to be."""
    for line in found.lines():
        for one in line["earlier"] or ():
            sent_at, told = float(one["sent_at"]), _checked(one["line"])
            yield EarlierTake(**{**one, "row": line["row"], "sent_at": sent_at, "line": told})
        if line["digest"] is None:
            continue
        about_to_be = made_at if line["to_be_sent"] else None
        if line["next_digest"] is not None:
            yield EarlierTake(
                row=line["row"],
                digest=line["next_digest"],
                nth=line["next_nth"] or 0,
                sent_at=about_to_be,
                # Whether it is an edit, which no key finds again.
                line=_dump(_line_of({"row": line["row"], "operation": line["operation"]})),
            )
            about_to_be = None
        sent = about_to_be if line["sent_at"] is None else float(line["sent_at"])
        if sent is not None or line["video_id"] is not None:
            yield EarlierTake(
                row=line["row"],
                digest=line["digest"],
                nth=line["nth"] or 0,
                sent_at=sent,
                video_id=line["video_id"],
                line=_dump(line),
            )
        elif line["charged"]:
            # What it cost counts, though nothing more is known of what was made, or when.
            yield EarlierTake(row=line["row"], digest="", sent_at=made_at, line=_dump(line))


def _checked(text: str | None) -> str | None:
    """Return a line that a manifest repeats of an earlier one, if it can be read."""
    try:
        line = read_line(json.loads(text or ""))
    except (ValueError, RecursionError):
        return None
    return None if line is None else _dump(line)


async def past_takes(
    at: Context, campaign: Campaign, named: Sequence[str], known: Mapping[str, EarlierTake]
) -> list[tuple[CampaignRow, PastTake | None]]:
    """Return rows with the take that their line of a manifest tells of, if it has a video."""
    rows = await at.ledger.read(rows_of, campaign_id=campaign.id, named=named)
    numbers = [row.id for row in rows if row.take is not None]
    charged: dict[int, Decimal] = defaultdict(Decimal)
    for number, take in await at.ledger.read(takes_of, campaign_id=campaign.id, numbers=numbers):
        # A cost that was only told of is the cost of what is restored now.
        charged[number] += (take.charged or 0) if take.nth else 0

    async def judge(row: CampaignRow) -> tuple[CampaignRow, PastTake | None]:
        return row, await _past_take(at, row, known[row.row], charged[row.id])

    return await map_at_once(judge, rows, at_once=at.settings.polls_at_once)


async def _past_take(
    at: Context, row: CampaignRow, one: EarlierTake, charged: Decimal
) -> PastTake | None:
    """Return the take that a line of a manifest tells of; None when no video of it is known.

    `charged` is what the takes of the row cost that this ledger has.
    """

    if one.line is None:
        return None
    line = json.loads(one.line)
    nth, number, video_id = line["nth"], line["take"], line["video_id"]
    if video_id is None or nth is None or number is None:
        return None
    if line["state"] in ("failed", "cancelled", "rejected"):
        return None
    edited = edit_of(line["operation"] or "") is not None
    if edited and line["state"] != "delivered":
        # How its video was before is lost: nothing tells the edited video from that one.
        return None
    # Here the row may be planned as an edit of the video that it had before.
    row = row if edited else row.for_new_video()
    key = row.key(nth)
    keyed = (row.operation == CREATE and not edited) or line["key"] == key
    noted = one.sent_at if one.sent_at is not None else one.noted_at
    cost = parse_credits(line["charged"])
    files = await files_of_line(at, row, line, number)
    if line["deleted_at"] is not None and not files:
        return None
    return PastTake(
        number=number,
        nth=nth,
        key=key,
        body=row.body(key if keyed else None),
        quoted=parse_credits(
            line["quoted"] if line["take_quoted"] is None else line["take_quoted"]
        ),
        # With what takes cost of which nothing else is known: budgets count it all.
        charged=cost if cost is None else max(cost - charged, Decimal(0)),
        video_id=video_id,
        sent_at=noted,
        deleted_at=line["deleted_at"],
        deleted_by=line["deleted_by"],
        source="the store's manifest",
        is_whole=True,
        files=files,
        review=review_of_line(line, noted),
        checks=line["checks"] if line["video_take"] == number else None,
    )


def review_of_line(line: Line, at: float) -> Review | None:
    """Return the verdict on the video of the take that a line tells of."""
    verdict = next((one for one in VERDICTS if one == line["review"]), None)
    if verdict is None or line["video_take"] != line["take"]:
        return None
    reason, note = (line["review_reason"] or "")[:REASON], (line["review_note"] or "")[:NOTE]
    by = (line["reviewed_by"] or "somebody")[:BY]
    # When exactly, the manifest does not tell.
    return Review(verdict=verdict, reason=reason or None, note=note or None, by=by, at=at)


async def files_of_line(at: Context, row: CampaignRow, line: Line, number: int) -> list[Delivered]:
    """Return the files of a delivered line, if all of them are in the store and intact."""
    # A row that left the sheet was delivered before.
    if line["state"] not in ("delivered", "retired") or line["video_take"] != number:
        return []
    if not line["deliveries"]:
        return []
    found = await asyncio.gather(*(_file(at, row, file, number) for file in line["deliveries"]))
    return [file for file in found if file is not None] if all(found) else []


async def _file(
    at: Context, row: CampaignRow, file: Mapping[str, Any], number: int
) -> Delivered | None:
    # Its files keep the names that they were given; where the store moved, the row says them.
    name = name_below(at.store.address, file["uri"]) or object_name(
        row.name, campaign=row.campaign, row=row.row, take=number, kind=file["kind"]
    )
    try:
        there = await at.store.head(name)
    except StoreError:
        return None
    if there is None or (there.sha256, there.bytes) != (file["sha256"], file["bytes"]):
        return None
    return Delivered(kind=file["kind"], uri=there.uri, sha256=there.sha256, bytes=there.bytes)
