"""Quotes: asks the service for prices, records them, and checks them against budgets."""

from __future__ import annotations

import asyncio
from collections.abc import (
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from decimal import Decimal
from typing import Any, Generic, TypeVar

from sqlalchemy import Connection

from callsheet.tasks.campaign.validity import paid_since
from callsheet.tasks.campaign.values import Plan
from callsheet.tasks.engine.context import Context
from callsheet.tasks.engine.free_calls import (
    TROUBLE,
    Price,
    Priceable,
    before_spending,
    brief_price,
    is_priced,
    price_for,
)
from callsheet.tasks.engine.stop import answers
from callsheet.tasks.ledger.accounts import (
    Account,
    AtLimit,
    Chargeable,
    Terms,
    find_account,
    with_uses,
)
from callsheet.tasks.ledger.campaigns import Campaign, paid_elsewhere
from callsheet.tasks.ledger.cancel_requests import end_cancel
from callsheet.tasks.ledger.dialect import dialect_of
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.present_rows import PresentRow
from callsheet.tasks.ledger.quotes import Quoted, changed_since, hold_unpaid, record_quotes
from callsheet.tasks.ledger.values import CampaignRow
from callsheet.tasks.runtime.errors import OverBudget, ServiceError, SpendRefused
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.runtime.process import UnixClock
from callsheet.tasks.runtime.suggest import again_with
from callsheet.tasks.service import VideoService
from callsheet.tasks.values.amounts import as_text, count, in_credits, with_money
from callsheet.tasks.values.briefs import CREATE

#: How long the account's balance is waited for, in seconds.
BALANCE_WAIT = 5.0


async def quote_rows(
    at: Context, rows: Sequence[CampaignRow], tell: Tell | None = None
) -> dict[str, Price]:
    """Quote rows that have no quote, or one that is too old, and record it; return all of them.

    A row for which the service is in trouble is held. `tell` is told how far it is.
    """
    known: dict[str, Price] = {row.row: Price(row.quoted) for row in rows if is_priced(row, at)}

    async def keep(found: Sequence[tuple[CampaignRow, Price]]) -> None:
        quotes = [Quoted(row, price.amount, price.refusal) for row, price in found]
        tolerance = at.settings.quote_tolerance
        await at.ledger.write(record_quotes, found=quotes, tolerance=tolerance, at=at.clock())

    async def hold(row: CampaignRow, words: str) -> None:
        await at.ledger.write(hold_unpaid, row=row, why=words, at=at.clock())

    unknown = [row for row in rows if row.row not in known]
    asked = await ask_prices(
        at.service,
        unknown,
        at_once=at.settings.polls_at_once,
        clock=at.clock,
        keep=keep,
        hold=hold,
        tell=tell,
    )
    return known | asked


async def ask_balance(service: VideoService) -> Decimal | None:
    """Return the credits that can be spent now; None where the service does not say."""
    try:
        async with asyncio.timeout(BALANCE_WAIT):
            return await service.credits()
    except (ServiceError, TimeoutError):
        # Good to know, and needed for nothing: a create that is not covered is refused (402).
        return None


def check_prices(plan: Plan, now: Mapping[str, PresentRow]) -> None:
    """Raise SpendRefused, naming each, when rows were approved as planned and cost more by now."""
    approved = (now.get(line.row) for line in plan.spending if line.state == "approved")
    if risen := [row for row in approved if row and row.state == "quoted"]:
        raise SpendRefused(
            "prices rose since you approved them; nothing was spent:\n  "
            + "\n  ".join(f"{row.row}: {row.reason}" for row in risen),
            remedy=f"check the new prices, then {again_with()} to approve them "
            "(quote_tolerance lets them rise a little)",
        )


def check_readable(rows: Iterable[PresentRow], terms: Terms, *, now: float) -> None:
    """Raise SpendRefused when a price cannot be read that a day, a run or a cost center limits."""
    for row in rows:
        limits = [a for a in terms.accounts(row, at=now) if a.budget is not None]
        if row.quoted is None and limits:
            raise SpendRefused(
                f"the price of {row.row} cannot be read, and {limits[0]} counts for it; "
                "nothing was spent",
                remedy="give a clip `max_credits`, which is then set aside for it, or leave the "
                f"row out with `--select '!{row.row}'`",
            )


def terms_in(settings: Settings, **more: Any) -> Terms:
    """Return the terms that settings give every run, with `more` that a run has by itself."""
    return Terms(
        month_budget=settings.month_budget,
        day_budget=settings.day_budget,
        cost_center_budgets=settings.cost_center_budgets,
        credit_price=settings.credit_price,
        **more,
    )


async def limits_of(
    ledger: Ledger | None,
    terms: Terms,
    rows: Iterable[Chargeable],
    *,
    needed: Decimal,
    now: float,
) -> tuple[Account, ...]:
    """Return the accounts with a limit in which rows would count, as they are now.

    One with less left than the credits that are `needed` says which campaigns have the rest.
    """
    found = {account for row in rows for account in terms.accounts(row, at=now)}
    limited = sorted((a for a in found if a.budget is not None), key=lambda a: (a.kind, a.name))
    if ledger is None:
        return tuple(limited)

    def read(connection: Connection) -> tuple[Account, ...]:
        found = (find_account(connection, account) for account in limited)
        return tuple(
            with_uses(connection, one) if (one.left or 0) < needed else one for one in found
        )

    return await ledger.read(read)


def check_budget(plan: Plan, at_limit: AtLimit | None = None, *, part: str | None = None) -> None:
    """Raise OverBudget when the plan does not fit the budget, or a price cannot be read.

    With `at_limit` it need not fit as a whole: rows that do not are held when their turn comes.
    `part` says what begins the part that fits, where anything does.
    """
    if plan.budget is None or not plan.spending:
        return
    if plan.unpriced:
        without = count(plan.unpriced, "row has", "rows have")
        raise OverBudget(
            f"a budget is set and {without} no readable price; nothing was spent",
            remedy="give a clip `max_credits`, which is then set aside for it; else run without a "
            f"budget, or leave them out with `--select '{_without(plan)}'`",
        )
    if at_limit is None and plan.committed + plan.total > plan.budget:
        needed, price = plan.committed + plan.total, plan.credit_price
        more, used, budget = needed - plan.budget, plan.committed, in_credits(plan.budget, price)
        taken = f"{with_money(as_text(used), used, price)} of the budget of {budget} for the "
        taken += f"campaign are {plan.committed_as}"
        raise OverBudget(
            f"the plan costs {in_credits(plan.total, price)}, "
            f"{taken if used else f'the budget of the campaign is {budget}'}: "
            f"{with_money(as_text(more), more, price)} too many; nothing was spent",
            remedy=again_with("--budget", f"{needed:f}")
            + ", or name fewer rows"
            + (f"; to begin what fits, {part}" if part else ""),
            needed=needed,
        )


def shortage(plan: Plan, at_limit: AtLimit | None = None) -> OverBudget | None:
    """Return what keeps a plan from fitting its budget: what `check_budget` raises, if anything."""
    try:
        check_budget(plan, at_limit)
    except OverBudget as refusal:
        return refusal
    return None


def is_within(plan: Plan, at_most: Decimal | None) -> bool:
    """Whether all of a plan may be paid for: at most so many credits, and no price is unknown."""
    return at_most is not None and not plan.unpriced and plan.most <= at_most


def _without(plan: Plan) -> str:
    """Return the selection that leaves out the rows without a price."""
    return ",".join(f"!{line.row}" for line in plan.spending if line.priced is None)


def raises_budget(campaign: Campaign, plan: Plan) -> bool:
    """Return whether a plan lets a campaign cost more than it may now."""
    now, new = campaign.budget, plan.budget
    return now is not None and new is not None and new > now


def check_elsewhere(connection: Connection, campaign: Campaign, plan: Plan) -> None:
    """Raise MovedOn when other campaigns have paid for or approved rows since a plan was shown.

    Rows that were approved before are this campaign's.

    No other approval is written until this transaction ends: of two that are given at once, the
    second one sees the first.
    """
    dialect_of(connection).hold_approvals(connection)
    asked = [line for line in plan.spending if line.state != "approved"]
    wanted = [pair for line in asked for pair in line.pairs]
    shown = {(one.campaign, row) for one in plan.elsewhere for row in one.costs}
    now = paid_elsewhere(connection, campaign.id, wanted, sandbox=bool(campaign.sandbox))
    if new := paid_since(shown, now):
        raise changed_since(new)


def check_wanted(connection: Connection, campaign: Campaign) -> None:
    """Raise SpendRefused when someone has cancelled the campaign since it was read."""
    if not end_cancel(connection, campaign):
        raise SpendRefused(f"campaign {campaign.name} was cancelled meanwhile; nothing was spent")


# Asking what many rows would cost: once for each brief, several at a time; nothing is spent.
#
# Owns how many estimates are under way and what trouble with one of them means for the others. What
# is kept of the prices, and how it is shown, is the caller's.


P = TypeVar("P", bound=Priceable)
#: Records rows with their prices, all at once.
Keep = Callable[[Sequence[tuple[P, Price]]], Awaitable[None]]
#: Is told of how many rows the price is known, and how many there are.
Tell = Callable[[int, int], None]

#: So many rows in trouble and none with a price: it is the service, and the rest is not asked.
TROUBLED = 8
#: Rows that are kept together at most: others are let into the ledger in between.
KEPT = 256
#: Less than this is not waited for, in seconds: timers are no more exact than that.
APART = 0.001


async def ask_prices(
    service: VideoService,
    wanted: Iterable[P],
    *,
    at_once: int,
    clock: UnixClock,
    keep: Keep[P] | None = None,
    hold: Callable[[P, str], Awaitable[None]] | None = None,
    tell: Tell | None = None,
    within: float | None = None,
) -> dict[str, Price]:
    """Return what each row would cost, by its id; `keep` is given the prices as they come.

    Rows of the same brief are asked for once. Trouble with single requests is told in place of a
    price, and `hold` is given it. After `within` seconds the prices are returned that came by then.
    Raises ConfigurationError or Parked when the service cannot be asked at all.
    """
    asking = _Asking(service, clock, keep, tell)
    try:
        async with asyncio.timeout(within):
            await asking.ask(wanted, at_once)
    except TimeoutError:
        return asking.prices
    troubled, prices = asking.troubled, asking.prices
    if troubled and not prices and not await answers(service):
        raise before_spending(troubled[0][1], clock()) from troubled[0][1]
    for one, error in troubled:
        words = f"no price: {str(error).rstrip('.')}: nothing was spent on it; run again"
        prices[one.row] = Price(None, words)
        if hold is not None:
            await hold(one, words)
    return prices


class _Asking(Generic[P]):
    """A fixed number of workers ask; one more keeps what they received, in groups."""

    def __init__(
        self, service: VideoService, clock: UnixClock, keep: Keep[P] | None, tell: Tell | None
    ) -> None:
        self.prices: dict[str, Price] = {}
        self.troubled: list[tuple[P, ServiceError]] = []
        self._service = service
        self._clock = clock
        self._keep = keep
        self._tell = tell
        self._total = 0
        self._fresh: list[tuple[P, Price]] = []
        self._there = asyncio.Event()
        self._over = False
        self._apart = _Apart()

    async def ask(self, wanted: Iterable[P], at_once: int) -> None:
        briefs: dict[str, list[P]] = {}
        for one in wanted:
            self._total += 1
            # The limit of a clip is its price, and no part of its brief.
            same = one.digest if one.operation == CREATE else f"{one.digest} {one.max_credits}"
            briefs.setdefault(same, []).append(one)
        keeping = asyncio.create_task(self._keep_all(), name="quotes kept")
        waiting = iter(briefs.values())
        workers = min(at_once, len(briefs))
        self._apart = _Apart(workers)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work(waiting, keeping))
        except ExceptionGroup as several:
            # The first is the cause; the others are the same trouble seen by other rows.
            raise several.exceptions[0] from several
        finally:
            # What was received is kept, however this ends.
            self._over = True
            self._there.set()
            await keeping

    async def _work(self, waiting: Iterator[list[P]], keeping: asyncio.Task[None]) -> None:
        for rows in waiting:
            await self._apart.wait()
            if keeping.done():
                return
            await self._ask(rows)
            if self._tell is not None:
                self._tell(len(self.prices) + len(self.troubled), self._total)

    async def _ask(self, rows: list[P]) -> None:
        loop = asyncio.get_running_loop()
        sent = loop.time()
        try:
            price = await brief_price(self._service, rows[0])
            if rows[0].operation == CREATE:
                self._apart.took(loop.time() - sent)
        except ServiceError as error:
            alone = isinstance(error, TROUBLE) and (self.prices or len(self.troubled) < TROUBLED)
            if not alone:
                raise before_spending(error, self._clock()) from error
            self.troubled += [(row, error) for row in rows]
            return
        for row in rows:
            own = self.prices[row.row] = price_for(row, price)
            if self._keep is not None:
                self._fresh.append((row, own))
                self._there.set()

    async def _keep_all(self) -> None:
        """Keep what is received; while one group is written, the next one gathers."""
        while not self._over or self._fresh:
            await self._there.wait()
            self._there.clear()
            while self._fresh and self._keep is not None:
                group, self._fresh = self._fresh[:KEPT], self._fresh[KEPT:]
                await self._keep(group)


class _Apart:
    """Has requests leave one after the other where answers take long; seconds of the loop's clock.

    Answers that come together are handled by turns, step by step, and are all done at the same
    time: what follows them would go out together as well, for ever, and with each round the service
    would have nothing to do while all are handled.
    """

    def __init__(self, at_once: int = 1) -> None:
        self._at_once = max(1, at_once)
        self._next = 0.0
        self._takes = 0.0

    async def wait(self) -> None:
        """Wait until the next request may leave: at most for half of its share of an answer."""
        now = asyncio.get_running_loop().time()
        due, self._next = self._next, max(now, self._next) + self._takes / self._at_once / 2
        if due - now > APART:
            await asyncio.sleep(due - now)

    def took(self, seconds: float) -> None:
        """Learn what an answer takes from the quickest: the others may have waited for us."""
        self._takes = min(self._takes or seconds, seconds)
