"""What a run would do, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple

from callsheet.tasks.ledger.accounts import Account
from callsheet.tasks.ledger.campaigns import PaidElsewhere, Tally
from callsheet.tasks.ledger.diff import Action
from callsheet.tasks.ledger.earlier_takes import EarlierTake
from callsheet.tasks.ledger.present_rows import PresentRow
from callsheet.tasks.ledger.reviews import Review
from callsheet.tasks.ledger.values import Pace, State
from callsheet.tasks.runtime.known_settings import Settings
from callsheet.tasks.values.amounts import CreditPrice, as_number, count, in_credits, is_above
from callsheet.tasks.values.briefs import CREATE
from callsheet.tasks.values.edits import EditOf

#: What is done to a row that is paid for.
PAID: tuple[Action, ...] = ("make", "retake", "edit")
#: Whether a canary is made first, and what releases the rows that wait: a person keeps the video
#: (yes), or its checks pass (auto). Without a canary (no), a person releases the next wave.
Canary = Literal["no", "yes", "auto"]


class FoundVideo(NamedTuple):
    """A video that a row takes over: its id, title and length, and how it was found.

    `by` is the row's cell (id), its key, or its title and length (title).
    """

    video_id: str
    by: Literal["id", "key", "title"]
    title: str | None = None
    seconds: float | None = None


class Change(NamedTuple):
    """What a plan changes besides making videos, in words for the person who approves it.

    `by_settings` says that the settings of this machine ask for it, and not the sheet.
    """

    what: Literal["retire", "ids", "retention", "copies", "names", "budget", "columns"]
    words: str
    by_settings: bool = False


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
    #: For people: the brand that the sheet names for it, and its tags.
    brand: str | None = None
    tags: tuple[str, ...] = ()
    #: What rows of one kind have in common; only set if canaries are wanted.
    kind: tuple[object, ...] = ()
    #: The id that the row has in the ledger until now.
    was: str | None = None
    #: When its video is to be there (Unix seconds).
    deliver_by: float | None = None
    #: The verdict on its video: keep or reject, else passed, flagged or unchecked.
    verdict: str | None = None
    #: What of its video is edited, where that is enough.
    edit_of: EditOf | None = None
    #: What edits or clips like it were charged before, where there were some: their median.
    usual: Decimal | None = None
    #: The video that it takes over, or would if that were possible.
    found: FoundVideo | None = None
    #: The id of the row that a matrix made it from.
    variant_of: str | None = None
    #: The number of the take that is edited, and of the row's present one (0: none).
    base: int = 0
    take: int = 0
    #: Of a row as the ledger has it: the number of its attempt, whether someone keeps its present
    #: take, and what was said last of its videos.
    nth: int = 0
    kept: bool = False
    review: Review | None = None

    def moved(self, now: PresentRow | None) -> str | None:
        """Say how a row differs from what was shown; None where it is as shown."""
        if now is None:
            return "it is not there any more"
        if now.digest != self.digest:
            return "the row was edited"
        if now.state != self.state:
            return f"it is {now.state} now"
        if (now.nth, now.take) != (self.nth, self.take):
            return "another take was made meanwhile"
        return "its video is kept now" if now.kept and not self.kept else None

    @property
    def leaves_length(self) -> bool:
        """Whether a length that the row does not say is the service's to choose."""
        return self.operation in (CREATE, "image-to-video")

    @property
    def words(self) -> str | None:
        """Why it happens, and what edits and clips like it usually cost, which have no quote.

        An edit also says what is reserved for it.
        """
        usually = "" if self.usual is None else f"usually {in_credits(self.usual)}"
        if not self.spends or "; not quoted" in (self.why or ""):
            return self.why
        if self.edit_of is None:
            return "; ".join(filter(None, (self.why, usually))) or None
        # A row that is approved without its sheet does not say what of its video has changed.
        what = self.why or f"edits its {self.edit_of}"
        if self.priced is None:
            return f"{what}; not quoted" + (f": {usually}" if usually else "")
        limit = "the price of a new video" if self.max_credits is None else "its max_credits"
        reserved = f"{in_credits(self.priced)} reserved, {limit}; it may cost more"
        return f"{what}; not quoted: {'; '.join(filter(None, (usually, reserved)))}"

    @property
    def on_hold(self) -> bool:
        """Whether the row costs nothing until its limit or what it asks for changes."""
        return self.action == "person" and self.state == "held"

    @property
    def switched_off(self) -> bool:
        """Whether the sheet keeps the row without a video (`enabled`)."""
        return self.action == "none" and self.state == "planned"

    @property
    def above_limit(self) -> bool:
        """Whether its price is known, and above the most that it may cost."""
        return self.priced is not None and is_above(self.priced, self.max_credits)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The ids under which another campaign may have its video, each with its digest."""
        return [(row, self.digest) for row in (self.row, self.variant_of) if row]

    @property
    def spends(self) -> bool:
        """Whether carrying it out may cost credits."""
        return self.action in PAID


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
    #: The rows that get another id: the new one, and the one in the ledger.
    renamed: tuple[tuple[str, str], ...] = ()
    #: What it changes besides making videos.
    changes: tuple[Change, ...] = ()
    #: Whether a sandbox has priced it, whose videos and credits are not real.
    sandbox: bool = False
    #: Takes of its rows that another ledger may have paid for: no run pays for those rows.
    refused: tuple[EarlierTake, ...] = ()
    #: Whether rows take over videos that exist, and nothing is made.
    adopt: bool = False
    #: What a credit costs, where the settings say so: people are shown every price in money too.
    credit_price: CreditPrice | None = None
    #: Whether one row of each kind is made first.
    canary: Canary = "no"
    #: The parts of the rows that are made first, as `10%`.
    waves: tuple[str, ...] = ()
    #: The rows that will be late at the pace so far, and that pace.
    late: tuple[PlanLine, ...] = ()
    pace: Pace | None = None
    #: How many more takes it has approved of each row, for renders that fail at the service.
    retry_failed: int = 0
    #: How far a price may rise after its approval, as a fraction of it.
    tolerance: Decimal = Decimal(0)
    #: Who approved it, in words for the history of its rows.
    by: str = ""
    #: The stored plan that it is, where that was approved before the run; else the approval of its
    #: rows stores it.
    id: str | None = None
    #: The places of rows of which the ledger does not have all that the sheet says, from 1.
    unsynced: tuple[int, ...] = ()
    #: The part of the campaign's takes that was kept, where enough were decided on.
    keep_rate: Decimal | None = None
    #: What approved rows will set aside, where that is a part of `committed`.
    to_come: Decimal = Decimal(0)
    #: Why other takes are wanted, for the history of the rows.
    because: str | None = None
    #: When the campaign was cancelled, as far as the person who approves knows.
    cancelled_at: float | None = None
    #: When its prices were asked for, of rows that get them with its approval (Unix seconds).
    priced_at: float | None = None

    def approved(self, by: str, *, plan_id: str | None = None) -> Plan:
        """Return the plan with who approved it, as a stored plan where it is one already."""
        return replace(self, by=by, id=plan_id)

    def under(self, settings: Settings) -> Plan:
        """Return the plan with what a credit costs, and how far prices may rise, by settings."""
        return replace(self, credit_price=settings.credit_price, tolerance=settings.quote_tolerance)

    @property
    def committed_as(self) -> str:
        """What `committed` is the sum of, in words."""
        return "approved, reserved or charged" if self.to_come else "reserved or charged"

    @property
    def is_released_by_checks(self) -> bool:
        """Whether the checks of first videos release the rows that wait, and not a person."""
        return self.canary == "auto"

    @property
    def synced(self) -> bool:
        """Whether the ledger has all of the sheet already."""
        return not self.unsynced and not self.retiring

    @property
    def spending(self) -> list[PlanLine]:
        """The lines that may cost credits."""
        return [line for line in self.lines if line.spends]

    @property
    def adopting(self) -> list[PlanLine]:
        """The lines that take over a video, at no charge."""
        return [line for line in self.lines if line.action == "adopt"]

    def named(self, *actions: Action) -> list[str]:
        """Return the rows with one of these actions, by id."""
        return [line.row for line in self.lines if line.action in actions]

    @property
    def total(self) -> Decimal:
        """The sum of all readable prices of lines that spend."""
        return sum((line.priced or Decimal(0) for line in self.spending), Decimal(0))

    @property
    def price_in_words(self) -> str:
        """What it makes and edits, and its price: `2 videos and 1 edit for about 70 credits`."""
        edits = sum(line.action == "edit" for line in self.spending)
        made = len(self.spending) - edits
        things = [count(made, "video")] if made or not edits else []
        things += [count(edits, "edit")] if edits else []
        credits = in_credits(self.total, self.credit_price)
        # No edit has a quote.
        return f"{' and '.join(things)} for {'about ' if edits else ''}{credits}"

    @property
    def most(self) -> Decimal:
        """The total if every row used up the new takes that it is allowed (an edit gets none), and
        every price rose as far as it may.
        """
        edits = sum((e.priced or Decimal(0) for e in self.spending if e.edit_of), Decimal(0))
        made = self.total + (self.total - edits) * self.retry_failed
        return made * (1 + self.tolerance)

    @property
    def expected(self) -> Decimal | None:
        """The total until every video is kept, at the keep rate so far; edits once, as quoted."""
        if self.keep_rate is None or self.unpriced:
            return None
        edits = sum((e.priced or Decimal(0) for e in self.spending if e.edit_of), Decimal(0))
        made = self.total - edits
        return (made / self.keep_rate + edits).quantize(Decimal(1)) if made else None

    @property
    def unpriced(self) -> int:
        """How many lines spend at a price no one could read."""
        return sum(line.priced is None for line in self.spending)

    @property
    def unapproved(self) -> bool:
        """Whether something of it waits for an approval."""
        waiting = any(line.state != "approved" for line in self.spending)
        return self.needs_word or waiting or bool(self.adopting)

    @property
    def moves_anything(self) -> bool:
        """Whether a run would do anything at all."""
        return any(line.spends or line.action in ("adopt", "fetch") for line in self.lines)


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
    #: What a credit costs, where the settings say so.
    credit_price: CreditPrice | None = None
    #: Whether the ledger was restored a while ago: videos that were paid for since its backup have
    #: the keys that are sent now, and the service does not charge for them again.
    is_restored: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the document of `run --json`; of a parked run, with when to run it again."""
        until = self.parked_until
        return {
            "campaign": self.campaign,
            "rows": self.tally.as_json(),
            "credits": {
                **self.tally.credits_as_json(),
                "charged_this_run": as_number(self.charged_this_run),
            },
            "exit": self.exit_status,
            **({"not_before": f"{until:%Y-%m-%dT%H:%M:%SZ}"} if until else {}),
        }
