"""Whether a plan is still valid: what was shown, compared with what is true now. Pure.

Every door asks here before it goes by a plan that someone approved: a saved file, the board, a run
of the board, a later round, videos that are taken over. A row may have changed where it costs
nothing; whatever is paid for, taken over or retired has to be as it was shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal

from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.ledger.campaigns import PaidElsewhere
from callsheet.tasks.runtime.errors import MovedOn, SpendRefused, shorten
from callsheet.tasks.values.amounts import as_text, in_credits

#: The remedy for a saved plan that is not valid any more.
LOOK = "make a new plan (`callsheet plan SHEET -o FILE`) and approve that"
#: What a line shows of the video that its row asks for, and of its price.
_SHOWN = ("title", "operation", "tool", "length", "ratio", "language", "priced")


def check_valid(
    shown: Plan, now: Plan, *, tolerance: Decimal = Decimal(0), look: str = LOOK
) -> None:
    """Raise MovedOn, naming every row that moved, unless all that `now` spends was shown.

    A price may have changed by `tolerance`, a part of it (0.1 is a tenth). Raise SpendRefused for a
    plan of other money. `look` is the remedy.
    """
    check_money(shown.sandbox, now.sandbox, look=look)
    if moved := moved_since(shown, now, tolerance=tolerance, costlier=True):
        raise _moved_on(moved, look=look)


def check_not_taken_back(shown: Plan, now: Plan) -> None:
    """Raise MovedOn where rows that were paid for ask for something else now, at no charge.

    A run that has nothing to approve compares no prices: those of approved rows were approved.
    """
    if moved := _taken_back(shown, now):
        raise _moved_on(moved, look=LOOK)


def check_money(planned: bool, now: bool, *, look: str) -> None:
    """Raise SpendRefused for a plan of a sandbox where videos would cost, and the reverse."""
    if planned == now:
        return
    then, here = ("a sandbox" if one else "a real service" for one in (planned, now))
    raise SpendRefused(
        f"the plan was made with {then}, and its videos would be made by {here}; nothing was spent",
        remedy=look,
    )


def _moved_on(moved: Sequence[str], *, look: str) -> MovedOn:
    words = "the sheet or the prices changed since the plan was approved; nothing was spent:"
    return MovedOn("\n  ".join([words, *moved]), remedy=look)


def moved_since(
    shown: Plan, now: Plan, *, tolerance: Decimal = Decimal(0), costlier: bool = False
) -> list[str]:
    """Say what is no longer as a plan showed it: campaign, rows, briefs, prices, who leaves.

    A price may have changed by `tolerance`, a part of it. With `costlier` what is not paid for or
    not retired any more is no matter, unless the row asks for something else.
    """
    same = shown.campaign == now.campaign
    moved = [] if same else [f"the plan is for campaign {shown.campaign}, not {now.campaign}"]
    before = {line.row: line for line in shown.lines}
    after = {line.row: line for line in (*now.spending, *now.adopting)}
    for row, line in after.items():
        moved += _moved(line, before.get(row), tolerance)
    seen = {(one.campaign, row) for one in shown.elsewhere for row in one.costs}
    moved += paid_since(seen, now.elsewhere)
    if now.retry_failed > shown.retry_failed:
        then = shown.retry_failed
        moved.append(f"{now.retry_failed} new attempts of a failed row now, {then} then")
    if now.tolerance > shown.tolerance:
        rise, known = (f"{float(100 * plan.tolerance):g}%" for plan in (now, shown))
        moved.append(f"after approval, prices may rise by {rise} now, by {known} then")
    left, gone_then = set(now.retiring), set(shown.retiring)
    gone = left - gone_then if now.needs_word or not costlier else set()
    if costlier:
        moved += _taken_back(shown, now)
    else:
        why = {line.row: line.why for line in now.lines}
        dropped = (line.row for line in shown.spending if line.row not in after)
        moved += [_unpaid(row, why.get(row)) for row in dropped]
        moved += [f"{row}: the sheet has it again" for row in sorted(gone_then - left)]
    moved += _unshown(shown, now)
    if not costlier:
        moved += _not_changed(shown, now)
    # An approval ends a request to cancel: a later round meets none.
    ended = costlier and now.cancelled_at is None
    if shown.cancelled_at != now.cancelled_at and not ended:
        moved.append(f"campaign {shown.campaign} was cancelled meanwhile")
    return moved + [f"{row}: the sheet no longer has it" for row in sorted(gone)]


def paid_since(shown: Collection[tuple[str, str]], now: Iterable[PaidElsewhere]) -> list[str]:
    """Say which rows other campaigns have by now, besides those (campaign, row) that were shown."""
    return [
        f"{row}: campaign {one.campaign} {'approved' if row in one.approved else 'paid for'} it"
        for one in now
        for row in one.costs
        if (one.campaign, row) not in shown
    ]


def _unpaid(row: str, why: str | None) -> str:
    return f"{row}: it costs nothing now" + (f": {why}" if why else "")


def _taken_back(shown: Plan, now: Plan) -> list[str]:
    """Say which rows that a plan pays for were edited since, and cost nothing now."""
    paid = {line.row: line for line in shown.spending}
    return [
        f"{line.row}: the row was edited since{_edited(then, line)}"
        for line in now.lines
        if (then := paid.get(line.row)) and then.digest != line.digest
        if not line.spends and line.action not in ("adopt", "retire")
    ]


def _unshown(shown: Plan, now: Plan) -> list[str]:
    """Say what would be changed besides making videos that a plan did not show.

    Retired rows are compared by themselves. A budget is what the approval says; where that is the
    one that was shown, so is the one whose place it takes.
    """
    known = {one.words for one in shown.changes}
    others = ("retire",) if now.budget == shown.budget else ("retire", "budget")
    said = (one for one in now.changes if one.what not in others)
    return [f"not in the plan: {one.words}" for one in said if one.words not in known]


def _not_changed(shown: Plan, now: Plan) -> list[str]:
    """Say which names and places of files a plan showed that they would not get any more.

    A run that goes on with a saved plan has given them to its rows already.
    """
    said = {one.words for one in now.changes}
    of_files = (one for one in shown.changes if one.what in ("names", "copies"))
    return [f"no longer so: {one.words}" for one in of_files if one.words not in said]


def _moved(line: PlanLine, then: PlanLine | None, tolerance: Decimal) -> list[str]:
    """Say what is another than in the line that was shown of a row that would be paid for now."""
    if then is None:
        return [f"{line.row}: not in the plan, {in_credits(line.priced)} now"]
    if line.action == "adopt":
        same = line.found and then.found and line.found.video_id == then.found.video_id
        return [] if same else [f"{line.row}: the plan was not to take over this video"]
    if not then.spends:
        why = then.words or then.action
        return [f"{line.row}: the plan was not to make it ({why}), {in_credits(line.priced)} now"]
    if then.digest != line.digest:
        return [f"{line.row}: the row was edited since{_edited(then, line)}"]
    if then.edit_of != line.edit_of:
        return [f"{line.row}: {_how(then.edit_of)} then, {_how(line.edit_of)} now"]
    if line.edit_of and then.base != line.base:
        return [f"{line.row}: an edit of take {then.base} then, of take {line.base} now"]
    if then.priced != line.priced and not _is_close(then.priced, line.priced, tolerance):
        return [f"{line.row}: {in_credits(then.priced)} then, {as_text(line.priced)} now"]
    return []


def _how(edit: str | None) -> str:
    return f"an edit of its {edit}" if edit else "a new video"


def _edited(then: PlanLine, now: PlanLine) -> str:
    """Say what an edited row asked for and asks for now, as far as a plan shows that."""
    fields = [field for field in _SHOWN if getattr(then, field) != getattr(now, field)]
    if not fields:
        return " (not its title, length or price)"
    before, after = (", ".join(_asked(field, line) for field in fields) for line in (then, now))
    return f": {before} then; {after} now"


def _asked(field: str, line: PlanLine) -> str:
    value = getattr(line, field)
    if field == "priced":
        return in_credits(value)
    if value is None:
        return f"no {field}"
    if field == "title":
        return f'"{shorten(value, 40)}"'
    return f"{value} s" if field == "length" else str(value)


def _is_close(before: Decimal | None, now: Decimal | None, tolerance: Decimal) -> bool:
    if before is None or now is None:
        return False
    return abs(now - before) <= before * tolerance
