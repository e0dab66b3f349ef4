"""Everything known about one row, and what you can do about it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection

from callsheet.tasks.campaign.values import PAID
from callsheet.tasks.campaign.waits import first_videos
from callsheet.tasks.engine.policy.decision import Lane, Rules, lane_of
from callsheet.tasks.ledger.campaigns import Campaign
from callsheet.tasks.ledger.diff import ACTIONS, Action, changed_fields, diff_row
from callsheet.tasks.ledger.earlier_takes import refused_rows, say_held
from callsheet.tasks.ledger.quotes import too_dear
from callsheet.tasks.ledger.service_state import PaidCall, calls_about
from callsheet.tasks.ledger.values import CampaignRow, State, Take, last_made, video_named
from callsheet.tasks.ledger.webhook_events import hinted_at
from callsheet.tasks.runtime.suggest import suggest, suggest_run
from callsheet.tasks.values.amounts import as_number
from callsheet.tasks.values.briefs import WISHES, Brief
from callsheet.tasks.values.edits import edit_of, made_by

if TYPE_CHECKING:
    # Who needs a command to type does not pay for reading pages of rows.
    from callsheet.tasks.ledger.row_history import ShownEvent, WholeRow
    from callsheet.tasks.ledger.row_views import ShownTake


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """A row with its takes, its history, and what comes next.

    `document` is the row as in `rows --json`, `whole` what the ledger has of it, `calls` are the
    calls about its videos, `hinted` is when a webhook first named each of these (Unix seconds).
    """

    campaign: Campaign
    whole: WholeRow
    document: Mapping[str, Any]
    calls: Sequence[PaidCall]
    hinted: Mapping[str, float]
    next: Next
    commands: Sequence[Command]

    @property
    def row(self) -> CampaignRow:
        """The row."""
        return self.whole.row

    @property
    def quotes(self) -> list[ShownEvent]:
        """The quotes of the row and their times, from its history."""
        return [event for event in self.whole.events if event.new == "quoted"]

    def is_present(self, take: Take) -> bool:
        """Whether it is the row's take now."""
        return self.row.take is not None and self.row.take.id == take.id

    def events_of(self, take: Take) -> list[ShownEvent]:
        """Return what of the history is about a take."""
        return [event for event in self.whole.events if event.take == take.number]

    def calls_of(self, take: Take) -> list[PaidCall]:
        """Return the calls of a take, and those about its video that were typed by hand."""
        return [call for call in self.calls if _is_about(call, take)]

    def changed_in(self, take: Take) -> Sequence[str]:
        """Return the members of the request of a take that differ from the row as it is now."""
        return changed_fields(take.asked(), self.row.asked())


def explain(
    connection: Connection, campaign: Campaign, row: str, *, now: float, rules: Rules
) -> Explanation | None:
    """Return everything that the ledger has about a row; None where there is no such row."""
    from callsheet.tasks.ledger.row_history import whole_row

    whole = whole_row(connection, campaign.id, row)
    if whole is None:
        return None
    own, takes = whole.row, [one.take for one in reversed(whole.takes)]
    videos = [take.video_id for take in takes if take.video_id]
    named = video_named(connection, own)
    comes = next_run(own, named, now=now, rules=rules, made=last_made(takes))
    if comes.action in PAID and (one := refused_rows(connection, campaign.id).get(own.row)):
        comes = _left_to_a_person(comes, say_held(one))
    return Explanation(
        campaign=campaign,
        whole=whole,
        document=whole.shown.document,
        calls=calls_about(connection, take_ids=[take.id for take in takes], video_ids=videos),
        hinted=hinted_at(connection, videos),
        next=comes,
        commands=commands_for(campaign, own),
    )


def _is_about(call: PaidCall, take: Take) -> bool:
    # Takes by edits have the video of the take before; a call typed by hand is of no take.
    if call.take_id is not None:
        return call.take_id == take.id
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
        "takes": [_take_document(found, one) for one in reversed(found.whole.takes)],
        "history": [_event_document(event) for event in found.whole.events],
    }


_MOMENTS = ("intended_at", "accepted_at", "refused_at", "ready_at", "delivered_at", "abandoned_at")


def _take_document(found: Explanation, one: ShownTake) -> dict[str, Any]:
    take = one.take
    return {
        "take": take.number,
        "nth": take.nth,
        "present": found.is_present(take),
        "key": take.key if take.keyed else None,
        "digest": take.digest,
        "video_id": take.video_id,
        **{name: as_number(getattr(take, name)) for name in ("quoted", "reserved", "charged")},
        **{name: moment(getattr(take, name)) for name in _MOMENTS},
        "hinted_at": moment(found.hinted.get(take.video_id or "")),
        "body_bytes": len(take.body),
        "asked": take.asked(),
        "differs_in": list(found.changed_in(take)),
        "deliveries": [asdict(file) for file in one.video.files.values()],
        "answers": [_event_document(event) for event in found.events_of(take)],
        "calls": [_call_document(call) for call in found.calls_of(take)],
    }


def _call_document(call: PaidCall) -> dict[str, Any]:
    return {
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


def _event_document(event: ShownEvent) -> dict[str, Any]:
    said = {name: getattr(event, name) for name in ("kind", "old", "new", "words")}
    return {"at": moment(event.at), **said}


def moment(at: float | None) -> str | None:
    """Return a moment (Unix seconds) in ISO 8601, UTC."""
    return None if at is None else datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# What the next run does with a row, and what you can do now. Pure.
#
# The rules are in `diff_row` and `decide`; this module puts them into words.


#: What each lane does.
LANES: dict[Lane, str] = {
    "submit": "send the create under its key",
    "submit_unkeyed": "send the call, which has no key, once",
    "search": "look in the service's list for what an earlier call made",
    "poll": "look whether the video is there",
    "deliver": "fetch video and captions into the store",
    "cancel": "cancel its render at the service, as requested",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Next:
    """What the next run does with a row that has not changed in the sheet.

    `rests` is its state before the run, `lane` where the run processes it (None: nowhere).
    """

    action: Action
    means: str
    why: str | None
    rests: State
    lane: Lane | None
    lane_means: str | None


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and what it does."""

    line: str
    does: str


def next_run(
    row: CampaignRow,
    video_id: str | None = None,
    *,
    now: float,
    rules: Rules,
    made: Take | None = None,
) -> Next:
    """Return what the next run does with `row` if its line in the sheet stays the same.

    `video_id` is the video that the line names (`video_named`), `made` the take whose video an
    edit may change.
    """
    if row.state == "retired":
        words = "the row left the sheet; if it comes back, the run continues from here"
        return Next(
            action="none", means=words, why=None, rests="retired", lane=None, lane_means=None
        )
    waits = row.deliver_after is not None and row.deliver_after > now
    brief = replace(brief_of(row), video_id=video_id, waits=waits)
    diff = diff_row(row, brief, made=made if edit_of(row.operation) else None)
    action, why = diff.action, diff.why
    if diff.state == "held" and (above := too_dear(row, row.quoted)):
        action, why = "person", above
    lane = _lane(row, action, diff.state, now, rules)
    return Next(
        action=action,
        means=ACTIONS[action],
        why=why,
        rests=diff.state,
        lane=lane,
        lane_means=LANES[lane] if lane else None,
    )


def _left_to_a_person(comes: Next, why: str) -> Next:
    means = ACTIONS["person"]
    return replace(comes, action="person", means=means, why=why, lane=None, lane_means=None)


def run_line(campaign: Campaign) -> str:
    """Return the command that runs a campaign again from its sheet."""
    return suggest_run(campaign.sheet, campaign.name, *service_of(campaign))


def service_of(campaign: Campaign) -> tuple[str, ...]:
    """Return the option that service commands need for this campaign."""
    return ("--sandbox",) if campaign.sandbox else ()


#: What a row of the ledger has as its brief had it.
_OF_BRIEF = ("row", "line", *({*WISHES} & {one.name for one in fields(CampaignRow)}))


def brief_of(row: CampaignRow) -> Brief:
    """Return the brief of a row as its sheet would give it again."""
    said: dict[str, Any] = {name: getattr(row, name) for name in _OF_BRIEF}
    return Brief(request=json.loads(row.request), operation=made_by(row.operation), **said)


def _lane(row: CampaignRow, action: Action, state: State, now: float, rules: Rules) -> Lane | None:
    if action in PAID:
        # After it is quoted and approved.
        state = "approved"
    elif action != "fetch":
        return None
    return lane_of(replace(row, state=state), now, rules)


def commands_for(campaign: Campaign, row: CampaignRow) -> list[Command]:
    """Return the commands that you can use for a row now, most likely first."""
    of, run, service = (campaign.name, row.row), run_line(campaign), service_of(campaign)
    looks = Command(
        suggest("reconcile", campaign.name, *service), "compare it with the service, free"
    )
    retake = Command(
        suggest("retake", *of, "--run", *service),
        "make a retake, after you approve its price",
    )
    cancel = Command(suggest("cancel", *of, *service), "cancel it")
    edit = Command(run, "after editing its line of the sheet: a new video, priced and approved")
    match row.state:
        case "planned" if not row.enabled:
            words = "after enabled is yes in its line of the sheet: quote it, ask, and make it"
            return [Command(run, words), cancel]
        case "planned" | "quoted" | "approved":
            return [Command(run, "quote it, ask, and make it"), cancel]
        case "submitting" | "rendering":
            return [Command(run, "continue it: it is paid for, nothing more is spent"), cancel]
        case "ready":
            # Its video is made: there is nothing to cancel.
            return [Command(run, "continue it: it is paid for, nothing more is spent")]
        case "held" if row.take is not None and row.take.stands:
            again = Command(run, "try again; what is paid for is not paid again")
            return [again, retake, looks, *([cancel] if row.take.ready_at is None else [])]
        case "held" if first_videos([row.reason]):
            approve = suggest("approve", campaign.name, *service)
            words = f"keep {first_videos([row.reason])} and approve what waits for it"
            return [Command(approve, words), cancel]
        case "held":
            return [Command(run, "try again once the cause is fixed"), cancel]
        case "stalled":
            return [Command(run, "check again, free"), looks, retake, cancel]
        case "uncertain":
            return [looks, *_resolutions(of, row, service)]
        case "rejected":
            return [edit]
        case "failed" | "cancelled":
            return [retake, edit]
        case "delivered":
            check = suggest("verify", campaign.name, "--select", row.row)
            return [Command(check, "check that its files are in the store and intact"), retake]
        case "retired":
            return [Command(run, "with the row in the sheet again")]


def _resolutions(of: tuple[str, str], row: CampaignRow, service: tuple[str, ...]) -> list[Command]:
    reserved = row.take.reserved if row.take else 0
    adopt = suggest("resolve", *of, "--adopt", "ID", *service)
    return [
        Command(adopt, "the call made this video"),
        Command(
            suggest("resolve", *of, "--resend"),
            f"give it up, counting {reserved:f} credits as spent, and make another take",
        ),
        Command(suggest("resolve", *of, "--abandon"), "give it up and cancel the row"),
    ]
