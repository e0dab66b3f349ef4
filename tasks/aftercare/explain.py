"""Everything that is known of one row: why it is where it is, and what was tried. Reads only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Connection

from callsheet.tasks.aftercare.advice import Command, Next, commands_for, next_run
from callsheet.tasks.campaign.report import row_documents
from callsheet.tasks.credits import as_number
from callsheet.tasks.engine.policy.decision import Rules
from callsheet.tasks.ledger import (
    Campaign,
    CampaignRow,
    Delivered,
    Event,
    Ledger,
    PaidCall,
    Review,
    Take,
    calls_about,
    changed_fields,
    deliveries_of,
    events_of,
    hinted_at,
    takes_of,
    videos_of,
)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One take of a row: its files, what was said about it, and the journal of its calls.

    `changed` are the members of its request that differ from what the row asks for now;
    `hinted_at` is when a webhook first named its video, in Unix seconds.
    """

    take: Take
    present: bool
    files: Sequence[Delivered]
    events: Sequence[Event]
    calls: Sequence[PaidCall]
    changed: Sequence[str]
    hinted_at: float | None = None


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A row, every attempt at it, its history, and what comes next.

    `document` is the row as `rows --json` has it, `review` what was said of its newest video.
    """

    campaign: Campaign
    row: CampaignRow
    document: Mapping[str, Any]
    attempts: Sequence[Attempt]
    history: Sequence[Event]
    next: Next
    commands: Sequence[Command]
    review: Review | None = None

    @property
    def quotes(self) -> list[Event]:
        """What the row was quoted, and when, as far as its history tells."""
        return [event for event in self.history if event.new == "quoted"]


async def explain(
    ledger: Ledger, campaign: Campaign, row: CampaignRow, *, now: float, rules: Rules
) -> Explanation:
    """Return everything the ledger knows of a row."""
    return await ledger.read(partial(_explain, campaign=campaign, row=row, now=now, rules=rules))


def _explain(
    connection: Connection, campaign: Campaign, row: CampaignRow, now: float, rules: Rules
) -> Explanation:
    takes = [take for of, take in takes_of(connection, campaign.id) if of == row.id]
    events = events_of(connection, row.id)
    video = videos_of(connection, campaign.id, numbers=[row.id]).get(row.id)
    return Explanation(
        campaign=campaign,
        row=row,
        document=row_documents(connection, campaign.id, numbers=[row.id])(row),
        attempts=_attempts(connection, row, takes, events),
        history=events,
        next=next_run(row, now=now, rules=rules),
        commands=commands_for(campaign, row),
        review=video.review if video else None,
    )


def _attempts(
    connection: Connection, row: CampaignRow, takes: Sequence[Take], events: Sequence[Event]
) -> list[Attempt]:
    files = deliveries_of(connection, row.campaign_id)
    videos = [take.video_id for take in takes if take.video_id]
    calls = calls_about(connection, take_ids=[take.id for take in takes], video_ids=videos)
    heard = hinted_at(connection, videos)
    wanted = row.asked()
    return [
        Attempt(
            take=take,
            present=row.take is not None and row.take.id == take.id,
            files=files.get(take.id, ()),
            events=[event for event in events if event.take_id == take.id],
            calls=[call for call in calls if _is_about(call, take)],
            changed=changed_fields(take.asked(), wanted),
            hinted_at=heard.get(take.video_id or ""),
        )
        for take in takes
    ]


def _is_about(call: PaidCall, take: Take) -> bool:
    if call.take_id == take.id:
        return True
    return take.video_id is not None and take.video_id in (call.target, call.video_id)


def explanation_document(found: Explanation) -> dict[str, Any]:
    """Return an explanation as JSON: the document of `explain --json`."""
    row = found.row
    return {
        "campaign": found.campaign.name,
        **found.document,
        "since": moment(row.since),
        "sheet": {"address": found.campaign.sheet, "line": row.line},
        "operation": row.operation,
        "digest": row.digest,
        "nth": row.nth,
        "captions": list(row.captions),
        "enabled": row.enabled,
        "priority": row.priority,
        "max_credits": as_number(row.max_credits),
        "tags": list(row.tags),
        "cost_center": row.cost_center,
        "notes": row.notes,
        "quoted_at": moment(row.quoted_at),
        "quotes": [{"at": moment(event.at), "words": event.words} for event in found.quotes],
        "request": row.asked(),
        "next_run": asdict(found.next),
        "commands": [asdict(command) for command in found.commands],
        "takes": [_attempt(one) for one in found.attempts],
        "history": [_event(event) for event in found.history],
    }


def _attempt(one: Attempt) -> dict[str, Any]:
    take = one.take
    moments = ("intended_at", "accepted_at", "refused_at", "ready_at", "delivered_at",
               "abandoned_at")  # fmt: skip
    return {
        "take": take.number,
        "nth": take.nth,
        "present": one.present,
        "key": take.key if take.keyed else None,
        "digest": take.digest,
        "video_id": take.video_id,
        "quoted": as_number(take.quoted),
        "reserved": as_number(take.reserved),
        "charged": as_number(take.charged),
        **{name: moment(getattr(take, name)) for name in moments},
        "hinted_at": moment(one.hinted_at),
        "body_bytes": len(take.body),
        "asked": take.asked(),
        "differs_in": list(one.changed),
        "deliveries": [asdict(file) for file in one.files],
        "answers": [_event(event) for event in one.events],
        "calls": [
            {
                "call": call.id,
                "operation": call.operation,
                "target": call.target or None,
                "by_hand": call.take_id is None,
                "opened_at": moment(call.opened_at),
                "closed_at": moment(call.closed_at),
                "outcome": call.outcome,
                "video_id": call.video_id,
                "resolved_at": moment(call.resolved_at),
            }
            for call in one.calls
        ],
    }


def _event(event: Event) -> dict[str, Any]:
    return {
        "at": moment(event.at),
        "kind": event.kind,
        "old": event.old,
        "new": event.new,
        "words": event.words,
    }


def moment(at: float | None) -> str | None:
    """Return a moment (Unix seconds) in ISO 8601, UTC."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
