"""Plans: what would happen to every row now, with prices.

Nothing here writes to the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any, cast, overload

from sqlalchemy import Connection

from callsheet.tasks.campaign.approve import with_committed
from callsheet.tasks.campaign.changes import changes_of
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.paid_before import with_like_videos
from callsheet.tasks.campaign.selection import check_selection
from callsheet.tasks.campaign.values import Canary, Plan, PlanLine
from callsheet.tasks.campaign.waits import hold_back
from callsheet.tasks.engine.free_calls import Price
from callsheet.tasks.ledger.campaigns import Campaign, find_campaign, paid_elsewhere
from callsheet.tasks.ledger.costs import usual_charges
from callsheet.tasks.ledger.deliveries import verdicts_of
from callsheet.tasks.ledger.diff import RowDiff, diff_row, diff_sheet
from callsheet.tasks.ledger.earlier_takes import EarlierTake, refused_rows, say_held
from callsheet.tasks.ledger.ledger import Ledger
from callsheet.tasks.ledger.quotes import too_dear
from callsheet.tasks.ledger.renames import reused_ids
from callsheet.tasks.ledger.reviews import keep_rate
from callsheet.tasks.ledger.row_filter import RowFilter
from callsheet.tasks.ledger.schema import NEVER
from callsheet.tasks.ledger.values import CampaignRow, Pace, pace_of
from callsheet.tasks.runtime.errors import Problem, SheetError, SpendRefused
from callsheet.tasks.runtime.process import no_search
from callsheet.tasks.sheet import Sheet
from callsheet.tasks.values.amounts import from_micro
from callsheet.tasks.values.briefs import CREATE, VARIANT_OF, Brief, Json, brand_of
from callsheet.tasks.values.edits import OPERATIONS, Edits, made_by

#: The fields that define a kind of row, with its operation.
_KIND = ("tool", "mode", "language", "aspect_ratio", "voice_id", "video_model")
#: Retired without a word: a part of the campaign's rows, or so few.
PART, FEW = Decimal("0.1"), 2


async def plan_sheet(ledger: Ledger | None, sheet: Sheet, options: RunOptions) -> Plan:
    """Return the plan without prices for rows that were never quoted; write nothing."""
    if ledger is None:
        with no_search():
            plan = _plan(sheet, options, None, partial(map, _unknown, sheet.briefs))
        return replace(plan, changes=changes_of(None, None, sheet, plan))
    return await ledger.read(plan_of_sheet, options=options, sheet=sheet)


def plan_of_sheet(
    connection: Connection, options: RunOptions, *, sheet: Sheet, make: bool = True
) -> Plan:
    """Return the plan of a sheet with those prices that the ledger has; write nothing."""
    campaign = find_campaign(connection, sheet.campaign)
    number = campaign.id if campaign else None
    edits = edits_of(sheet, options)
    diff = partial(diff_sheet, connection, number, sheet.briefs, skipped=sheet.skipped, edits=edits)
    with no_search():
        plan = _plan(sheet, options, campaign, diff)
    plan = replace(plan, changes=changes_of(connection, campaign, sheet, plan))
    if number is not None:
        _check_ids(connection, number, sheet)
    if campaign is not None:
        plan = with_committed(connection, campaign, plan)
        kept = keep_rate(connection, campaign.id)
        plan = replace(plan, keep_rate=kept, cancelled_at=campaign.cancel_requested_at)
    if number is not None and not options.pay_again:
        refused = refused_rows(connection, number)
        plan = _without_refused(plan, refused) if refused else plan
    if number is not None and (plan.canary != "no" or plan.waves):
        said = verdicts_of(connection, number)
        lines = (line._replace(verdict=said.get(line.row)) for line in plan.lines)
        plan = hold_back(replace(plan, lines=tuple(lines)), choose=False)
    if not plan.spending:
        return plan
    plan = with_usual_charges(connection, plan)
    if number is not None:
        plan = with_like_videos(connection, number, plan, sheet)
    if sheet.read_at is not None and any(line.deliver_by for line in plan.spending):
        plan = with_late(plan, pace_of(connection, number or 0), now=sheet.read_at)
    wanted = wanted_of(sheet.briefs, {line.row for line in plan.spending})
    found = paid_elsewhere(connection, number, wanted, sandbox=options.sandbox)
    return replace(plan, elsewhere=tuple(found))


def with_usual_charges(connection: Connection, plan: Plan) -> Plan:
    """Return the plan with what edits and clips like its own were charged before."""

    def operation(line: PlanLine) -> str:
        return OPERATIONS[line.edit_of] if line.edit_of else line.operation

    wanted = {operation(line) for line in plan.spending} - {CREATE}
    usual = usual_charges(connection, wanted, sandbox=plan.sandbox)
    if not usual:
        return plan
    lines = (line._replace(usual=usual.get(operation(line))) for line in plan.lines)
    return replace(plan, lines=tuple(lines))


def wanted_of(briefs: Iterable[Brief], rows: Collection[str]) -> list[tuple[str, str]]:
    """Return the ids under which other campaigns may have these rows, each with its digest."""
    briefs = [brief for brief in briefs if brief.row in rows]
    return [(row, one.digest) for one in briefs for row in (one.row, one.earlier_id) if row]


def _check_ids(connection: Connection, campaign_id: int, sheet: Sheet) -> None:
    """Raise SheetError for ids that a renamed row had first."""
    problems = []
    for brief, column, now in reused_ids(connection, campaign_id, sheet.briefs, sheet.skipped):
        cell = sheet.cells.get(brief.row, {}).get(column)
        problem = Problem(
            file=sheet.name,
            line=cell.line if cell else brief.line,
            cell=cell.where if cell else column,
            row=brief.row,
            column=column,
            value=brief.was if column == "was" else brief.row,
            message=f'is the id that "{now}" had before, and its payments are under it: choose '
            "another id; nothing was spent",
        )
        problems.append(problem)
    if problems:
        raise SheetError(problems)


def with_late(plan: Plan, pace: Pace | None, *, now: float) -> Plan:
    """Return the plan with the rows that will be late if videos are made at this pace.

    The earliest dates are made first; rows whose date has passed by `now` are not named.
    """
    if pace is None:
        return plan
    rows = [line for line in plan.lines if line.spends or line.action == "fetch"]
    rows.sort(key=lambda line: line.deliver_by or NEVER)
    dated = ((n, line, line.deliver_by) for n, line in enumerate(rows))
    late = [line for n, line, by in dated if by and now < by < now + pace.render + n * pace.apart]
    return replace(plan, late=tuple(late), pace=pace)


def _without_refused(plan: Plan, refused: Mapping[str, EarlierTake]) -> Plan:
    """Return the plan with rows on hold that another ledger may have paid for."""

    def find(line: PlanLine) -> EarlierTake | None:
        one = refused.get(line.row) if line.spends else None
        # Another brief, of a sheet that was edited since, is another video.
        return one if one is not None and one.digest == line.digest else None

    found = {line.row: one for line in plan.lines if (one := find(line)) is not None}
    if not found:
        return plan
    lines = tuple(
        line._replace(action="person", why=say_held(found[line.row]), state="held")
        if line.row in found
        else line
        for line in plan.lines
    )
    return replace(plan, lines=lines, refused=tuple(found.values()))


def edits_of(sheet: Sheet, options: RunOptions) -> Edits:
    """Return whether changed rows are edited: as this run says, else as the sheet does."""
    return cast(Edits, options.edits or sheet.edits or "cheapest")


def _unknown(brief: Brief) -> RowDiff:
    """Return what becomes of a row while there is no ledger."""
    return RowDiff(None, brief, diff_row(None, brief))


def priced(plan: Plan, prices: Mapping[str, Price]) -> Plan:
    """Return the plan with prices by row id (`at_price`)."""

    def put_in(line: PlanLine) -> PlanLine:
        return at_price(line, prices[line.row]) if line.row in prices else line

    if not prices:
        return plan
    return replace(plan, lines=tuple(map(put_in, plan.lines)))


def as_planned(briefs: Iterable[Brief], lines: Iterable[PlanLine]) -> list[Brief]:
    """Return the briefs of these lines of a plan, to ask for their prices: edits as such."""
    planned = {line.row: line.edit_of for line in lines}
    return [
        replace(brief, operation=OPERATIONS[edit]) if (edit := planned[brief.row]) else brief
        for brief in briefs
        if brief.row in planned
    ]


def at_price(line: PlanLine, price: Price) -> PlanLine:
    """Return a line at a price: no run pays for a row that is refused or above `max_credits`."""
    line = line._replace(priced=price.amount, priced_for=price.seconds)
    if price.refusal:
        return line._replace(action="person", why=price.refusal)
    if above := too_dear(line, price.amount):
        return line._replace(action="person", why=above, state="held")
    return line


def check_retirement(plan: Plan, way_on: str) -> None:
    """Raise SpendRefused when so many rows have left that a person has to say so."""
    if not plan.needs_word:
        return
    left, more = plan.retiring[:5], len(plan.retiring) - 5
    named = ", ".join(left) + (f" and {more} more" if more > 0 else "")
    raise SpendRefused(
        f"{len(plan.retiring)} of the {plan.live} rows of campaign {plan.campaign} are not in its "
        f"sheet any more ({named}), and you did not confirm retiring them; nothing was "
        "changed, nothing was spent",
        remedy=f"if the sheet is complete:\n  {way_on}",
    )


def asked_of(named: Brief | CampaignRow) -> dict[str, Any]:
    """Return what a row says of the video it asks for, as a plan shows it."""
    asked = named.asked()
    length = asked.get("duration_seconds")
    return {
        "operation": made_by(named.operation),
        "tool": _text(asked.get("tool")),
        "length": length if isinstance(length, int) else None,
        "ratio": _text(asked.get("aspect_ratio")),
        "language": _text(asked.get("language")),
    }


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) and value else None


def _plan(
    sheet: Sheet,
    options: RunOptions,
    campaign: Campaign | None,
    diff: Callable[[], Iterable[RowDiff]],
) -> Plan:
    found = _Found(sheet, options)
    for position, one in enumerate(diff(), start=1):
        found.take(one, position)
    if found.unknown or not found.lines:
        check_selection(found.which, (named for one in diff() if (named := one.brief or one.row)))
    known = campaign.budget if campaign else None
    wished = options.budget if options.budget is not None else sheet.budget
    keeps = wished is None or (options.keep_budget and known is not None)
    return Plan(
        campaign=sheet.campaign,
        sheet=sheet.address,
        sheet_digest=sheet.digest,
        lines=tuple(found.lines),
        budget=known if keeps else wished,
        retiring=tuple(found.retiring),
        renamed=tuple(found.renamed),
        live=found.live,
        needs_word=found.lacks_many and not options.retire,
        sandbox=options.sandbox,
        adopt=options.adopt,
        canary=found.canary,
        waves=sheet.waves if options.waves is None else options.waves,
        retry_failed=(sheet if options.retry_failed is None else options).retry_failed or 0,
        unsynced=tuple(found.unsynced),
    )


class _Found:
    """What becomes of each row of a sheet, and of those that have left it, one after the other."""

    def __init__(self, sheet: Sheet, options: RunOptions) -> None:
        self.which = RowFilter.parse(options.select)
        #: Rows that are named and have not been met.
        self.unknown = set(self.which.named)
        self.canary = cast(Canary, options.canary or sheet.canary or "no")
        self.lines: list[PlanLine] = []
        self.retiring: list[str] = []
        #: The id of a row now, and in the ledger.
        self.renamed: list[tuple[str, str]] = []
        #: The places in the sheet of what the ledger has to be told.
        self.unsynced: list[int] = []
        #: Rows of the ledger that have not left the sheet before.
        self.live = 0
        self._is_paid = False
        self._options = options
        self._taken = 0
        self._branded = bool(brand_of((header, "x") for header in sheet.columns))
        self._varied = VARIANT_OF in sheet.columns
        #: What many rows have alike, so that lines are small.
        self._shared: dict[Any, Any] = {}

    @property
    def lacks_many(self) -> bool:
        """Whether so many rows have left a sheet that was paid for that a person has to say so."""
        left = len(self.retiring)
        return self._is_paid and left > FEW and left > PART * self.live

    def take(self, one: RowDiff, position: int) -> None:
        """Take the row at a position, which begins with 1."""
        named = one.brief or one.row
        assert named is not None, "a row is in the sheet, in the ledger, or in both"
        first = self._options.first
        if (first is None or self._taken < first) and self.which.matches(named, one.diff.state):
            line = self._line(one, named)
            self.lines.append(line)
            self._taken += not line.switched_off
        self.unknown.discard(named.row.lower())
        # Of all rows: the selection chooses what is made, the sheet says what is there.
        if one.brief is not None and not one.is_synced(position):
            self.unsynced.append(position)
        if one.outline is not None:
            self.live += one.outline.state != "retired"
            if one.outline.row != named.row:
                self.renamed.append((named.row, one.outline.row))
            self._is_paid = self._is_paid or one.outline.take_id is not None
            # Taking over videos is no word on rows that are missing.
            if one.diff.action == "retire" and not self._options.adopt:
                self.retiring.append(named.row)

    def _line(self, one: RowDiff, named: Brief | CampaignRow) -> PlanLine:
        outline, diff, shared = one.outline, one.diff, self._shared
        known = outline is not None and outline.digest == named.digest
        asked = asked_of(named)
        if self._branded and one.brief is not None:
            asked["brand"] = brand_of(one.brief.cells)
        if self._varied and one.brief is not None:
            asked["variant_of"] = one.brief.variant_of
        for name, value in asked.items():
            if isinstance(value, str):
                asked[name] = shared.setdefault(value, value)
        was = outline.row if outline is not None and outline.row != named.row else None
        why = [f"was {was}"] if was else []
        return PlanLine(
            row=named.row,
            was=was,
            title=named.title,
            charged=_credits((outline and outline.charged) or 0, shared),
            **asked,
            action=diff.action,
            digest=named.digest,
            why="; ".join([*why, *([diff.why] if diff.why else [])]) or None,
            state=diff.state,
            priced=_credits(outline.quoted, shared) if outline and known else None,
            max_credits=named.max_credits,
            line=named.line,
            edit_of=diff.edit,
            base=one.base,
            tags=named.tags,
            deliver_by=named.deliver_by,
            kind=() if self.canary == "no" else _kind(named, shared),
        )


def _kind(named: Brief | CampaignRow, shared: dict[Any, Any]) -> tuple[object, ...]:
    """Return the kind of a row: its operation and the values of the fields that define it."""
    asked = named.asked()
    said = (str(asked.get(name) or "") for name in _KIND)
    kind = (named.operation, *said)
    found: tuple[object, ...] = shared.setdefault(kind, kind)
    return found


@overload
def _credits(micro: int, shared: dict[Any, Any]) -> Decimal: ...
@overload
def _credits(micro: int | None, shared: dict[Any, Any]) -> Decimal | None: ...
def _credits(micro: int | None, shared: dict[Any, Any]) -> Decimal | None:
    if micro not in shared:
        shared[micro] = from_micro(micro)
    found: Decimal | None = shared[micro]
    return found
