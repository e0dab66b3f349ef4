"""What people read about a run: plans, outcome, and the status of each row.

A row is said in three ways: as JSON for programs, as a line of the manifest, and as a line of the
status sheet, which is the input with `cs_` columns next to it. How their files come into the
store is in `report_files`.
"""

from __future__ import annotations

import io
import logging
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import groupby
from typing import TYPE_CHECKING, Any

from callsheet.tasks.campaign.values import Plan, PlanLine, RunOutcome
from callsheet.tasks.campaign.waits import later, waiting_lines, waits_for_videos, wave_of
from callsheet.tasks.ledger.accounts import Account
from callsheet.tasks.ledger.audit_log import restored_since
from callsheet.tasks.ledger.campaigns import Campaign, tally_of
from callsheet.tasks.ledger.diff import ACTIONS
from callsheet.tasks.ledger.figures import NAMES
from callsheet.tasks.ledger.row_views import Provenance, ShownRow, number_of
from callsheet.tasks.ledger.row_views import row_documents as row_documents
from callsheet.tasks.ledger.values import NEEDS_PERSON, UNDER_WAY, State
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.spreadsheets import write_csv
from callsheet.tasks.values.amounts import (
    as_text,
    count,
    in_credits,
    say_date,
    say_duration,
    say_share,
    with_money,
)
from callsheet.tasks.values.briefs import CREATE

if TYPE_CHECKING:
    # Anyone who reads rows need not pay for the service's client.
    from callsheet.tasks.campaign.workers import Workers
    from callsheet.tasks.engine.context import Context
    from callsheet.tasks.engine.engine import Engine

log = logging.getLogger("callsheet.campaign")


async def outcome_of(
    at: Context,
    campaign: Campaign,
    states: Collection[State],
    engine: Engine | Workers | None,
    *,
    charged_before: Decimal | None,
) -> RunOutcome:
    """Return how a run ended: `states` are those of the rows that it was asked to make.

    `charged_before` is what runs with this ledger had been charged when the run began; None: the
    same.
    """
    tally = await at.ledger.read(tally_of, campaign=campaign)
    since = at.clock() - at.settings.horizon
    parked = engine.parked_until if engine else None
    words = engine.parked_because if engine else None
    return RunOutcome(
        campaign=campaign.name,
        tally=tally,
        charged_this_run=tally.paid_here
        - (tally.paid_here if charged_before is None else charged_before),
        exit_status=exit_status(states),
        parked_until=parked,
        words=words,
        credit_price=at.settings.credit_price,
        is_restored=await at.ledger.read(restored_since, moment=since),
    )


def unreported(outcome: RunOutcome, error: CallsheetError) -> RunOutcome:
    """Return an outcome whose manifest could not be written: a run that is not done yet."""
    words = f"manifest and status sheet could not be written: {error}"
    log.warning("%s", words)
    return replace(outcome, exit_status=outcome.exit_status or 5, words=outcome.words or words)


def exit_status(states: Collection[State]) -> int:
    """Return 5 when rows can go on by themselves later, 3 when some need a person, else 0.

    A row that is quoted at the end of a run has become dearer since its approval.
    """
    if any(state in UNDER_WAY or state == "approved" for state in states):
        return 5
    return 3 if any(state in NEEDS_PERSON or state == "quoted" for state in states) else 0


def manifest_line(
    row: ShownRow,
    document: Mapping[str, Any],
    earlier: Sequence[Mapping[str, Any]],
    *,
    before_sending: bool,
) -> dict[str, Any]:
    """Return one line of the manifest: how a row stands, what its key is made of, and when it was,
    or with `before_sending` is about to be, sent.

    `document` is the row's, made once for both files; `earlier` is what another ledger may have
    paid for: should this one be lost too, the store knows.
    """
    to_be_sent = before_sending and row.state == "approved"
    attempt = (row.digest, row.nth)
    present = (row.take_digest, row.take_nth) if row.take else attempt
    stands = row.refused_at is None and row.abandoned_at is None
    said = {
        **document,
        **({"earlier": earlier} if earlier else {}),
        "operation": row.operation,
        "digest": present[0],
        "nth": present[1],
        **({"first_id": row.first_id} if row.first_id else {}),
    }
    if row.deleted_at:
        said |= {"deleted_at": row.deleted_at, "deleted_by": row.deleted_by}
    said["take_quoted"] = number_of(row.take_quoted_micro)
    said["sent_at"] = row.sent_at if stands else None
    said["to_be_sent"] = to_be_sent
    if to_be_sent and present != attempt:
        said["next_digest"], said["next_nth"] = attempt
    return said


def status_sheet(rows: Iterable[ShownRow]) -> bytes:
    """Return the input columns with `cs_` columns next to them, as CSV for a spreadsheet."""
    records = [status_line(row, row.document) for row in rows]
    columns = list(dict.fromkeys(name for record in records for name in record))
    out = io.StringIO(newline="")
    write_csv(out, columns, records)
    return out.getvalue().encode()


def status_line(
    row: ShownRow, said: Mapping[str, Any], link: Callable[[str], str | None] | None = None
) -> dict[str, Any]:
    """Return one line of the status sheet: the cells of a row, how it stands, the video's link.

    `said` is the row's document.
    """
    files = {file["kind"]: file for file in said["deliveries"]}
    video = files.get("mp4", {})
    return {
        **row.texts,
        "cs_row": said["row"],
        "cs_state": said["state"],
        "cs_reason": said["reason"],
        "cs_take": said["take"],
        **{f"cs_{name}": said[name] for name in NAMES},
        "cs_video_id": said["video_id"],
        "cs_video_take": said["video_take"],
        "cs_video": video.get("uri"),
        **({"cs_link": link(video["uri"]) if video else None} if link else {}),
        "cs_sha256": video.get("sha256"),
        "cs_bytes": video.get("bytes"),
        "cs_srt": files.get("srt", {}).get("uri"),
        "cs_vtt": files.get("vtt", {}).get("uri"),
        **({"cs_copies": "; ".join(map(_said_of, said["copies"]))} if "copies" in said else {}),
        **{f"cs_{name}": said[name] for name in ("review", "review_reason", "review_note")},
        **{f"cs_{name}": said[name] for name in said if name.startswith("client_")},
        "cs_checks": "; ".join(
            f"{name}: {words}" for name, words in said["checks"].items() if words != "ok"
        ),
        **{f"cs_{name}": said[name] for name in Provenance._fields},
    }


def _said_of(copy: Mapping[str, Any]) -> str:
    return f"{copy['uri']} (on hold: {copy['held']})" if copy["held"] else str(copy["uri"])


# A plan in words, for the person who is to decide on it, wherever that is. Pure.


#: Rows that a warning names at most.
NAMED = 5


def warnings_of(plan: Plan) -> list[str]:
    """Return what a person may not have meant, a sentence each."""
    found = [
        f"{words}: a run makes {'it' if len(one.costs) == 1 else 'them'} again"
        for one, words in zip(plan.elsewhere, say_elsewhere(plan), strict=True)
    ]
    if plan.late and plan.pace:
        late = [f"{one.row} (by {say_date(one.deliver_by or 0)})" for one in plan.late]
        named = ", ".join([*late[:NAMED], *[f"{len(late) - NAMED:,} more"] * (len(late) > NAMED)])
        found.append(
            f"{count(len(late), 'video')} will be late at the pace so far (a render takes "
            f"{say_duration(plan.pace.render)}, one is ready every "
            f"{say_duration(plan.pace.apart)}): {named}"
        )
    if plan.needs_word:
        gone = len(plan.retiring)
        found.append(
            f"{gone:,} of the campaign's {count(plan.live, 'row')} {'is' if gone == 1 else 'are'} "
            "not in the sheet any more: is the sheet complete? A run asks, and without a terminal "
            "takes --retire or a saved plan"
        )
    return found


def say_elsewhere(plan: Plan) -> list[str]:
    """Say what other campaigns have paid for or approved of a plan, a sentence for each of them."""
    return [
        f"campaign {one.campaign} {one.verb} {len(one.costs):,} of these rows "
        f"({in_credits(one.credits, plan.credit_price)})"
        for one in plan.elsewhere
    ]


def say_limits(plan: Plan) -> list[str]:
    """Say what is left of each limit that campaigns share, and what that means for the rows."""

    def say(account: Account) -> str:
        words = account.say_left(plan.credit_price)
        # Of a cost center, the total says nothing: rows may have others.
        if account.kind == "cost_center" or plan.total <= (account.left or 0):
            return words
        return f"{words}: rows that do not fit go on hold"

    return [say(one) for one in plan.accounts]


def cost_at_most(plan: Plan) -> str:
    """Return what a plan costs and, where that is more, what it may cost at most."""
    total = in_credits(plan.total)
    return total if plan.most == plan.total else f"{total}, at most {as_text(plan.most)},"


def sums_of(plan: Plan) -> list[str]:
    """Return what a plan comes to, a sentence each: videos, lengths, account and budget.

    Last comes what it changes besides making videos.
    """
    words = [_videos(plan), _expected(plan), _retries(plan), _lengths(plan), _account(plan)]
    words += [_budget(plan), *say_limits(plan)]
    # A warning says more of rows that leave against what a person may have meant.
    also = (one for one in plan.changes if one.what != "retire" or not plan.needs_word)
    return [*filter(None, words), *(f"also: {one.words}" for one in also)]


def why_of(line: PlanLine) -> str:
    """Explain what is not plain from the action itself, and what was paid for the row before."""
    words = line.words or ("" if line.action == "make" else ACTIONS[line.action])
    before = f"{in_credits(line.charged)} paid before" if line.spends and line.charged else ""
    return "; ".join(filter(None, (words, before)))


def _videos(plan: Plan) -> str:
    actions = Counter(line.action for line in plan.lines if not line.switched_off)
    if not plan.moves_anything:
        stuck = count(actions["person"], "row needs", "rows need")
        words = f"{stuck} attention first" if actions["person"] else "nothing to do"
        words += ", 0 credits"
    elif plan.adopting and not plan.spending:
        words = f"{count(actions['adopt'], 'video')} to take over, 0 credits"
    else:
        words = plan.price_in_words
        if plan.adopting:
            words += f"; {count(actions['adopt'], 'video')} to take over, 0 credits"
    if plan.unpriced:
        words += f" and {plan.unpriced:,} at an unknown price"
    if actions["fetch"]:
        carried = count(actions["fetch"], "row is", "rows are")
        words += f"; {carried} already paid for and continued, 0 credits"
    if on_hold := sum(line.on_hold for line in plan.lines):
        words += f"; {count(on_hold, 'row is', 'rows are')} on hold, 0 credits"
    if dated := sum(line.action == "wait" and not waits_for_videos(line) for line in plan.lines):
        words += f"; {count(dated, 'row waits for its date', 'rows wait for their dates')}"
    for number, waiting in groupby(waiting_lines(plan), key=lambda line: wave_of(line.why) or 0):
        words += f"; {_waiting(plan, number, list(waiting))}"
    if plan.spending and (more := later(plan)):
        words += f"; {in_credits(plan.total + more, plan.credit_price)} for all rounds"
    if actions["none"]:
        words += f"; {actions['none']:,} delivered before, 0 credits"
    return words


def _waiting(plan: Plan, wave: int, lines: Sequence[PlanLine]) -> str:
    """Say what rows wait for, and their price; `wave` is 0 for rows that wait for a canary."""
    if wave:
        first, checked = f"the videos of wave {wave}", "pass their checks"
    else:
        first = f"the first video of {'its' if len(lines) == 1 else 'their'} kind"
        checked = "passes its checks"
    until = f"{first} {checked}" if plan.is_released_by_checks else f"you keep {first}"
    total = sum((line.priced or Decimal(0) for line in lines), Decimal(0))
    words = f"{count(len(lines), 'row waits', 'rows wait')} until {until}, then "
    words += in_credits(total, plan.credit_price)
    if unpriced := sum(line.priced is None for line in lines):
        words += f" and {unpriced:,} at an unknown price"
    return words


def _expected(plan: Plan) -> str:
    """Say what the videos cost until all are kept, if as many are kept as before."""
    if plan.expected is None or plan.keep_rate is None or plan.expected <= plan.total:
        return ""
    made = sum(not line.edit_of for line in plan.spending)
    return (
        f"at your keep rate of {say_share(float(plan.keep_rate), 1)} so far, about "
        f"{in_credits(plan.expected, plan.credit_price)} until "
        f"{'it is' if made == 1 else f'all {made:,} are'} kept"
    )


def _retries(plan: Plan) -> str:
    """Say how many new takes of failed rows are approved with the plan, and their price at most."""
    if not plan.retry_failed or not plan.spending:
        return ""
    # These take no key, so a restored ledger could pay for an attempt twice.
    once = any(line.edit_of or line.operation != CREATE for line in plan.spending)
    if all(line.edit_of for line in plan.spending):
        return "an edit whose render fails is not tried again automatically"
    words = f"up to {count(plan.retry_failed, 'new attempt')} of each row whose render fails, "
    words += "earlier attempts included, within its max_credits and the budget"
    words += " (none of edits, or of clips without a key)" if once else ""
    if plan.budget is None:
        return f"{words}: at most {in_credits(plan.most - plan.total, plan.credit_price)} more"
    return words


def _lengths(plan: Plan) -> str:
    """Say whose length, and so whose price, the sheet leaves to the service."""
    left = [line for line in plan.spending if line.length is None and line.leaves_length]
    if not left:
        return ""
    words = count(len(left), "row leaves", "rows leave") + " the length to the service; "
    words += "its price is" if len(left) == 1 else "their prices are"
    told = sorted({line.priced_for for line in left if line.priced_for is not None})
    if not told:
        return f"{words} for a length it did not say"
    span = f"{told[0]:g}" if len(told) == 1 else f"{told[0]:g} to {told[-1]:g}"
    some = any(line.priced_for is None for line in left)
    return f"{words} for {span} s" + (" where it said so" if some else "")


def _account(plan: Plan) -> str:
    """Say what the service's account holds, and what it lacks for this plan."""
    if plan.balance is None or not plan.spending:
        return ""
    words = f"the service's account has {in_credits(plan.balance, plan.credit_price)}"
    short = plan.total - plan.balance
    return (
        f"{words}: {in_credits(short, plan.credit_price)} short for this plan"
        if short > 0
        else words
    )


def _budget(plan: Plan) -> str:
    if plan.budget is None:
        return ""
    price = plan.credit_price

    def said(amount: Decimal) -> str:
        return with_money(as_text(amount), amount, price)

    words = f"budget of the campaign, over every run: {in_credits(plan.budget, price)}"
    if plan.committed:
        words += f", {said(plan.committed)} {plan.committed_as} before"
    left = plan.budget - plan.committed - (plan.total if plan.spending else Decimal(0))
    after = " after this plan" if plan.spending else ""
    return f"{words}, " + (
        f"{said(left)} left{after}" if left >= 0 else f"{said(-left)} over it{after}"
    )


def say_charged(outcome: RunOutcome) -> str:
    """Say what a run was charged, as far as it is known."""
    charged = in_credits(outcome.charged_this_run, outcome.credit_price)
    if outcome.is_restored and outcome.charged_this_run:
        return (
            f"the videos of this run cost {charged}, less what was paid for them before the "
            "ledger was restored"
        )
    return f"this run was charged {charged}"


def say_outcome(outcome: RunOutcome) -> str:
    """Say how many rows are where, what this run was charged, and what the campaign has cost."""
    tally, price = outcome.tally, outcome.credit_price
    counts = ", ".join(f"{n:,} {state}" for state, n in tally.rows.items())
    words = f"{counts}; {say_charged(outcome)}, "
    words += f"the campaign has cost {in_credits(tally.charged, price)}"
    reserved = f" with {in_credits(tally.reserved, price)} reserved" if tally.reserved else ""
    return words + reserved
