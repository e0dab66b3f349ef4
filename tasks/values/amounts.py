"""Amounts as people write and read them: credits, durations, counts.

An amount is a Decimal with at most six places; the ledger keeps whole millionths.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache
from typing import overload

from callsheet.tasks.runtime.errors import BadInput, shorten

MICRO = 1_000_000


def parse_credits(value: object) -> Decimal | None:
    """Return a finite amount of at least 0, or None when `value` is not one.

    Booleans are not amounts; text is read as a plain decimal number.
    """
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    text = str(value).strip()
    if "_" in text:  # which Decimal would read over
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return None
    if not amount.is_finite() or amount < 0 or amount > 10**12:
        return None
    return amount.quantize(Decimal(1) / MICRO).normalize() + 0


@overload
def to_micro(amount: Decimal) -> int: ...
@overload
def to_micro(amount: Decimal | None) -> int | None: ...
def to_micro(amount: Decimal | None) -> int | None:
    """Return `amount`, if there is one, in millionths of a credit."""
    return None if amount is None else int(amount * MICRO)


@overload
def from_micro(micro: int) -> Decimal: ...
@overload
def from_micro(micro: int | None) -> Decimal | None: ...
def from_micro(micro: int | None) -> Decimal | None:
    """Return an amount, if there is one, from millionths of a credit."""
    return None if micro is None else _from_micro(micro)


@lru_cache(maxsize=4096)
def _from_micro(micro: int) -> Decimal:
    """Most rows of a campaign cost one of a few prices."""
    return (Decimal(micro) / MICRO).normalize() + 0


def is_above(price: Decimal | None, limit: Decimal | None) -> bool:
    """Whether a price is above a limit, if there is one; a price that no one could read is."""
    return limit is not None and (price is None or price > limit)


@overload
def as_number(amount: Decimal) -> int | float: ...
@overload
def as_number(amount: Decimal | None) -> int | float | None: ...
def as_number(amount: Decimal | None) -> int | float | None:
    """Return `amount` for JSON: an int where it is whole."""
    if amount is None:
        return None
    return int(amount) if amount == amount.to_integral_value() else float(amount)


def as_text(amount: Decimal | None) -> str:
    """Return `amount` for people: `12`, `12.5`, or `unknown`."""
    return "unknown" if amount is None else f"{amount:,f}"


def in_credits(amount: Decimal | None, price: CreditPrice | None = None) -> str:
    """Return `amount` with its unit, for people: `1 credit`, `12.5 credits`.

    With the price of a credit it is in money too, unless it is none: `45 credits (5.40 USD)`.
    """
    unit = "credit" if amount == 1 else "credits"
    return with_money(f"{as_text(amount)} {unit}", amount, price)


def with_money(words: str, amount: Decimal | None, price: CreditPrice | None) -> str:
    """Return what is said of an amount of credits, with its money behind it, unless it is none."""
    return f"{words} ({price.words(amount)})" if price and amount else words


def in_table(amount: Decimal | None, price: CreditPrice | None) -> str:
    """Return an amount for a column of credits: `45 (5.40 USD)`, or `-` for none."""
    return "-" if amount is None else with_money(as_text(amount), amount, price)


# What a credit costs in money, as `0.12 USD`.


_PRICE = re.compile(r"(\d+(?:\.\d+)?) ?([A-Z]{3})", re.ASCII)


@dataclass(frozen=True, slots=True)
class CreditPrice:
    """The price of one credit in a currency."""

    amount: Decimal
    currency: str

    def of(self, credits: Decimal) -> Decimal:
        """Return what so many credits cost, to the hundredth."""
        return (credits * self.amount).quantize(Decimal("0.01"), ROUND_HALF_UP)

    def words(self, credits: Decimal) -> str:
        """Return that for people: `5.40 USD`."""
        return f"{self.of(credits):,f} {self.currency}"


def parse_credit_price(text: str) -> CreditPrice | None:
    """Read `0.12 USD`; return None where it is not such a price."""
    match = _PRICE.fullmatch(text.strip())
    amount = parse_credits(match[1]) if match else None
    return CreditPrice(amount, match[2]) if match and amount else None


# Durations as people write them: `45s`, `10m`, `2h`, `1h30m`, `1d`.


#: Ten years, in seconds: beyond it dates run out.
LONGEST = 3650 * 86400.0

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def parse_duration(text: str) -> float:
    """Return seconds; raise BadInput for anything but `45s`, `10m`, `2h`, `1h30m`."""
    if not _DURATION.fullmatch(text.strip().lower()):
        raise BadInput(f'"{text}" is not a duration; write it like 45s, 10m or 2h')
    seconds = sum(float(n) * _SECONDS[unit] for n, unit in _PART.findall(text.strip().lower()))
    if seconds > LONGEST:
        raise BadInput(f'"{shorten(text)}" is too long a duration; 3650d is the limit')
    return seconds


def say_duration(seconds: float) -> str:
    """Return seconds in at most two units: `8s`, `3m 10s`, `2h 5m`."""
    whole = max(0, round(seconds))
    days, rest = divmod(whole, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, secs = divmod(rest, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (secs, "s")]
    said = [f"{n}{unit}" for n, unit in parts if n][:2]
    return " ".join(said) or "0s"


def say_roughly(seconds: float) -> str:
    """Return roughly how long something takes: `about 12 minutes`, `less than a minute`."""
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if (number := round(seconds / size)) >= (2 if size > 60 else 1):
            return f"about {number} {unit}{'' if number == 1 else 's'}"
    return "less than a minute"


# Parts of a campaign in percent, as `10%,50%`.


def parse_waves(value: object) -> tuple[str, ...]:
    """Read `10%,50%`, or a list of such parts; return each as `10%`. `no` means no waves.

    Raises ValueError unless the parts are between 0% and 100% and rise. 100% is left out.
    """
    parts = value if isinstance(value, list | tuple) else str(value).split(",")
    texts = [str(part).strip() for part in parts]
    if len(texts) == 1 and texts[0].casefold() in ("no", "false"):
        return ()
    waves = [percent(text) for text in texts if _PERCENT.fullmatch(text)]
    if len(waves) < len(texts) or not all(0 < part <= 100 for part in waves):
        raise ValueError("is not a list of parts between 0% and 100%; write it like 10%,50%")
    if sorted(set(waves)) != waves:
        raise ValueError("does not rise: each wave includes the one before; write it like 10%,50%")
    return tuple(f"{part.normalize():f}%" for part in waves if part < 100)


def say_share(part: float, whole: float) -> str:
    """Return a part of a whole as `88.9 %`, never 100 before it is all."""
    share = round(100 * part / whole, 1)
    return f"{min(share, 99.9) if part < whole else share:g} %"


def percent(text: str) -> Decimal:
    """Return the number of `12.5%`."""
    return Decimal(text.removesuffix("%"))


_PERCENT = re.compile(r"\d{1,3}(?:\.\d{1,6})?%", re.ASCII)


#: New takes of one failed row at most.
MOST_RETRIES = 10


def parse_retries(value: object) -> int:
    """Read how many new takes a failed row may have; raise ValueError unless from 0 to 10."""
    text = str(value).strip().casefold()
    known = {str(number): number for number in range(MOST_RETRIES + 1)} | {"no": 0, "false": 0}
    if text not in known:
        raise ValueError(f"is not a number of new attempts from 0 to {MOST_RETRIES}")
    return known[text]


# Moments that a sheet names, as `2026-12-01` or `2026-12-01T09:30`, in UTC unless they say a zone.


_DAY = 86400.0
_MOMENT = re.compile(
    r"(\d{4}-\d{2}-\d{2})(?:[T ](\d{1,2}:\d{2}(?::\d{2})?)(?:\.\d+)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)


def parse_moment(text: str, *, end: bool = False) -> float:
    """Return Unix seconds; a date alone is its first second, with `end` its last.

    Raises ValueError for anything else, and for a day that there is not.
    """
    match = _MOMENT.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError(text)
        day, clock, zone = match.groups()
        clock = (clock or "00:00").zfill(5)
        at = datetime.fromisoformat(f"{day}T{clock}{zone or 'Z'}").timestamp()
    except (ValueError, OverflowError):
        raise ValueError("is not a date; write it like 2026-12-01 or 2026-12-01T09:30") from None
    return at + _DAY - 1 if end and match[2] is None else at


def say_date(at: float) -> str:
    """Return a moment of a sheet for people: the day, with the time where one was named."""
    moment = datetime.fromtimestamp(at, UTC)
    if at % _DAY in (0, _DAY - 1):
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y-%m-%d %H:%M} UTC"


# How many of what, for people: `1 row`, `2 rows`, `20 MiB`.


def count(number: int, noun: str, nouns: str | None = None) -> str:
    """Return a number with its noun, in the plural but for one; `nouns` where an s is not all."""
    return f"{number:,} {noun if number == 1 else nouns or f'{noun}s'}"


def say_bytes(number: int) -> str:
    """Return a number of bytes: `20 MiB`."""
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if number >= size:
            return f"{number / size:,.3g} {unit}"
    return f"{number} bytes"
