"""What every setting is: its name, its default, how its value is written, and what it is for.

Where settings come from is in `tasks.runtime.settings`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr

from callsheet.tasks.runtime.errors import BadInput, ConfigurationError
from callsheet.tasks.runtime.home import Found
from callsheet.tasks.values.amounts import (
    CreditPrice,
    parse_credit_price,
    parse_credits,
    parse_duration,
)
from callsheet.tasks.values.briefs import CHECKS
from callsheet.tasks.values.locations import Links, parse_links

if TYPE_CHECKING:
    from callsheet.tasks.credentials import Login, Register
else:
    # Nothing of a login is loaded where no one ever logged in.
    Login = Register = Any

T = TypeVar("T")


def _read(parse: Callable[[str], T | None], words: str) -> BeforeValidator:
    """Return what reads a value; one that `parse` makes nothing of is said to be `words`."""

    def read(value: str | None) -> T:
        found = None if value is None else parse(value)
        if found is None:
            raise ValueError(f' "{value}" is {words}')
        return found

    return BeforeValidator(read)


def service_address(value: str) -> str | None:
    try:
        parts = urlsplit(value)
        right = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        right = False
    return value.rstrip("/") if right else None


def _seconds(value: str) -> float:
    try:
        return parse_duration(value)
    except BadInput as error:
        raise ValueError(f": {error}") from error


def _count(value: str) -> int | None:
    return int(value) if value.isdecimal() and 1 <= int(value) <= 512 else None


def _amounts(value: str) -> dict[str, Decimal]:
    """Read `marketing=500,sales=200`."""
    found: dict[str, Decimal] = {}
    for part in filter(None, (part.strip() for part in value.split(","))):
        who, _, text = part.rpartition("=")
        amount = parse_credits(text)
        if not who.strip() or who.strip() in found or amount is None:
            raise ValueError(
                f' "{part}" is not an amount for one name; nothing was spent',
                "write it like marketing=500,sales=200, every name once",
            )
        found[who.strip()] = amount
    return found


def _percent(value: str) -> Decimal | None:
    """Read `10%` as 0.1."""
    amount = parse_credits(value.removesuffix("%")) if value.endswith("%") else None
    return None if amount is None else amount / 100


def _split(separator: str) -> BeforeValidator:
    return BeforeValidator(lambda text: [w.strip() for w in re.split(separator, text) if w.strip()])


def _lease(value: str) -> float | None:
    seconds = _seconds(value)
    return seconds if seconds >= 1 else None


def _checks(value: str) -> frozenset[str] | None:
    names = frozenset(name.strip() for name in value.split(",") if name.strip())
    return names if names <= set(CHECKS) else None


def _vendor(value: str) -> str | None:
    return value if value.isascii() and value.replace("-", "").isalnum() else None


def _own_column(value: str) -> str | None:
    return value.casefold() if re.fullmatch(r"x_\S+", value.casefold()) else None


def _pool(value: str) -> str | None:
    # What Prefect refuses in a name, and what would have to be quoted.
    return value if re.fullmatch(r"[\w.-]{1,200}", value) else None


Url = Annotated[str, _read(service_address, "not an http(s) address; nothing was spent")]
Seconds = Annotated[float, BeforeValidator(_seconds)]
Lease = Annotated[float, _read(_lease, "too short; 1s is the least")]
Count = Annotated[int, _read(_count, "not a whole number from 1 to 512")]
Truth = Annotated[bool, _read({"yes": True, "no": False}.get, "neither yes nor no")]
Amount = Annotated[Decimal, _read(parse_credits, "not an amount of credits; nothing was spent")]
Amounts = Annotated[dict[str, Decimal], BeforeValidator(_amounts)]
Percent = Annotated[Decimal, _read(_percent, "not a part of a price; write it like 10%")]
Price = Annotated[
    CreditPrice, _read(parse_credit_price, "not the price of a credit; write it like 0.12 USD")
]
Checks = Annotated[frozenset[str], _read(_checks, f"no list of {', '.join(CHECKS)}")]
Vendor = Annotated[str, _read(_vendor, "no part of a header name")]
Pool = Annotated[str, _read(_pool, "not of letters, digits, dots, dashes and underscores alone")]
OwnColumn = Annotated[str, _read(_own_column, "no column of your own; write it like x_client")]
Secrets = Annotated[tuple[SecretStr, ...], _split(r"[\s,]")]
Words = Annotated[frozenset[str], _split(",")]
LinksWanted = Annotated[
    Links, _read(parse_links, "neither like presigned 7d (7d at most) nor public https://...")
]
Places = Annotated[tuple[str, ...], _split(r"\s")]


def _setting(
    default: str | Callable[[dict[str, Any]], str] | None, words: str, *, board: str | None = None
) -> Any:
    """Return a setting as people read of it: its default as they would write it, what it is.

    One that an admin may set on the board has a heading there: `board`.
    """
    if callable(default):
        return Field(default_factory=default, description=words)
    return Field(default, description=words, title=board, validate_default=True)


class Settings(BaseModel):
    """What a command runs with; durations in seconds."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    home: Path
    base_url: Url | None = _setting(None, "the service's REST root; ends in /api/v1")
    auth_url: Url | None = _setting(None, "the service's login root")
    mcp_url: Url | None = _setting(None, "the service's MCP root")
    api_key: SecretStr | None = _setting(None, "the organization's key (mav_...); a secret")
    ledger: str = _setting(
        lambda above: f"sqlite:///{above['home'] / 'ledger.db'}",
        "SQLAlchemy URL of the ledger; default a SQLite file under .callsheet/",
    )
    store: str = _setting(
        "deliveries/", "where videos go: s3://bucket/prefix, or a folder next to .callsheet/"
    )
    webhook_url: Url | None = _setting(
        None, "the receiver's public address, as the service sees it"
    )
    receiver: str = _setting("127.0.0.1:8790", "host:port the receiver binds to")
    names: str = _setting(
        "{campaign}/{row}/{row}-take{take}.mp4",
        "what videos are called, with columns in braces",
        board="Names of files",
    )
    copies: Places = _setting(
        "",
        "addresses to copy finished files to, as in a sheet, separated by spaces",
        board="Copies of files",
    )
    links: LinksWanted | None = _setting(
        None,
        "links to videos in the status sheet: presigned 7d, or public https://...",
        board="Links to videos",
    )
    horizon: Seconds = _setting(
        "24h", "how long Callsheet trusts the service to remember an idempotency key"
    )
    deadline: Seconds = _setting("3h", "how long a render may take before its row is stalled")
    captions_wait: Seconds = _setting("2m", "how long captions may come later than their video")
    at_once: Count = _setting("8", "creates, and downloads, under way at once; twice as many polls")
    failed_words: Words = _setting(
        "failed,failure,error,errored", "statuses of the service that mean a render has failed"
    )
    clip_keys: Truth = _setting(
        "no", "yes once the service is known to take idempotency keys for clips"
    )
    evidence_wait: Seconds = _setting("10m", "how long to search for a clip after a lost answer")
    pictures: Literal["yes", "poster", "no"] = _setting(
        "yes", "make a poster and a strip for each video: yes, poster (without the strip), no"
    )
    checks: Checks = _setting(
        "", "findings that put a row on hold: black, frozen, silence, length, captions, ai_mark"
    )
    quote_age: Seconds = _setting(
        "15m", "how long a quote is valid before Callsheet asks for it again"
    )
    quote_tolerance: Percent = _setting(
        "0%", "how far a price may rise after its approval before you must approve it again"
    )
    day_budget: Amount | None = _setting(
        None,
        "credits that all campaigns of the ledger may cost in a day (UTC)",
        board="Budget of a day",
    )
    month_budget: Amount | None = _setting(
        None,
        "credits that all campaigns of the ledger may cost in a calendar month (UTC)",
        board="Budget of a month",
    )
    cost_center_budgets: Amounts = _setting(
        "", "credits that a cost center may cost in total: marketing=500,sales=200"
    )
    cost_center_column: OwnColumn | None = _setting(
        None, "a column whose text is the cost center of rows that name none, such as x_client"
    )
    credit_price: Price | None = _setting(
        None,
        "what a credit costs in money, such as 0.12 USD; then every price is shown in both",
        board="Price of a credit",
    )
    keep_at_service: Seconds | None = _setting(
        None,
        "how long to keep delivered videos at the service, such as 30d; default until you prune",
        board="Retention at the service",
    )
    unlisted: Literal["refuse", "advise"] = _setting(
        "refuse", "what to do with a tool or field that the service does not list: refuse, advise"
    )
    lease: Lease = _setting("60s", "how long a run that gives no sign of life keeps its campaign")
    credentials: Literal["keyring", "file"] | None = _setting(
        None, "where `login` stores the key: keyring or file; default a keyring, if there is one"
    )
    claim_grant: str = _setting(
        "urn:service:agent-auth:grant-type:claim",
        "the grant type of `login --email`; its vendor part is the service's own",
    )
    webhook_secret: Secrets = _setting(
        "", "secrets that webhooks made elsewhere sign with, separated by commas; a secret"
    )
    hidden_rows: Literal["skip", "read"] | None = _setting(
        None, "rows that are hidden in a workbook: skip or read; default the run asks you first"
    )
    second_process: Literal["auto", "yes", "no"] = _setting(
        "auto", "check videos in other processes: yes, no, or auto (if there are many)"
    )
    second_process_timeout: Lease = _setting(
        "60s",
        "how long a process may take for a video, plus a second for each MB; the video then has "
        "one more try, in another",
    )
    private_sheets: Truth = _setting(
        "no", "yes to let the board fetch sheets from this machine and private networks"
    )
    inbox: str | None = _setting(None, "folder whose sheets the board offers")
    sandbox: Truth = _setting(
        "no", "yes if the service is a sandbox, whose videos and credits are not real"
    )
    nights: str | None = _setting(
        None, "the file that lists inboxes of sheets; default nights.toml or configs/nights.toml"
    )
    prefect_pool: Pool | None = _setting(
        None,
        "the work pool of Prefect for flow runs; default callsheet, and on a server that "
        "`callsheet up` does not run itself callsheet-PROFILE or callsheet-FOLDER",
    )
    prefect_events: Truth = _setting("no", "yes to have the receiver send every webhook to Prefect")
    prefect_cancel: Literal["unbegun", "all"] = _setting(
        "unbegun",
        "what to cancel with a flow run: unbegun (rows not started), or all (rows not made)",
    )
    board_url: Url | None = _setting(
        None, "where people open the board, for links on Prefect's pages and in messages"
    )
    docs_url: Url | None = _setting(
        None, "where you put the site of these docs (`make docs`), for Help on the board"
    )
    webhook_vendor: Vendor = _setting(
        "Service", "vendor part of the webhook headers' names, X-Service-Signature"
    )
    log: Literal["text", "json"] = _setting(
        "text", "form of the log on stderr: text for people, json for programs"
    )
    log_level: Literal["debug", "info", "warning", "error"] | None = _setting(
        None,
        "lowest level to log: debug, info, warning, error; default warning, with json info",
    )
    metrics: str | None = _setting(
        None, "host:port where `callsheet receive` answers Prometheus (/metrics); default nowhere"
    )
    metrics_open: Truth = _setting(
        "no", "yes to have the board answer Prometheus (/metrics) without a token"
    )
    metrics_file: str | None = _setting(
        None, "file to write metrics to at the end of every run and nightly run, such as x.prom"
    )
    #: Whether OpenTelemetry's own variables ask for traces.
    traces: bool = False
    #: What `callsheet login` kept for the profile, and the login of these that is in force.
    kept_logins: Register | None = Field(None, repr=False)
    login: Login | None = None
    #: Where `api_key` came from: CALLSHEET_API_KEY, CALLSHEET_API_KEY_FILE or a profile's name.
    key_source: str | None = None
    #: Whether someone named the ledger; else it is where the home is.
    ledger_is_named: bool = False
    #: What is not wrong, and still not as it should be: sentences for people.
    remarks: tuple[str, ...] = ()
    #: Of the settings that may be set on the board: those that environment or profile set, and
    #: those that the board sets or has set; None before the ledger was asked
    #: (`ledger.board_settings`).
    set_elsewhere: Mapping[str, Found] = Field({}, repr=False)
    set_on_board: frozenset[str] | None = None
    #: Where this user's runs are noted, a sheet each; None where nothing is to be noted.
    notes: Path | None = None

    @property
    def polls_at_once(self) -> int:
        """How many requests that are free are under way at once: polls, and estimates."""
        # One is one after the other, also of these.
        return 2 * self.at_once if self.at_once > 1 else 1

    @property
    def spool(self) -> Path:
        """The folder where downloads land before they are verified."""
        return self.home / "spool"

    @property
    def webhook_secrets(self) -> Path:
        """The folder where the secrets of webhooks are kept."""
        return self.home / "webhooks"

    @property
    def uploads(self) -> Path:
        """The folder where sheets are kept that were uploaded on the board."""
        return self.home / "board" / "sheets"

    def service(self) -> tuple[str, str]:
        """Return the service's address and key; raise ConfigurationError when one is missing."""
        if not self.base_url:
            if self.kept_logins and self.kept_logins.trouble:
                raise self.kept_logins.trouble
            raise ConfigurationError(
                "no video service is configured; nothing was spent",
                remedy="with a service: `callsheet init`, or set CALLSHEET_BASE_URL, then "
                "`callsheet login` or set CALLSHEET_API_KEY; to try it at no cost: "
                "`callsheet run SHEET --sandbox`",
            )
        return self.base_url, self.key()

    def key(self) -> str:
        """Return the key in force; raise ConfigurationError when there is none.

        Asks the keyring, should the login be kept there: call it where the key is needed.
        """
        if self.api_key:
            return self.api_key.get_secret_value()
        if self.login:
            return self._kept_key
        if self.kept_logins and self.kept_logins.trouble:
            raise self.kept_logins.trouble
        others = ", ".join(self.kept_logins.logins) if self.kept_logins else ""
        raise ConfigurationError(
            "no key for the video service is configured; nothing was spent"
            + (f" (`callsheet login` kept one for {others})" if others else ""),
            remedy="`callsheet run SHEET --sandbox` tries a sheet without a key; for a key, set "
            "CALLSHEET_API_KEY (or CALLSHEET_API_KEY_FILE), or type `callsheet login`",
        )

    @cached_property
    def _kept_key(self) -> str:
        """What the keyring or the file has: a keyring may take seconds, and is asked once."""
        from callsheet.tasks.credentials import key_of

        assert self.login is not None
        return key_of(self.login)


#: Every setting: its default, and what it is.
KNOWN: dict[str, tuple[str | None, str]] = {
    name: (None if field.default_factory else field.default or None, field.description)
    for name, field in Settings.model_fields.items()
    if field.description
}
#: What an admin may set on the board where nothing else sets it, each with its heading there.
ON_BOARD = {name: field.title for name, field in Settings.model_fields.items() if field.title}
#: What may come from a file as well. The ledger's address has a password in it, as a rule.
SECRETS = ("api_key", "webhook_secret", "ledger")
