"""`manifest.json` in the store: how it is read, and what it says of takes that a ledger lacks.

Written by every run (`report_files`) and read after a lost ledger, possibly one of an earlier
release or one that someone edited: a member that is odd counts as missing and costs nothing of the
others, members that are not known are left alone, and what is no manifest at all is None. It may
have 100,000 rows.
"""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple, get_args

from sqlalchemy import Connection

from callsheet.tasks.campaign.report_files import MANIFEST
from callsheet.tasks.engine.context import Context
from callsheet.tasks.ledger.audit_log import restored_since
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign, has_event
from callsheet.tasks.ledger.deliveries import Delivered, VideoFindings
from callsheet.tasks.ledger.earlier_takes import EarlierTake, PastTake, keep_earlier
from callsheet.tasks.ledger.reviews import BY, NOTE, REASON, VERDICTS, Review, Side
from callsheet.tasks.ledger.sync import Reported
from callsheet.tasks.ledger.values import CampaignRow, rows_of, takes_of
from callsheet.tasks.runtime.concurrency import map_at_once
from callsheet.tasks.runtime.errors import SpendRefused, StoreError
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.store.store import name_below
from callsheet.tasks.values.amounts import parse_credits
from callsheet.tasks.values.briefs import CREATE, AiMark
from callsheet.tasks.values.edits import edit_of
from callsheet.tasks.values.names import object_name

_TEXT, _WHOLE, _AMOUNT, _FLAG = (str,), (int,), (int, float), (bool,)
_MAYBE = (str, type(None))
#: A delivered file: what it is, where it lies, and the digest and bytes it had there.
_FILE = {"kind": _TEXT, "uri": _TEXT, "sha256": _TEXT, "bytes": _WHOLE}
#: A take of another ledger that this one did not have: its brief, which attempt (0: not known),
#: when it was sent, and what that ledger's manifest said of its row, as JSON.
_EARLIER = {
    "digest": _TEXT, "nth": _WHOLE, "sent_at": _AMOUNT, "video_id": _MAYBE, "line": _MAYBE,
}  # fmt: skip
_WORDS = "what was found, by check"
#: What a manifest says of a row, and the types of it (of a list: those of what is in it). Besides
#: what `rows --json` says, there is what its key is made of: `first_id` is the id that it had
#: first, where it was renamed; `sent_at` is when its request was, or may have been, sent (Unix
#: seconds); with `to_be_sent` it was about to be. Where that is another attempt than the row's last
#: one, `next_digest` and `next_nth` say which.
_LINE: Mapping[str, Any] = {
    "row": _TEXT, "state": _TEXT, "reason": _TEXT, "take": _WHOLE, "key": _TEXT,
    "video_id": _TEXT, "quoted": _AMOUNT, "reserved": _AMOUNT, "charged": _AMOUNT,
    "paid_before": _AMOUNT, "variance": _AMOUNT, "video_take": _WHOLE, "deliveries": _FILE,
    "review": _TEXT, "review_reason": _TEXT, "review_note": _TEXT, "reviewed_by": _TEXT,
    "checks": _WORDS, "operation": _TEXT, "digest": _TEXT, "nth": _WHOLE, "first_id": _TEXT,
    "deleted_at": _AMOUNT, "deleted_by": _TEXT, "take_quoted": _AMOUNT, "sent_at": _AMOUNT,
    "to_be_sent": _FLAG, "next_digest": _TEXT, "next_nth": _WHOLE, "earlier": _EARLIER,
}  # fmt: skip

#: A line as it is read: all members of `_LINE`, None where one is missing or odd, and those that a
#: later release adds.
Line = Mapping[str, Any]


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
    #: The lines that can be read, each as JSON, which takes a fifth of the memory.
    texts: Sequence[str]

    def lines(self) -> Iterator[Line]:
        """Yield the lines that can be read, one by one."""
        return map(json.loads, self.texts)


def read_manifest(content: bytes) -> Manifest | None:
    """Return the manifest in a file, or None where there is none in it."""
    try:
        found = json.loads(content, object_hook=_read_row)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("rows"), list):
        return None
    if not _fits(found.get("campaign"), _TEXT):
        return None
    last: Any = found.get("last_event")
    return Manifest(
        campaign=found["campaign"],
        sandbox=found.get("sandbox") is True,
        made_at=_moment(found.get("made_at")),
        last_event=(last["id"], float(last["at"])) if _fits([last], _EVENT) else None,
        texts=[one.text for one in found["rows"] if isinstance(one, _Row)],
    )


class _Row(NamedTuple):
    """A line of a manifest, as JSON."""

    text: str


def _read_row(found: dict[str, Any]) -> dict[str, Any] | _Row:
    """Return what says of which row it is as that row's line: everything else as it is."""
    is_line = _fits(found.get("row"), _TEXT) and "rows" not in found
    return _Row(_text_of(found)) if is_line else found


def _text_of(found: Mapping[str, Any]) -> str:
    """Return a line as the ledger keeps it, with all its members."""
    line = {
        name: found.get(name) if _fits(found.get(name), kind) else None
        for name, kind in _LINE.items()
    }
    line |= {name: value for name, value in found.items() if name not in _LINE}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is of some types, or a list of objects whose members are."""
    if kind is _WORDS:
        return isinstance(value, dict) and all(isinstance(words, str) for words in value.values())
    if isinstance(kind, tuple):
        # Not `isinstance`: a boolean is no number.
        return type(value) in kind
    return isinstance(value, list) and all(
        isinstance(one, dict) and all(_fits(one.get(name), of) for name, of in kind.items())
        for one in value
    )


_EVENT = {"id": _WHOLE, "at": _AMOUNT}


def _moment(value: Any) -> float | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


async def keep_manifest(at: Context, campaign: Campaign) -> Manifest | str | None:
    """Remember the takes of a manifest that another ledger wrote, before a new one replaces it.

    Returns that manifest, or what could not be read, if so. Raises SpendRefused for videos that a
    sandbox made.
    """
    name = f"{campaign.name}/{MANIFEST}"
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
    first = [(line["row"], line["first_id"]) for line in found.lines() if line["first_id"]]
    await at.ledger.write(keep_earlier, campaign_id=campaign.id, found=lines, first=first, at=now)
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
    for text in found.texts:
        line = json.loads(text)
        for one in line["earlier"] or ():
            yield EarlierTake(
                row=line["row"],
                digest=one["digest"],
                nth=one["nth"],
                sent_at=float(one["sent_at"]),
                video_id=one.get("video_id"),
                line=_checked(one.get("line")),
            )
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
                line=_text_of({"row": line["row"], "operation": line["operation"]}),
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
                line=text,
            )
        elif line["charged"]:
            # What it cost counts, though nothing more is known of what was made, or when.
            yield EarlierTake(row=line["row"], digest="", sent_at=made_at, line=text)


def _checked(text: str | None) -> str | None:
    """Return a line that a manifest repeats of an earlier one, if it can be read."""
    try:
        found = json.loads(text or "", object_hook=_read_row)
    except (ValueError, RecursionError):
        return None
    return found.text if isinstance(found, _Row) else None


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

    line = one.told
    if not line:
        return None
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
        reviews=reviews_of_line(line, noted),
        findings=findings_of_line(line) if line["video_take"] == number else None,
    )


def findings_of_line(line: Line) -> VideoFindings | None:
    """Return what a line says that was found when its video was looked at."""
    checks, mark = line["checks"] or {}, line.get("ai_mark")
    ai_mark = next((known for known in get_args(AiMark) if known == mark), None)
    return VideoFindings(checks=checks, ai_mark=ai_mark) if checks or ai_mark else None


def reviews_of_line(line: Line, at: float) -> dict[Side, Review]:
    """Return the verdicts on the video of the take that a line tells of, by who gave them.

    When exactly, the manifest does not tell: it is `at`.
    """
    if line["video_take"] != line["take"]:
        return {}
    found: dict[Side, Review] = {}
    for side, names in _REVIEWS.items():
        said, reason, note, by = (str(line.get(name) or "") for name in names)
        if verdict := next((one for one in VERDICTS if one == said), None):
            words = {"reason": reason[:REASON] or None, "note": note[:NOTE] or None}
            found[side] = Review(verdict=verdict, by=by[:BY] or "somebody", at=at, **words)
    return found


#: The members of a line that tell of a verdict: what, why, in which words, and who.
_REVIEWS: Mapping[Side, tuple[str, ...]] = {
    "team": ("review", "review_reason", "review_note", "reviewed_by"),
    "client": ("client_review", "client_reason", "client_note", "client_by"),
}


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
