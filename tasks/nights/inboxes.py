"""Inboxes of sheets and their terms, as `nights.toml` lists them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from callsheet.tasks.nights.calendar import check_schedule, read_zone
from callsheet.tasks.runtime.errors import BadInput, ConfigurationError, did_you_mean
from callsheet.tasks.runtime.redact import unsigned
from callsheet.tasks.values.amounts import parse_credits, parse_duration, parse_waves
from callsheet.tasks.values.locations import is_object, object_at

#: Whether an inbox may spend without asking: never, or up to its limits.
Approval = Literal["plan-only", "auto"]
#: Maximum characters of an inbox's name in the ledger.
LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Inbox:
    """An inbox of sheets, and what its nightly runs may do.

    `name` is from `nights.toml`, or the location itself. `place` is the full path of a folder or
    `s3://bucket/prefix`. `per_night` and `per_sheet` are the credits that a night, and one sheet in
    it, may approve automatically; `budget` is the limit of a campaign over all its runs.
    `max_wait` is in seconds for the whole scan.
    """

    name: str
    place: str
    cron: str | None = None
    timezone: str | None = None
    approval: Approval = "plan-only"
    per_night: Decimal | None = None
    per_sheet: Decimal | None = None
    budget: Decimal | None = None
    #: Make one video of each kind of row and ask before the others.
    canary: bool = False
    #: Parts of the rows that are made first, as `10%`; None: as the sheet says.
    waves: tuple[str, ...] | None = None
    max_wait: float | None = None
    #: Notification addresses (apprise URLs); each may be `env:NAME` or `file:PATH`.
    notify: tuple[str, ...] = ()
    #: More addresses by campaign: they get notices of that campaign only.
    notify_of: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Whether to send nothing after a night without news.
    quiet: bool = True
    #: When to send the digest, as `08:00`; None for the end of the scan.
    digest_at: str | None = None
    #: Address to ping at start, success and failure; may be `env:NAME` or `file:PATH`.
    ping: str | None = None
    #: Address of the board, for links.
    board: str | None = None
    #: The folder that paths in `notify` and `ping` are relative to.
    folder: Path = Path()

    @property
    def is_bucket(self) -> bool:
        """Whether the inbox is in an object store."""
        return is_object(self.place)

    @property
    def digest_cron(self) -> str | None:
        """The schedule of its digests, unless they are sent at the end of the scan."""
        if self.digest_at is None:
            return None
        hour, minute = map(int, self.digest_at.split(":"))
        return f"{minute} {hour} * * *"

    def check(self) -> Inbox:
        """Return the inbox; raise ConfigurationError if it could spend without a limit."""
        if self.approval == "auto" and self.per_night is None:
            raise ConfigurationError(
                f"inbox {self.name} approves automatically but has no limit per night",
                remedy='give per_night, or --approve-up-to N; or approval = "plan-only"',
            )
        return self


def with_terms(
    inbox: Inbox,
    *,
    approve_up_to: Decimal | None = None,
    plan_only: bool = False,
    canary: bool = False,
    max_wait: str | None = None,
    **more: Any,
) -> Inbox:
    """Return an inbox with the options of a command; None keeps the value of the file.

    Raise BadInput for what cannot be, and ConfigurationError if it could spend without a limit.
    """
    terms = {
        **more,
        "approval": "plan-only" if plan_only else None if approve_up_to is None else "auto",
        "per_night": approve_up_to,
        "canary": canary or None,
        "max_wait": None if max_wait is None else parse_duration(max_wait),
    }
    given = {name: value for name, value in terms.items() if value is not None}
    return replace(inbox, **given).check()


# Reads `nights.toml` and finds inboxes by name or location. Does not open an inbox.


#: Default files that list the inboxes.
FILES = (Path("nights.toml"), Path("configs/nights.toml"))


def find_inboxes(named: str, *, folder: Path, file: str | Path | None = None) -> tuple[Inbox, ...]:
    """Return the inboxes for a name in `nights.toml`, a folder or `s3://bucket/prefix`.

    A file that ends in `.toml` means all inboxes that it lists. `file` replaces the search for
    `nights.toml` in `folder`. A listed inbox keeps its name and terms, however you name it.
    Raise BadInput if nothing matches.
    """
    if named.endswith(".toml"):
        return read_nights(folder / named)
    listed = listed_inboxes(folder, file)
    for inbox in listed:
        if inbox.name == named:
            return (inbox,)
    place = _place(named, folder)
    for inbox in listed:
        if inbox.place == place:
            return (inbox,)
    if is_object(place) or Path(place).is_dir():
        return (Inbox(name=_name(place), place=place, folder=folder),)
    known = [inbox.name for inbox in listed]
    more = did_you_mean(named, known) if known else ""
    raise BadInput(
        f"{unsigned(named)} is not an inbox: neither a folder that is there, s3://bucket/prefix, "
        f"nor a name in nights.toml{more}; nothing was spent",
        remedy=f"the inboxes are: {', '.join(known)}"
        if known
        else "make the folder, or list the inboxes in nights.toml",
    )


def _name(place: str) -> str:
    """Return the name of an unlisted inbox: its location, or the end of a long one."""
    if len(place) <= LONGEST:
        return place
    from hashlib import sha256

    return f"{sha256(place.encode()).hexdigest()[:16]} {place[17 - LONGEST :]}"


def _place(text: str, folder: Path) -> str:
    where = object_at(text)
    if where is not None and where.scheme == "s3":
        if not where.bucket:
            raise BadInput(f"{text} names no bucket; write it like s3://bucket/prefix")
        return str(where._replace(key=where.key.strip("/")))
    if "://" in text:
        raise BadInput(f"{unsigned(text)} is not a folder or s3://bucket/prefix")
    return str((folder / Path(text).expanduser()).resolve())


def listed_inboxes(folder: Path, file: str | Path | None = None) -> tuple[Inbox, ...]:
    """Return the inboxes of `nights.toml` in its order; none if there is no such file.

    Raise ConfigurationError for a named file that cannot be read, or an invalid one.
    """
    if file is not None:
        return read_nights(folder / file)
    found = next((folder / one for one in FILES if (folder / one).is_file()), None)
    return () if found is None else read_nights(found)


def listed_inbox(name: str, folder: Path, file: str | Path | None = None) -> Inbox:
    """Return the inbox of this name; raise BadInput for any that `nights.toml` does not list."""
    for inbox in listed_inboxes(folder, file):
        if inbox.name == name:
            return inbox.check()
    raise BadInput(f'no inbox "{name[:80]}" is listed in nights.toml')


def read_nights(file: Path) -> tuple[Inbox, ...]:
    """Return the inboxes of a `nights.toml`; raise ConfigurationError with the problem."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{file} cannot be read: {reason}; nothing was spent") from error
    if unknown := [name for name in document if name not in ("nights", "inbox")]:
        raise _wrong(file, unknown[0], "is neither [nights] nor [inbox.NAME]")
    defaults, listed = document.get("nights", {}), document.get("inbox", {})
    if not isinstance(defaults, dict) or not isinstance(listed, dict):
        raise _wrong(file, "inbox", "is written [inbox.NAME], one table for each inbox")
    terms = _terms(file, "nights", defaults)
    inboxes = tuple(_inbox(file, name, table, terms) for name, table in listed.items())
    places = [inbox.place for inbox in inboxes]
    for inbox in inboxes:
        if places.count(inbox.place) > 1:
            raise _wrong(
                file, f"inbox.{inbox.name}", f"has the same place as another, {inbox.place}"
            )
    return inboxes


def _inbox(file: Path, name: str, table: object, defaults: Mapping[str, Any]) -> Inbox:
    where = f"inbox.{name}"
    if not isinstance(table, dict):
        raise _wrong(file, where, "is written as a table, [inbox.NAME]")
    if len(name) > LONGEST or name.endswith(".toml") or "/" in name:
        raise _wrong(file, where, "is not a name that an inbox can have")
    terms = {**defaults, **_terms(file, where, table)}
    if "place" not in terms:
        raise _wrong(file, where, "has no place: set a folder or s3://bucket/prefix")
    # Paths are relative to the folder of the project, not of the file.
    home = file.parent.parent if file.parent.name == "configs" else file.parent
    try:
        place = _place(terms.pop("place"), home)
        return Inbox(name=name, place=place, folder=home, **terms).check()
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{file}: {error}; nothing was spent", remedy=error.remedy
        ) from None


def _terms(file: Path, where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    known = [one.name for one in fields(Inbox) if one.name not in ("name", "folder")]
    found: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            raise _wrong(file, f"{where}.{name}", f"is not known{did_you_mean(name, known)}")
        try:
            found[name] = _READERS.get(name, _text)(value)
        except (ValueError, BadInput) as error:
            raise _wrong(file, f"{where}.{name}", str(error)) from None
    return found


def _amount(value: object) -> Decimal:
    amount = parse_credits(value)
    if amount is None:
        raise ValueError("is not an amount of credits; write it like 1200 or 12.5")
    return amount


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError("is written true or false")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("is not a text")
    return value.strip()


def _addresses(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise ValueError('is a list, like ["env:NIGHT_MAIL"]')
    return tuple(_text(one) for one in value)


def _addresses_of(value: object) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError('is a table, like { spring = ["env:SPRING_MAIL"] }')
    return {campaign: _addresses(one) for campaign, one in value.items()}


def _checked(check: Callable[[str], object], words: str) -> Callable[[object], str]:
    """Return a reader of a text that passes a check; `words` say what it is not."""

    def read(value: object) -> str:
        text = _text(value)
        try:
            check(text)
        except (ConfigurationError, ValueError):
            raise ValueError(words) from None
        return text

    return read


def _time(value: object) -> str:
    text = _text(value)
    if not re.fullmatch(r"([01]?\d|2[0-3]):[0-5]\d", text):
        raise ValueError("is not a time; write it like 08:00")
    return text.zfill(5)


_READERS: Mapping[str, Any] = {
    "cron": _checked(
        partial(check_schedule, timezone=None), 'is not a schedule; write it like "0 2 * * *"'
    ),
    "timezone": _checked(read_zone, "is not a time zone; write it like Europe/Berlin, or UTC"),
    "approval": _checked(get_args(Approval).index, 'is "plan-only" or "auto"'),
    "per_night": _amount,
    "per_sheet": _amount,
    "budget": _amount,
    "canary": _switch,
    "waves": parse_waves,
    "quiet": _switch,
    "notify": _addresses,
    "notify_of": _addresses_of,
    "digest_at": _time,
    "max_wait": lambda value: parse_duration(_text(value)),
}


def _wrong(file: Path, where: str, words: str) -> ConfigurationError:
    return ConfigurationError(f"{file}: {where} {words}; nothing was spent")
