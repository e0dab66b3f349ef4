"""What the next run does with a row, and what a person can do about it now. Pure.

The rules are those of `diff_row` and `decide`; here they are only put into words.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from callsheet.tasks.brief import Brief
from callsheet.tasks.engine.policy.decision import Lane, Rules, lane_of
from callsheet.tasks.ledger import ACTIONS, Action, Campaign, CampaignRow, State, diff_row, too_dear
from callsheet.tasks.suggest import suggest, suggest_run

#: What each lane does.
LANES: dict[Lane, str] = {
    "submit": "send the create under its key",
    "submit_unkeyed": "send the call, which takes no key, once",
    "search": "look in the service's list for what an earlier call made",
    "poll": "look whether the video is there",
    "deliver": "fetch video and captions into the store",
    "cancel": "cancel its render at the service, as requested",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Next:
    """What the next run does with a row whose line of the sheet has not changed.

    `rests` is the state it has before the run, `lane` where the run takes it up (None: nowhere).
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


def next_run(row: CampaignRow, *, now: float, rules: Rules) -> Next:
    """Return what the next run does with `row`, should its sheet still say the same of it."""
    if row.state == "retired":
        words = "the row left the sheet; if it comes back, the run continues from here"
        return Next(
            action="nothing", means=words, why=None, rests="retired", lane=None, lane_means=None
        )
    diff = diff_row(row, brief_of(row))
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


def run_line(campaign: Campaign) -> str:
    """Return the command that runs a campaign again, from the sheet it was run from."""
    return suggest_run(campaign.sheet, campaign.name, *service_of(campaign))


def service_of(campaign: Campaign) -> tuple[str, ...]:
    """Return the option that a command which asks the service needs for this campaign."""
    return ("--sandbox",) if campaign.sandbox else ()


def brief_of(row: CampaignRow) -> Brief:
    """Return the brief a row was read from, as its sheet would give it again."""
    return Brief(
        row=row.row,
        request=json.loads(row.request),
        operation=row.operation,
        captions=row.captions,
        enabled=row.enabled,
        priority=row.priority,
        max_credits=row.max_credits,
        tags=row.tags,
        cost_center=row.cost_center,
        notes=row.notes,
        line=row.line,
    )


def _lane(row: CampaignRow, action: Action, state: State, now: float, rules: Rules) -> Lane | None:
    if action in ("make", "remake"):
        # Once it is quoted and approved.
        state = "approved"
    elif action != "continue":
        return None
    return lane_of(replace(row, state=state), now, rules)


def commands_for(campaign: Campaign, row: CampaignRow) -> list[Command]:
    """Return what a person can type about a row now, the likeliest first."""
    of, run, service = (campaign.name, row.row), run_line(campaign), service_of(campaign)
    looks = Command(
        suggest("reconcile", campaign.name, *service), "compare it with the service, free"
    )
    retake = Command(
        suggest("retake", *of, "--run", *service),
        "make another take, at a price that is asked about",
    )
    cancel = Command(suggest("cancel", *of, *service), "cancel it")
    edit = Command(run, "after editing its line of the sheet: a new video, priced and approved")
    match row.state:
        case "planned" | "quoted" | "approved":
            return [Command(run, "quote it, ask, and make it"), cancel]
        case "submitting" | "rendering" | "ready":
            return [Command(run, "continue it: it is paid for, nothing more is spent"), cancel]
        case "held" if row.take is not None and row.take.stands:
            return [
                Command(run, "try again; what is paid for is not paid again"),
                retake,
                looks,
                cancel,
            ]
        case "held":
            return [Command(run, "try again once the cause is fixed"), cancel]
        case "stalled":
            return [Command(run, "look again, free"), looks, retake, cancel]
        case "uncertain":
            return [looks, *_resolutions(of, row, service)]
        case "rejected":
            return [edit]
        case "failed" | "cancelled":
            return [retake, edit]
        case "delivered":
            check = suggest("verify", campaign.name, "--select", row.row)
            return [Command(check, "see that its files are still in the store, intact"), retake]
        case "retired":
            return [Command(run, "with the row in the sheet again")]


def _resolutions(of: tuple[str, str], row: CampaignRow, service: tuple[str, ...]) -> list[Command]:
    reserved = row.take.reserved if row.take else 0
    adopt = suggest("resolve", *of, "--adopt", "ID", *service)
    return [
        Command(adopt, "this video is what the call made"),
        Command(
            suggest("resolve", *of, "--resend"),
            f"give it up, counting {reserved:f} credits as spent, and make another take",
        ),
        Command(suggest("resolve", *of, "--abandon"), "give it up and cancel the row"),
    ]
