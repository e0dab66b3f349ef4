"""What a run is asked for: one model for commands, flows, the board, nightly runs and stored plans.

Anyone who adds an option adds a field here; a door passes on what it was given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationInfo

from callsheet.tasks.ledger.accounts import AtLimit
from callsheet.tasks.runtime.errors import BadInput
from callsheet.tasks.values.amounts import (
    parse_credits,
    parse_duration,
    parse_retries,
    parse_waves,
)
from callsheet.tasks.values.briefs import HiddenRows
from callsheet.tasks.values.edits import Edits

if TYPE_CHECKING:
    from callsheet.tasks.runtime.known_settings import Settings

    # Anyone who reads rows need not pay for reading sheets.
    from callsheet.tasks.sheet import SheetOptions


def _amount(value: object, info: ValidationInfo) -> Decimal | None:
    amount = parse_credits(value)
    if amount is None and value is not None:
        named = (info.field_name or "").replace("_", " ")
        raise BadInput(
            f'the {named} "{value}" is not an amount of credits; write it like 1200 or 12.5; '
            "nothing was spent"
        )
    return amount


def _count(value: object, info: ValidationInfo) -> object:
    try:
        number = int(str(value)) if value is not None else None
    except ValueError:
        number = 0
    if number is not None and number < 1:
        raise BadInput(
            f'"{value}" for {info.field_name} is not a number of rows; nothing was spent',
            remedy="write it like 3",
        )
    return number


def _read(parse: Callable[[object], object], value: object, info: ValidationInfo) -> object:
    try:
        return None if value is None else parse(value)
    except ValueError as fault:
        said = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
        named = (info.field_name or "").replace("_", " ")
        raise BadInput(f'"{said}" for {named} {fault}; nothing was spent') from None


def _several(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _seconds(value: object) -> object:
    return parse_duration(value) if isinstance(value, str) else value


Credits = Annotated[Decimal | None, BeforeValidator(_amount)]


class RunOptions(BaseModel):
    """What a run is asked for: a sheet, or rows of a campaign, and the limits put on it.

    Amounts are in credits. Text is read as it is typed: `12.5` credits, `2h`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sheet: str = ""
    campaign: str | None = None
    budget: Credits = None
    #: A budget that the campaign has counts, whatever is said here or in the sheet.
    keep_budget: bool = False
    select: str | None = None
    #: Only so many rows from the top of the sheet, of those that are chosen.
    first: Annotated[int | None, BeforeValidator(_count)] = None
    #: One row of each kind is made first; then a person (yes) or the checks (auto) let the others.
    #: None: as the sheet says.
    canary: Literal["no", "yes", "auto"] | None = None
    #: Whether a changed row is edited where that is enough, or always made again.
    #: None: as the sheet says.
    edits: Edits | None = None
    #: Parts of the rows, as `10%`: one is made first, then a larger one, then all.
    #: None: as the sheet says; empty: all at once.
    waves: Annotated[tuple[str, ...] | None, BeforeValidator(partial(_read, parse_waves))] = None
    #: New takes of each row whose render fails, within the budget and its max_credits.
    #: None: as the sheet says.
    retry_failed: Annotated[int | None, BeforeValidator(partial(_read, parse_retries))] = None
    #: Take over videos that exist at the service, and make none.
    adopt: bool = False
    #: Look for what changed outside since delivery; and fix of it what is free to fix.
    refresh: bool = False
    repair: bool = False
    #: In seconds.
    max_wait: Annotated[float | None, BeforeValidator(_seconds)] = None
    #: Which column a header of the sheet means, each as `Headline=title`.
    map: Annotated[tuple[str, ...] | None, BeforeValidator(_several)] = None
    delimiter: str | None = None
    worksheet: str | None = None
    #: What becomes of rows that a workbook hides; None: asked when one would be paid for.
    hidden_rows: HiddenRows | None = None
    #: A person's word: the matrix of the sheet may make more than 10,000 videos.
    yes_many: bool = False
    #: Make videos that an earlier, lost ledger may have paid for, too long ago to be told.
    pay_again: bool = False
    #: What this run alone may set aside.
    run_budget: Credits = None
    #: By what its own budget is counted, where it may be begun again and is the same run then.
    run_id: str | None = None
    #: None: a plan beyond the campaign's budget is refused whole, before anything is spent.
    at_limit: AtLimit | None = None
    #: What to do while another run has the campaign: wait for it, or leave at once.
    if_running: Literal["wait", "leave"] = "wait"
    #: How videos are found: by webhooks where there are any (auto), never, or not without them.
    wait: Literal["auto", "poll", "webhook"] = "auto"
    #: A person's word: make what another campaign has paid for again, as a campaign of its own.
    new_campaign: bool = False
    #: A person's word: the sheet is its campaign's, though it comes from elsewhere and differs.
    same_campaign: bool = False
    #: A person's word: rows that left the sheet are retired, however many.
    retire: bool = False
    #: Whether a saved plan is to be executed: what is retired is approved with it.
    saved_plan: bool = False
    #: Whether the service is a sandbox of our own, whose videos and credits are not real.
    sandbox: bool = False
    #: How many workers process it; None: it is processed here.
    workers: int | None = None
    #: Options that were typed, for the commands that are suggested.
    typed: tuple[str, ...] = ()
    #: The rows of which another take is made, and why; also of videos that someone keeps.
    rows: tuple[str, ...] | None = None
    because: str | None = None
    even_kept: bool = False

    @classmethod
    def of(cls, given: Mapping[str, Any], **more: Any) -> RunOptions:
        """Return the options among what was given, which may hold other things, too.

        Raises BadInput for an amount or a duration that cannot be read.
        """
        known = {name: given[name] for name in cls.model_fields if name in given}
        return cls(**{**known, **more})

    @property
    def is_whole(self) -> bool:
        """Whether it is about a whole campaign: no row is named or selected."""
        return self.rows is None and self.select is None

    def but(self, **changes: Any) -> RunOptions:
        """Return the options with these changes, which are not read as text is."""
        return self.model_copy(update=changes)

    def of_sheet(self, place: str) -> RunOptions:
        """Return what a stored plan of the sheet is run with: what it retires is approved, too."""
        return self.but(sheet=place, saved_plan=True)

    def kept(self) -> dict[str, Any]:
        """Return the options as a stored plan keeps them: those that say something."""
        return self.model_dump(mode="json", exclude_defaults=True)

    def reading(self, settings: Settings) -> SheetOptions:
        """Return how the sheet is to be read."""
        from callsheet.tasks.sheet import SheetOptions
        from callsheet.tasks.sheet.column_names import parse_map

        return SheetOptions(
            campaign=self.campaign,
            budget=self.budget,
            delimiter=self.delimiter,
            worksheet=self.worksheet,
            hidden_rows=self.hidden_rows or settings.hidden_rows,
            columns=parse_map(self.map or ()),
            yes_many=self.yes_many,
            now=time.time(),
            names=settings.names,
            copies=settings.copies,
            cost_center_column=settings.cost_center_column,
            cost_centers=tuple(settings.cost_center_budgets),
        )
