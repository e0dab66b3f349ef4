"""What has to hold at the end of every trial, whatever was killed in it.

Looks at the service's own charge log and at the store first, and only then holds the ledger
against both. Each finding is a sentence; none means that all is well.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from callsheet.tasks.ledger.values import TRANSITIONS
from tests.torture.books import MICRO, Books
from tests.torture.campaign import Scenario
from tests.torture.videos import Found

#: What an edit of a video is called in the charge log.
EDITING = ("scene", "voice", "export")

#: The status of a video that the service has no more.
DELETED = "deleted"


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is known at the end of a trial.

    `charges` is the service's log since the trial began, `clip_calls` how many clips were asked
    for, `found` what the store holds by address, `litter` what should not be there, `truth` the
    video of every video as the service has it (sha256), `resent` how many clips a person had sent
    again.
    """

    scenario: Scenario
    charges: Sequence[Mapping[str, Any]]
    clip_calls: int
    found: Mapping[str, Found]
    litter: Sequence[str]
    truth: Mapping[str, str]
    statuses: Mapping[str, str]
    books: Books
    resent: int = 0
    others: Sequence[Mapping[str, Any]] = ()
    afterwards: Sequence[Mapping[str, Any]] = ()


def violations(seen: Evidence) -> list[str]:
    """Return what is not as it has to be."""
    checks = (
        *(_charges, _store, _rows, _intents, _deliveries),
        *(_settled, _pruned, _account, _history),
    )
    return [finding for check in checks for finding in check(seen)]


def bought(charges: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the renders that were begun and not given back."""
    back = {(c["video_id"], c["render"]) for c in charges if c["event"] == "release"}
    begun = [c for c in charges if c["event"] == "reserve"]
    return [c for c in begun if (c["video_id"], c["render"]) not in back]


def _charges(seen: Evidence) -> Iterator[str]:
    """At most one charge for a key, and for a clip; no clip is sent twice; the budget holds."""
    paid = bought(seen.charges)
    others = {(c["video_id"], c["render"]) for c in seen.others}
    total = sum(c["credits"] for c in paid)
    paid = [c for c in paid if (c["video_id"], c["render"]) not in others]
    made = [c for c in paid if c["operation"] not in EDITING]
    most = seen.scenario.most
    if most is not None and len(made) > most:
        yield f"calls were made for {len(made)} videos, and {most} were asked for"
    keys = Counter(c["idempotency_key"] for c in made if c["idempotency_key"])
    for key, times in keys.items():
        if times > 1:
            yield f"key {key} was charged {times} times"
    clips = Counter(c["title"] for c in made if not c["idempotency_key"])
    for title, times in clips.items():
        if times > 1:
            yield f"the clip {title} was charged {times} times"
    wanted = sum(row.clip for row in seen.scenario.rows.values()) + seen.resent
    if seen.clip_calls > wanted:
        yield f"{seen.clip_calls} calls were made for {wanted} clips"
    if total > seen.scenario.budget:
        yield f"{total} credits were charged, over the budget of {seen.scenario.budget}"
    for charge in seen.afterwards:
        yield f"{charge['credits']} credits were set aside for {charge['title']} afterwards"


def _store(seen: Evidence) -> Iterator[str]:
    """No half file is left, in the store or in the spool; every video plays."""
    for name in seen.litter:
        yield f"{name} was left behind"
    for address, found in seen.found.items():
        if found.trouble:
            yield f"{address}: {found.trouble}"


def _rows(seen: Evidence) -> Iterator[str]:
    """Every row of the sheet is in the ledger, once, in the state that it has to end in."""
    states = {line["row"]: line["state"] for line in seen.books.rows}
    wanted = seen.scenario.rows
    if len(seen.books.rows) != len(wanted) or states.keys() != wanted.keys():
        yield f"the sheet has the rows {sorted(wanted)}, the ledger {sorted(states)}"
    for row in wanted.values():
        state = states.get(row.id)
        if state not in (row.state, row.or_else):
            yield f"row {row.id} ended {state} instead of {row.state}"
    for call in seen.books.calls:
        if call["closed_at"] is None:
            yield f"call {call['id']} is still open"
    if seen.books.campaign["owner"]:
        yield "the campaign is still held by a process"


def _intents(seen: Evidence) -> Iterator[str]:
    """Every charge belongs to an intent in the ledger, at the price that was charged."""
    by_key = {take["key"]: take for take in seen.books.takes}
    by_video: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for one in sorted(seen.books.takes, key=lambda take: int(take["id"])):
        by_video[one["video_id"]].append(one)
    prices: dict[str, Counter[bool]] = defaultdict(Counter)
    edits: Counter[str] = Counter()
    others = {(c["video_id"], c["render"]) for c in seen.others}
    for charge in bought(seen.charges):
        key, video = charge["idempotency_key"], charge["video_id"]
        # What was edited in the service's app is part of what its video cost.
        edited = charge["operation"] in EDITING and (video, charge["render"]) not in others
        prices[video][edited] += charge["credits"]
        edits[video] += edited
        take = by_key.get(key) if key else next(iter(by_video[video]), None)
        if take is None:
            yield f"the charge for {charge['title']} ({video}) belongs to no take"
        elif take["video_id"] != video:
            yield f"take {take['id']} names {take['video_id']}, the charge {video}"
    for video, (first, *more) in ((v, by_video[v]) for v in prices if by_video[v]):
        booked = Counter({False: first["charged"], True: sum(one["charged"] or 0 for one in more)})
        if booked != Counter({part: sum_ * MICRO for part, sum_ in prices[video].items()}):
            yield f"the takes of {video} book {booked}, charged were {prices[video]}"
        if edits[video] != len([one for one in more if one["charged"]]):
            yield f"{video} was edited {edits[video]} times, the ledger has {len(more)} edits"


def _deliveries(seen: Evidence) -> Iterator[str]:
    """Every delivered row has its files, with the bytes that the service has for its video."""
    files: dict[int, dict[str, Any]] = defaultdict(dict)
    for line in seen.books.deliveries:
        files[line["take_id"]][line["kind"]] = line
    takes = {take["id"]: take for take in seen.books.takes}
    for line in seen.books.rows:
        if line["state"] != "delivered":
            continue
        row, own = seen.scenario.rows[line["row"]], files[line["take_id"]]
        if own.keys() != {"mp4", *row.captions}:
            yield f"row {row.id} has {sorted(own)}, asked for mp4 and {sorted(row.captions)}"
        for kind, file in own.items():
            there = seen.found.get(file["uri"])
            if there is None:
                yield f"{file['uri']} of row {row.id} is not in the store"
            elif (there.sha256, there.bytes) != (file["sha256"], file["bytes"]):
                yield f"{file['uri']} is not the file that the ledger says"
            if (
                kind == "mp4"
                and seen.truth.get(takes[line["take_id"]]["video_id"]) != file["sha256"]
            ):
                yield f"row {row.id} has another video than the service made for it"


def _settled(seen: Evidence) -> Iterator[str]:
    """What is cancelled is so at the service, and was released there; what is delivered is made."""
    takes = {take["id"]: take for take in seen.books.takes}
    back = {c["video_id"] for c in seen.charges if c["event"] == "release"}
    for line in seen.books.rows:
        take = takes.get(line["take_id"])
        if take is None or take["video_id"] is None:
            continue
        status = seen.statuses[take["video_id"]]
        delivered = DELETED if seen.scenario.rows[line["row"]].aged else "completed"
        wanted = {"cancelled": "cancelled", "delivered": delivered}.get(line["state"], status)
        if status != wanted:
            yield f"row {line['row']} is {line['state']}, its video {status}"
        if line["state"] == "cancelled" and take["video_id"] not in back:
            yield f"row {line['row']} was cancelled and its credits not released"
        if line["state"] == "cancelled" and (take["reserved"] or take["charged"]):
            yield f"row {line['row']} was cancelled and its take still counts credits"


def _pruned(seen: Evidence) -> Iterator[str]:
    """What the service has no more was deleted by us, of a row that left or is old.

    The files of a row that left are deleted, too.
    """
    rows = {line["id"]: line for line in seen.books.rows}
    stored = {line["take_id"] for line in seen.books.deliveries}
    for take in seen.books.takes:
        video, row = take["video_id"], rows.get(take["row_id"])
        if row is None:
            # That it is lost is a finding of another check.
            continue
        left = row["state"] == "retired"
        gone = left or seen.scenario.rows[row["row"]].aged
        if video and gone != (seen.statuses[video] == DELETED):
            yield f"row {row['row']} is {row['state']}, its video {seen.statuses[video]}"
        if gone and not (take["deleted_at"] and take["charged"]):
            yield f"the ledger does not say that the video of {row['row']} was paid and deleted"
        if left and (take["id"] in stored or any(f"/{row['row']}/" in uri for uri in seen.found)):
            yield f"files of {row['row']} were not deleted"


def _account(seen: Evidence) -> Iterator[str]:
    """The account, the sums over the takes and the charge log are the same."""
    books = seen.books
    for column in ("reserved", "charged"):
        total = sum(take[column] or 0 for take in books.takes)
        if books.campaign[column] != total:
            yield f"the account says {books.campaign[column]} {column}, the takes {total}"
    paid = sum(c["credits"] for c in bought(seen.charges)) * MICRO
    if books.campaign["charged"] != paid:
        yield f"the account says {books.campaign['charged']} charged, the service {paid}"
    unsettled = [line for line in books.rows if line["state"] == "uncertain"]
    if books.campaign["reserved"] and not unsettled:
        yield f"{books.campaign['reserved']} are reserved though every row is settled"
    if books.campaign["budget"] != seen.scenario.budget * MICRO:
        yield f"the budget is {books.campaign['budget']}"


def _history(seen: Evidence) -> Iterator[str]:
    """The events of a row are one unbroken way along the diagram, and end where the row is."""
    moves: dict[int, list[tuple[str, str]]] = defaultdict(list)
    for event in seen.books.events:
        if event["kind"] == "state":
            moves[event["row_id"]].append((event["old"], event["new"]))
    for line in seen.books.rows:
        at: str | None = None
        for old, new in moves[line["id"]]:
            if at is not None and (old != at or new not in TRANSITIONS[old]):  # type: ignore[index]
                yield f"row {line['row']} moved from {old} to {new} when it was {at}"
            at = new
        if at not in (None, line["state"]):
            yield f"row {line['row']} is {line['state']}, its history ends in {at}"
