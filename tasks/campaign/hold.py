"""Hold a campaign for a run: from here to its end nobody else carries it.

What is set aside from then on is in the name of the run that holds it. What a lease is, and how it
is lost, is in `lease`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from uuid import uuid4

from callsheet.tasks.campaign.lease import leased
from callsheet.tasks.campaign.match import check_same_money
from callsheet.tasks.campaign.recovery import recover, say_found, say_unknown
from callsheet.tasks.campaign.run import Run
from callsheet.tasks.engine.owner import its_crews
from callsheet.tasks.ledger import Campaign, Terms, tally_of


async def carry_only(
    run: Run, campaign: Campaign, names: Iterable[str], *, wait: float | None = 0.0
) -> None:
    """Make a run of some rows as the ledger has them, held for this process until it ends.

    Raises Parked when another process is at work on the campaign for longer than `wait` seconds
    (None: no matter how long), SpendRefused where what it has is of the other kind of service.
    """
    check_same_money(campaign, run.options)
    run.campaign = campaign
    run.only = frozenset(names)
    await hold_campaign(run, campaign, wait=wait)
    await find_earlier(run, campaign)


async def find_earlier(run: Run, campaign: Campaign) -> bool:
    """Restore what another ledger paid for, and say so; return whether rows moved.

    Before this run pays: rows that may have been paid for are put on hold until a person says
    `--pay-again`.
    """
    before = await run.at.ledger.read(partial(tally_of, campaign=campaign))
    recovery = await recover(run.at, campaign, only=run.only, pay_again=run.options.pay_again)
    if recovery.restored:
        now = await run.at.ledger.read(partial(tally_of, campaign=campaign))
        run.say(say_found(recovery, now.charged - before.charged))
    if recovery.unknown is not None:
        run.say(say_unknown(recovery))
    return bool(recovery.restored or recovery.refused)


async def hold_campaign(run: Run, campaign: Campaign, *, wait: float | None) -> None:
    """Have the campaign to this run alone from here to its end, and set credits aside in its name.

    Raises Parked when another run has it for longer than `wait` seconds (None: no matter how long).
    """
    at, options = run.at, run.options
    if run.find_starter is not None:
        run.production_id = uuid4().hex
    holding = leased(
        at.ledger,
        campaign,
        clock=at.clock,
        lapse=at.settings.lease,
        wait=wait,
        on_wait=run.say_wait,
        on_lost=run.lose,
        owner=its_crews(run.production_id) if run.production_id else None,
    )
    lease = await run.holding.enter_async_context(holding)
    if lease is None:
        return
    await count_from_here(run, campaign)
    terms = Terms(
        owner=lease.owner,
        day_budget=at.settings.day_budget,
        cost_center_budgets=at.settings.cost_center_budgets,
        run=None if options.run_budget is None else options.run_id or uuid4().hex,
        run_budget=options.run_budget,
        at_limit=options.at_limit or "stop",
    )
    run.at = replace(at, terms=terms, in_charge=lease.holds)


async def count_from_here(run: Run, campaign: Campaign) -> None:
    """Note what runs with this ledger were charged so far: everything beyond that is this run's."""
    tally = await run.at.ledger.read(partial(tally_of, campaign=campaign))
    run.charged_before, run.reserved_before = tally.paid_here, tally.reserved
