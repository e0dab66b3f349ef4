"""Every error a person may meet, in one tree.

CallsheetError                 exit 1   a fault of ours unless a subclass says otherwise
├── BadInput                   exit 2   usage, sheet or configuration: nothing was spent
│   ├── SheetError                      every problem of a sheet, each with its cell
│   ├── ConfigurationError              a setting, key, address or path that cannot work
│   ├── LoginError                      the login was declined, ran out or is not possible
│   ├── LedgerError                     the ledger cannot be opened or used
│   │   ├── LedgerDamaged               its file is damaged, or is no database at all
│   │   ├── LedgerFull                  its disk is full
│   │   └── LedgerNewer                 a later Callsheet has worked with it
│   ├── NotHere                         the ledger has no such campaign or row
│   │   └── NoSuch                      what a command is about is not there
│   ├── WrongState                      a row or person is not as this needs it
│   ├── VideoKept                       a retake of a video that someone keeps
│   └── StoreUnusable                   the store cannot be written to
├── SpendRefused               exit 4   budget or approval stands in the way
│   ├── NotApproved                     no one has approved the plan
│   ├── OverBudget                      the plan does not fit the campaign's budget
│   ├── MovedOn                         not what was planned any more: a new plan is needed
│   └── AllowanceSpent                  more than someone may approve in a day
├── NeedsPerson                exit 3   finished, but some rows need attention
├── Parked                     exit 5   nothing to be done before a later moment
├── RunStopped                 exit 1   an error stopped a run after it began to pay
├── StoreError                          one write to the store did not succeed
├── VideoError                           bytes that are not the video (or captions) we asked for
└── ServiceError                        a call to the video service did not succeed
    ├── NotSent                         proved: the request never left
    ├── OutcomeUnknown                  the request may have been processed
    ├── ShapeError                      a success whose one needed member is missing
    ├── ServerTrouble                   5xx on a read
    └── Refused                         a definite answer: it was not executed
        ├── BadRequest (400)  Unauthenticated (401)  InsufficientCredits (402)
        ├── Forbidden (403)   NotFound (404)         Conflict (409)
        └── RateLimited (429) OtherRefusal (any other 3xx or 4xx)

A caller that spends money writes:

    try:
        created = await service.create(body, key=key)
    except NotSent: ...          # safe to send again
    except Refused: ...          # release the reservation
    except OutcomeUnknown: ...   # same bytes, same key, never a new one
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from callsheet.tasks.runtime.redact import one_line

#: Shown only where it is known to be true.
NOTHING_SPENT = "nothing was spent"


class CallsheetError(Exception):
    """Something went wrong in Callsheet itself; run again with -v and report what it shows."""

    exit_status = 1
    #: Credits charged and set aside by what this error stopped; None: not known. What is raised
    #: before anything can be paid says 0, and a run that pays replaces it (`campaign.run`).
    spent: Decimal | None = None

    def __init__(self, message: str | None = None, *, remedy: str | None = None) -> None:
        super().__init__(message or self.__doc__ or "")
        self.remedy = remedy
        #: What `--json` shows of the command besides the error.
        self.document: Mapping[str, object] = {}


class BadInput(CallsheetError):
    """What was given cannot be used; nothing was spent."""

    exit_status = 2
    spent = Decimal(0)


class NotHere(BadInput):
    """The ledger has no such campaign or row; nothing was spent."""


class NoSuch(NotHere):
    """What one command is about, a campaign or a row, is not there; nothing was spent."""


class WrongState(BadInput):
    """What is there by now does not allow this; nothing was spent."""


class VideoKept(BadInput):
    """A person keeps this video: say that you want another one anyway. Nothing was spent."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing found in a sheet, and where: file, line (1-based), row (its id) and cell.

    `cell` is how the words name the place (`aspect_ratio (Sheet1!D14)`), `column` the column's own
    name where it is a cell of one.
    """

    file: str
    message: str
    line: int | None = None
    cell: str | None = None
    value: str | None = None
    row: str | None = None
    column: str | None = None

    def __str__(self) -> str:
        file = self.file if self.line is None else f"{self.file}:{self.line}"
        row = f'row "{shorten(self.row)}"' if self.row else ""
        cell = f"column {self.cell}" if self.column else self.cell
        place = ", ".join(part for part in (row, cell) if part)
        said = self.message if self.value is None else f'"{shorten(self.value)}" {self.message}'
        colon = ":" if self.column and self.value is not None else ""
        return " ".join(part for part in (file, f"{place}{colon}", said) if part)


#: So many findings of one kind are told together; values and lines that are named then.
MANY, VALUES, LINES = 3, 5, 3


def grouped(problems: Iterable[Problem]) -> list[str]:
    """Return findings in words, those of one kind in one sentence, each where its first one is.

    Of one kind are those of a column whose messages differ in numbers alone.
    """
    kinds: dict[tuple[str, str | None, str], list[Problem]] = {}
    for one in problems:
        kinds.setdefault(kind_of(one), []).append(one)
    alone = {one for kind in kinds.values() if len(kind) < MANY for one in kind}
    firsts = {kind[0]: kind for kind in kinds.values()}
    return [
        str(one) if one in alone else _together(firsts[one])
        for one in problems
        if one in alone or one in firsts
    ]


def kind_of(one: Problem) -> tuple[str, str | None, str]:
    """Return what findings of one kind have in common."""
    return one.file, one.column or one.cell, re.sub("[0-9]+", "0", one.message)


def _together(kind: Sequence[Problem]) -> str:
    """Return one sentence for findings of one kind."""
    first, count = kind[0], len(kind)
    lines = list(dict.fromkeys(one.line for one in kind if one.line is not None))
    named = _some(list(map(str, lines)), LINES)
    place = f" (line{'s' if len(lines) > 1 else ''} {named})" if lines else ""
    column = (first.cell or first.column or "").partition(" (")[0]
    values = list(dict.fromkeys(shorten(one.value) for one in kind if one.value is not None))
    what = f"{_some(values, VALUES)} in {count:,} cells" if values else f"{count:,} rows"
    told = "" if len({one.message for one in kind}) == 1 else "the first one "
    said = ": ".join(filter(None, (first.file, column, f"{what}{place}")))
    return f"{said}: {told}{first.message}"


def _some(words: Sequence[str], most: int) -> str:
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more:,} more" if more > 0 else "")


class SheetError(BadInput):
    """The sheet has problems: fix these cells, then run the command again."""

    def __init__(self, problems: Sequence[Problem], *, notes: Sequence[Problem] = ()) -> None:
        count = len(problems)
        noun = "problem" if count == 1 else "problems"
        words = f"{problems[0].file} has {count} {noun}; nothing was spent"
        remedy: str | None = "fix the cells listed above, then run the command again"
        if count == 1 and problems[0].line is None:
            # The file as a whole: one sentence says it all.
            words, remedy = f"{problems[0]}; nothing was spent", None
        super().__init__(words, remedy=remedy)
        self.problems = tuple(problems)
        #: How the sheet was understood until then: it may be what is wrong.
        self.notes = tuple(notes)
        #: Those of the problems that people have been told of in other words.
        self.told: frozenset[Problem] = frozenset()

    def confirm(self, columns: frozenset[Problem], *, remedy: str) -> None:
        """Call these of the problems columns to confirm, since a person was asked what they are."""
        self.told, self.remedy = columns, remedy
        counted = {"problem": len(self.problems) - len(columns), "column": len(columns)}
        said = [f"{n} {noun}{'' if n == 1 else 's'}" for noun, n in counted.items() if n]
        words = f"{self.problems[0].file} has {' and '.join(said)} to confirm"
        self.args = (f"{words}; nothing was spent",)


class ConfigurationError(BadInput):
    """A setting has a value that cannot work; nothing was spent."""


class LoginError(BadInput):
    """The login did not succeed; `code` is the auth server's word for why, where it has one."""

    def __init__(
        self, message: str | None = None, *, code: str | None = None, remedy: str | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class LedgerError(BadInput):
    """The ledger cannot be opened or used; nothing was spent."""


class LedgerDamaged(LedgerError):
    """The ledger's file is damaged, or is no ledger; nothing was spent."""


class LedgerFull(LedgerError):
    """The disk of a ledger is full; what was recorded before is safe."""


class LedgerNewer(LedgerError):
    """A later Callsheet has worked with this ledger; nothing was spent."""


class StoreUnusable(BadInput):
    """The store cannot be written to; nothing was spent."""


class SpendRefused(CallsheetError):
    """The budget or a missing approval stands in the way; nothing was spent."""

    exit_status = 4
    spent = Decimal(0)


class NotApproved(SpendRefused):
    """The plan is not approved; nothing was spent."""


class OverBudget(SpendRefused):
    """The plan does not fit the campaign's budget; nothing was spent.

    `needed` is the budget that it fits; None where a price cannot be read.
    """

    def __init__(self, message: str, *, remedy: str, needed: Decimal | None = None) -> None:
        super().__init__(message, remedy=remedy)
        self.needed = needed


class MovedOn(SpendRefused):
    """The sheet or the prices changed; nothing was approved or spent. Make a new plan."""


class AllowanceSpent(SpendRefused):
    """This is more than the person may approve today; nothing was approved or spent."""


class NeedsPerson(CallsheetError):
    """Finished, but some rows need attention; `document` has all rows by state."""

    exit_status = 3


class Parked(CallsheetError):
    """Nothing can be done before a later moment; run the same command again then."""

    exit_status = 5

    def __init__(
        self, message: str | None = None, *, until: datetime, remedy: str | None = None
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.until = until


class RunStopped(CallsheetError):
    """The run stopped after it began to pay; what it was charged is in the ledger."""

    @classmethod
    def by(cls, error: CallsheetError, *, remedy: str | None = None) -> RunStopped:
        """Return the stop of a run by an error, whose own words on money are left out."""
        words = str(error).replace(f"; {NOTHING_SPENT}", "").rstrip(".")
        return cls(f"the run stopped: {words}", remedy=remedy or error.remedy)

    def saying(self, words: str, *, spent: Decimal | None) -> RunStopped:
        """Return the same stop with words on what was spent."""
        found = RunStopped(f"{self}; {words}", remedy=self.remedy)
        found.document, found.spent = self.document, spent
        return found


class StoreError(CallsheetError):
    """A write to the store did not succeed.

    `permanent` says whether trying again can help; `conflict` that another file has the name;
    `full` that a disk has no room for another file either.
    """

    def __init__(
        self,
        message: str,
        *,
        permanent: bool = False,
        conflict: bool = False,
        full: bool = False,
    ) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.conflict = conflict
        self.full = full


class VideoError(CallsheetError):
    """What was downloaded is not a playable video or not captions."""


class ServiceError(CallsheetError):
    """A call to the video service did not succeed.

    `sent` is "no", "yes" or "unknown"; `permanent` that the same request would fail again.
    Nothing here holds a token, a signed address or more than 500 characters of an answer.
    """

    permanent = False
    sent = "unknown"

    def __init__(
        self,
        message: str,
        *,
        operation: str,
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        key: str | None = None,
        attempts: int = 1,
        retry_at: datetime | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.operation = operation
        self.status = status
        self.code = code
        self.request_id = request_id
        self.key = key
        self.attempts = attempts
        self.retry_at = retry_at


class NotSent(ServiceError):
    """The service could not be reached, so the request never left."""

    sent = "no"


class OutcomeUnknown(ServiceError):
    """The request left but its outcome is not known: it may have been processed."""


class ShapeError(ServiceError):
    """The service answered with success but without the one member that is needed."""

    sent = "yes"


class ServerTrouble(ServiceError):
    """The service answered a read with 5xx, several times."""

    sent = "yes"


class Refused(ServiceError):
    """The service answered that it will not do this."""

    sent = "yes"
    permanent = True


class BadRequest(Refused):
    """400: the service does not accept the brief, or has no caption data yet."""


class Unauthenticated(Refused):
    """401: the key is missing, malformed or revoked."""


class InsufficientCredits(Refused):
    """402: not enough credits, or no active subscription."""


class Forbidden(Refused):
    """403: the key lacks the scope this operation needs."""


class NotFound(Refused):
    """404: the service knows no such video."""


class Conflict(Refused):
    """409: what it means depends on the operation (already generating, not running, not ready)."""

    permanent = False


class RateLimited(Refused):
    """429: a rate or spend limit is reached until `retry_at`."""

    permanent = False


class OtherRefusal(Refused):
    """An answer that the specification does not name."""


def did_you_mean(word: str, known: Iterable[str], *, cutoff: float = 0.6) -> str:
    """Return `; did you mean X?` where one of the known words is close, else nothing."""
    from difflib import get_close_matches

    spellings = {one.casefold(): one for one in known}
    close = get_close_matches(word.casefold(), spellings, n=1, cutoff=cutoff)
    return f"; did you mean {spellings[close[0]]}?" if close else ""


def shorten(text: str, limit: int = 60) -> str:
    """Return `text` on one line and no longer than `limit` characters."""
    flat = " ".join(one_line(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
