"""What a run is asked for, what it would do, and what comes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from callsheet.tasks.ledger.accounts import Account, AtLimit
from callsheet.tasks.ledger.campaigns import Campaign, PaidElsewhere, Tally
from callsheet.tasks.ledger.diff import Action
from callsheet.tasks.ledger.earlier_takes import EarlierTake
from callsheet.tasks.ledger.values import State
from callsheet.tasks.values.amounts import as_number
from callsheet.tasks.values.briefs import CREATE

if TYPE_CHECKING:
    # Whoever reads rows need not pay for reading sheets.
    from callsheet.tasks.sheet import HiddenRows

#: What a person may say of a sheet and its campaign: the names of options.
Said = Literal["new_campaign", "same_campaign"]
SAID: tuple[Said, ...] = get_args(Said)


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """What a run is asked for: a sheet and the limits put on it; `max_wait` in seconds."""

    sheet: str
    campaign: str | None = None
    budget: Decimal | None = None
    #: A budget that the campaign has counts, whatever is said here or in the sheet.
    keep_budget: bool = False
    select: str | None = None
    max_wait: float | None = None
    delimiter: str | None = None
    worksheet: str | None = None
    #: What becomes of rows that a workbook hides; None: asked when one would be paid for.
    hidden_rows: HiddenRows | None = None
    #: Make videos that an earlier, lost ledger may have paid for, too long ago to be told.
    pay_again: bool = False
    #: What this run alone may set aside.
    run_budget: Decimal | None = None
    #: By what its own budget is counted, where it may be begun anew and is the same run then.
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
    #: Whether a saved plan is to be carried out: what is retired is approved with it.
    saved_plan: bool = False
    #: Whether the service is a sandbox of our own, whose videos and credits are not real.
    sandbox: bool = False
    #: How many workers carry it; None: it is carried here.
    workers: int | None = None
    #: Options that were typed, for the commands that are suggested.
    typed: tuple[str, ...] = ()


class PlanLine(NamedTuple):
    """What would happen to one row now, and its price (None: not priced, or not readable).

    A tuple, since a plan of 100,000 lines is made in a quarter of the time.
    """

    row: str
    title: str
    action: Action
    digest: str
    priced: Decimal | None = None
    why: str | None = None
    state: State | None = None
    #: What it asks for, where the row says so; the rest is the service's choice.
    operation: str = CREATE
    tool: str | None = None
    length: int | None = None
    ratio: str | None = None
    language: str | None = None
    #: The seconds that its price is for, where the service said so.
    priced_for: float | None = None
    #: What its takes have cost so far.
    charged: Decimal = Decimal(0)
    #: The most that it may cost, and its line of the sheet.
    max_credits: Decimal | None = None
    line: int = 0

    @property
    def leaves_length(self) -> bool:
        """Whether a length that the row does not say is the service's to choose."""
        return self.operation in (CREATE, "image-to-video")

    @property
    def on_hold(self) -> bool:
        """Whether the row costs nothing until its limit or what it asks for changes."""
        return self.action == "person" and self.state == "held"

    @property
    def spends(self) -> bool:
        """Whether carrying it out may cost credits."""
        return self.action in ("make", "remake")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What would happen to every row now.

    `committed` is what the campaign, over all its runs, was charged and has set aside so far.
    """

    campaign: str
    sheet: str
    sheet_digest: str
    lines: tuple[PlanLine, ...]
    budget: Decimal | None = None
    committed: Decimal = Decimal(0)
    #: What the service's account holds, where it said so.
    balance: Decimal | None = None
    #: The other accounts that limit it, as they are now.
    accounts: tuple[Account, ...] = ()
    #: What it makes though another campaign has paid for the same.
    elsewhere: tuple[PaidElsewhere, ...] = ()
    #: The rows that have left the sheet, chosen or not, of so many that the campaign has.
    retiring: tuple[str, ...] = ()
    live: int = 0
    #: Whether so many have left that nothing happens without a person's word on it.
    needs_word: bool = False
    #: What a person said of the sheet's campaign when it was made.
    said: tuple[Said, ...] = ()
    #: Whether a sandbox has priced it, whose videos and credits are not real.
    sandbox: bool = False
    #: Takes of its rows that another ledger may have paid for: no run pays for those rows.
    refused: tuple[EarlierTake, ...] = ()
    #: The places of rows of which the ledger does not have all that the sheet says, from 1.
    unsynced: tuple[int, ...] = ()

    @classmethod
    def of_rows(cls, campaign: Campaign, lines: Iterable[PlanLine], budget: Decimal | None) -> Plan:
        """Return a plan of rows as the ledger has them, with `budget` instead of the campaign's."""
        return cls(
            campaign=campaign.name,
            sheet=campaign.sheet or "",
            sheet_digest=campaign.sheet_digest or "",
            lines=tuple(lines),
            budget=campaign.budget if budget is None else budget,
            committed=campaign.reserved + campaign.charged,
        )

    @property
    def synced(self) -> bool:
        """Whether the ledger has all of the sheet already."""
        return not self.unsynced and not self.retiring

    @property
    def spending(self) -> list[PlanLine]:
        """The lines that may cost credits."""
        return [line for line in self.lines if line.spends]

    @property
    def total(self) -> Decimal:
        """The sum of all readable prices of lines that spend."""
        return sum((line.priced or Decimal(0) for line in self.spending), Decimal(0))

    @property
    def unpriced(self) -> int:
        """How many lines spend at a price nobody could read."""
        return sum(line.priced is None for line in self.spending)

    @property
    def unapproved(self) -> bool:
        """Whether something of it waits for an approval."""
        return self.needs_word or any(line.state != "approved" for line in self.spending)

    @property
    def moves_anything(self) -> bool:
        """Whether a run would do anything at all."""
        return any(line.spends or line.action == "continue" for line in self.lines)


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a run ended: how the campaign stands, exit status, and a word on what comes next.

    What `tally` says was charged is all that the campaign has cost, over every run.
    """

    campaign: str
    tally: Tally
    charged_this_run: Decimal
    exit_status: int
    parked_until: datetime | None = None
    words: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the document of `run --json`."""
        return {
            "campaign": self.campaign,
            "rows": self.tally.as_json(),
            "credits": {
                **self.tally.credits_as_json(),
                "charged_this_run": as_number(self.charged_this_run),
            },
            "exit": self.exit_status,
        }
