"""A plan in words, for whoever is to decide on it, wherever that is. Pure."""

from __future__ import annotations

from decimal import Decimal

from callsheet.tasks.campaign.values import Plan, PlanLine
from callsheet.tasks.credits import as_text, in_credits
from callsheet.tasks.ledger import ACTIONS
from callsheet.tasks.plural import count


def warnings_of(plan: Plan) -> list[str]:
    """Return what a person may not have meant, a sentence each."""
    found = [
        f"{count(len(one.costs), 'of these rows is', 'of these rows are')} campaign "
        f"{one.campaign}'s, already paid for there ({in_credits(one.credits)}): a run makes "
        f"{'it' if len(one.costs) == 1 else 'them'} again"
        for one in plan.elsewhere
    ]
    if plan.needs_word:
        gone = len(plan.retiring)
        found.append(
            f"{gone:,} of the campaign's {count(plan.live, 'row')} {'is' if gone == 1 else 'are'} "
            "not in the sheet any more: is the sheet complete? A run asks, and without a terminal "
            "takes --retire or a saved plan"
        )
    return found


def sums_of(plan: Plan) -> list[str]:
    """Return what a plan comes to, a sentence each: videos, lengths, account and budget."""
    words = [_videos(plan), _lengths(plan), _account(plan), _budget(plan)]
    return [one for one in words if one]


def why_of(line: PlanLine) -> str:
    """Explain what is not plain from the action itself, and what was paid for the row before."""
    words = line.why or ("" if line.action == "make" else ACTIONS[line.action])
    before = f"{in_credits(line.charged)} paid before" if line.spends and line.charged else ""
    return "; ".join(filter(None, (words, before)))


def _videos(plan: Plan) -> str:
    actions = dict.fromkeys(ACTIONS, 0)
    for line in plan.lines:
        actions[line.action] += 1
    if not plan.moves_anything:
        words = "nothing to do, 0 credits"
    else:
        words = f"{count(len(plan.spending), 'video')} for {in_credits(plan.total)}"
    if plan.unpriced:
        words += f" and {plan.unpriced:,} at an unknown price"
    if actions["continue"]:
        carried = count(actions["continue"], "row is", "rows are")
        words += f"; {carried} already paid for and continued, 0 credits"
    if on_hold := sum(line.on_hold for line in plan.lines):
        words += f"; {count(on_hold, 'row is', 'rows are')} on hold, 0 credits"
    if actions["nothing"]:
        words += f"; {actions['nothing']:,} delivered before, 0 credits"
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
    words = f"the service's account has {in_credits(plan.balance)}"
    short = plan.total - plan.balance
    return f"{words}: {in_credits(short)} short for this plan" if short > 0 else words


def _budget(plan: Plan) -> str:
    if plan.budget is None:
        return ""
    words = f"budget of the campaign, over every run: {in_credits(plan.budget)}"
    if plan.committed:
        words += f", {as_text(plan.committed)} reserved or charged before"
    left = plan.budget - plan.committed - (plan.total if plan.spending else Decimal(0))
    after = " after this plan" if plan.spending else ""
    return f"{words}, " + (
        f"{as_text(left)} left{after}" if left >= 0 else f"{as_text(-left)} over it{after}"
    )
