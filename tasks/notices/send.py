"""Sends emails, chat messages and pings; addresses are secrets.

A failure is an answer, never an error.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import logging
import os
import re
import smtplib
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address as Mailbox
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from callsheet.tasks.nights.inboxes import Inbox
from callsheet.tasks.notices.action_items import Letter
from callsheet.tasks.runtime.errors import CallsheetError, ConfigurationError, shorten
from callsheet.tasks.runtime.redact import redact, register_secret

log = logging.getLogger("callsheet.notices")
#: Time limit for one address, in seconds.
PATIENCE = 60.0
#: Chat messages are cut at this many characters.
CHAT = 1800
#: Apprise gives the reason of a failure only in its log, so one notice at a time reads it.
_listening = threading.Lock()


async def send(address: Address, letter: Letter, *, key: str, at: float) -> str | None:
    """Send a notice; return the reason if that failed, else None. Raise nothing.

    `key` identifies this notice: an email that is sent again has the same Message-ID.
    """
    try:
        sending = asyncio.to_thread(_send, address, letter, key, at)
        failed = await asyncio.wait_for(sending, PATIENCE)
    except TimeoutError:
        failed = f"no answer within {PATIENCE:.0f} s"
    except Exception as error:  # whatever it is, a run does not fail over a message
        failed = f"{type(error).__name__}: {error}"
    if failed is None:
        return None
    told = shorten(redact(failed), 300)
    log.warning("a notice could not be sent to %s: %s", address.shown, told)
    return told


def _send(address: Address, letter: Letter, key: str, at: float) -> str | None:
    with _apprise() as (apprise, said):
        # Without Apprise's own pictures, which every chat would download.
        asset = apprise.AppriseAsset(
            app_id="Callsheet", app_desc="Callsheet", app_url="", image_url_mask="",
            image_url_logo="",
        )  # fmt: skip
        server = apprise.Apprise.instantiate(address.url, asset=asset)
        if server is None or not is_mail(server):
            done = server is not None and _by_apprise(apprise, server, letter)
            told = "; ".join(map(redact, said.getvalue().splitlines()))
            return None if done else told or "it was refused"
    post(server, letter, key=key, at=at)
    return None


@contextmanager
def _apprise() -> Iterator[tuple[Any, io.StringIO]]:
    """Yield Apprise and what it logs, which may have addresses in it: no one else reads that."""
    import apprise

    apprise.logger.propagate = False
    capture: Any = apprise.LogCapture
    with _listening, capture(level=logging.WARNING, fmt="%(message)s") as said:
        yield apprise, said


#: Where an address that is added on the board may lead to, by what Apprise calls it.
SERVICES = {
    "NotifySlack": "Slack",
    "NotifyMSTeams": "Teams",
    "NotifyWorkflows": "Teams",
    "NotifyEmail": "mail",
}


def service_of(url: str) -> str | None:
    """Return whether an address leads to Slack, Teams or mail; None for any other."""
    with _apprise() as (apprise, _):
        server = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    return None if server is None else SERVICES.get(type(server).__name__)


def _by_apprise(apprise: Any, server: Any, letter: Letter) -> bool:
    form = server.notify_format
    # Services for mails take a page, which would be too long for the chats that take HTML.
    is_page = form == apprise.NotifyFormat.HTML and server.title_maxlen > 0
    if is_page and len(letter.bare) <= server.body_maxlen:
        body, given = letter.bare, form
    else:
        is_marked = form == apprise.NotifyFormat.MARKDOWN
        body = chat_text(letter.short, room=min(CHAT, server.body_maxlen), marked=is_marked)
        given = form if is_marked else apprise.NotifyFormat.TEXT
    everybody = apprise.Apprise(asset=server.asset)
    everybody.add(server)
    return bool(everybody.notify(body=body, title=letter.subject, body_format=given))


def chat_text(text: str, *, room: int, marked: bool) -> str:
    """Return lines for a chat, with mentions and markup disabled."""
    cut = text if len(text) <= room else f"{text[: room - 1]}…"
    words = re.split(r"(https?://\S+)", cut)
    return "".join(word if at % 2 else _plain(word, marked=marked) for at, word in enumerate(words))


def _plain(text: str, *, marked: bool) -> str:
    named = text.replace("@", "@\u200b")
    return re.sub(r"([\\*_\[\]<>#~|])", r"\\\1", named) if marked else named


# Sends an email by SMTP: an HTML page with inline pictures, and the same content as text.
#
# Apprise reads the address. It does not compose the email, because its text part has no links and
# every retry gets a new Message-ID.


#: Timeout for an answer of the mail server, in seconds.
TIMEOUT = 30.0


def is_mail(server: Any) -> bool:
    """Return whether Callsheet sends to this Apprise address by SMTP itself."""
    return type(server).__name__ == "NotifyEmail" and server.pgp_mode == "no"


def post(server: Any, letter: Letter, *, key: str, at: float) -> None:
    """Send a notice to every recipient of an address; raise OSError or SMTPException.

    If the server refuses only some recipients, the notice counts as sent.
    """
    refused: list[smtplib.SMTPException] = []
    with _connected(server) as connection:
        for number, (name, to) in enumerate(server.targets):
            message = compose(server, letter, to=(name or "", to), key=key, at=at)
            copies = [] if number else [*server.cc, *server.bcc]
            try:
                connection.send_message(message, server.from_addr[1], [to, *copies])
            except (smtplib.SMTPRecipientsRefused, smtplib.SMTPDataError) as error:
                log.warning("a mail server refused a recipient: %s", redact(str(error)))
                refused.append(error)
    if len(refused) == len(server.targets) and refused:
        raise refused[0]


def compose(
    server: Any, letter: Letter, *, to: tuple[str, str], key: str, at: float
) -> EmailMessage:
    """Return the email to one person; a retry has the same Message-ID."""
    message = EmailMessage()
    message["Subject"] = letter.subject
    message["From"] = _mailbox(server.from_addr[0] or "Callsheet", server.from_addr[1])
    message["To"] = _mailbox(*to)
    if server.cc:
        message["Cc"] = [_mailbox(server.names.get(one) or "", one) for one in sorted(server.cc)]
    if server.reply_to:
        message["Reply-To"] = [_mailbox("", one) for one in sorted(server.reply_to)]
    message["Date"] = format_datetime(datetime.fromtimestamp(at, UTC))
    host = parseaddr(server.from_addr[1])[1].rpartition("@")[2] or "callsheet.invalid"
    mark = hashlib.sha256(f"{key} {to[1]}".encode()).hexdigest()[:32]
    message["Message-ID"] = f"<{mark}@{host}>"
    # Prevents out-of-office replies.
    message["Auto-Submitted"] = "auto-generated"
    for name, value in server.headers.items():
        message[name] = value
    message.set_content(letter.text)
    message.add_alternative(letter.html, subtype="html")
    page = message.get_payload()[1]  # type: ignore[index]
    for name, jpeg in letter.pictures.items():
        page.add_related(  # type: ignore[union-attr]
            jpeg, "image", "jpeg", cid=f"<{name}>", disposition="inline", filename=f"{name}.jpg"
        )
    return message


def _mailbox(name: str, address: str) -> Mailbox:
    return Mailbox(display_name=name, addr_spec=address)


def _connected(server: Any) -> smtplib.SMTP:
    context = ssl.create_default_context()
    if not server.verify_certificate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    mode = str(getattr(server.secure_mode, "value", server.secure_mode))
    connection: smtplib.SMTP
    if mode == "ssl":
        connection = smtplib.SMTP_SSL(
            server.smtp_host, server.port, timeout=TIMEOUT, context=context
        )
    else:
        connection = smtplib.SMTP(server.smtp_host, server.port, timeout=TIMEOUT)
    if mode == "starttls":
        connection.starttls(context=context)
    if server.user and server.password:
        connection.login(server.user, server.password)
    return connection


# Notification addresses. They are secrets and are never shown in full.
#
# An address is an Apprise URL (`mailto://...`, `slack://...`), or names where the URL is stored:
# `env:NAME` is an environment variable, `file:PATH` a file.


_HOW = (
    "write env:NAME or file:PATH, or an address as mailto://user:password@host?to=ann@example.com"
)


@dataclass(frozen=True)
class Address:
    """An address; `shown` is safe to display, `mark` identifies it without revealing it."""

    url: str = field(repr=False)
    shown: str

    @property
    def mark(self) -> str:
        """The same for the same address."""
        return hashlib.sha256(f"callsheet notices {self.url}".encode()).hexdigest()[:32]


def read_address(
    written: str,
    *,
    folder: Path,
    environ: Mapping[str, str] = os.environ,
    is_ping: bool = False,
) -> Address:
    """Return an address from its form in `nights.toml`; paths are relative to `folder`.

    An address to ping has the same forms. Raise ConfigurationError, without the text itself, if it
    is not an address.
    """
    url, kept = _kept(written, folder, environ)
    if not re.match(r"https?://" if is_ping else r"[A-Za-z][A-Za-z0-9+.-]*://", url):
        where = kept or f"one that begins with {written[:4]!r}"
        if is_ping:
            raise ConfigurationError(f"the address to ping in {where} is not https://")
        raise ConfigurationError(f"{where} is not a notification address", remedy=_HOW)
    _keep_secret(url)
    told = str(urlsplit(url).hostname) if is_ping else _shown(url)
    return Address(url, f"{told} ({kept})" if kept else told)


def _kept(written: str, folder: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return the address itself and where it was stored."""
    source, _, name = written.partition(":")
    if source == "env":
        if not environ.get(name, "").strip():
            raise ConfigurationError(f"{name} is not set; it should have a notification address")
        return environ[name].strip(), f"variable {name}"
    if source == "file" and not name.startswith("//"):
        path = folder / Path(name).expanduser()
        try:
            return path.read_text(encoding="utf-8").strip(), f"file {name}"
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise ConfigurationError(f"the address in {path} cannot be read: {reason}") from None
    return written.strip(), ""


def _keep_secret(url: str) -> None:
    """Register the address and its credentials, so that every message redacts them."""
    parts = urlsplit(url)
    for secret in (url, parts.password or "", unquote(parts.password or "")):
        register_secret(secret)
    if not parts.scheme.startswith("mailto"):
        # Hosts and paths can be tokens: in a `slack://` address every part is secret.
        for secret in (parts.netloc.rpartition("@")[2], *parts.path.split("/"), parts.query):
            if len(secret) >= 8 and "." not in secret.rpartition(":")[0]:
                register_secret(secret)


def _shown(url: str) -> str:
    """Return the part of an address that is safe to display: service or email recipients."""
    parts = urlsplit(url)
    if not parts.scheme.startswith("mailto"):
        web = parts.scheme in ("json", "jsons", "xml", "xmls", "form", "forms", "http", "https")
        return f"{parts.scheme}://{parts.hostname}/***" if web else f"{parts.scheme}://***"
    told = [value for name, value in parse_qsl(parts.query) if name in ("to", "cc", "bcc")]
    told += [unquote(part) for part in parts.path.split("/") if "@" in unquote(part)]
    if not told and parts.username and parts.hostname:
        told = [
            unquote(parts.username)
            if "%40" in parts.username
            else f"{parts.username}@{parts.hostname}"
        ]
    return f"mail to {', '.join(told)}" if told else "mail"


# Pings a monitoring service (healthchecks, Cronitor, Uptime Kuma) at the start and end of a nightly
# run, so that the service can report a run that never started. A failed ping is not an error.


Moment = Literal["start", "success", "failure"]
#: What is appended to the address for each moment.
SUFFIXES = {"start": "/start", "success": "", "failure": "/fail"}
#: Number of attempts, and the timeout of each in seconds.
TRIES, PING_TIMEOUT = 3, 5.0


async def ping(inbox: Inbox, moment: Moment, words: str = "") -> bool:
    """Ping the inbox's address, if it has one; return whether it answered. Raise nothing.

    An address with `{status}` in it gets `start`, `success` or `failure` there; any other one
    `/start`, nothing, or `/fail` appended. `words` are the body.
    """
    if inbox.ping is None:
        return False
    try:
        address = read_address(inbox.ping, folder=inbox.folder, is_ping=True)
        return await _call(_address(address.url, moment), words)
    except CallsheetError as error:
        log.warning("no ping for %s: %s", inbox.name, error)
    except Exception as error:  # a failed ping does not fail the nightly run
        log.warning("no ping for %s: %s", inbox.name, redact(f"{type(error).__name__}: {error}"))
    return False


def _address(url: str, moment: Moment) -> str:
    if "{status}" in url:
        return url.replace("{status}", moment)
    path, mark, query = url.partition("?")
    return path.rstrip("/") + SUFFIXES[moment] + mark + query


async def _call(url: str, words: str) -> bool:
    import httpx

    async with httpx.AsyncClient(timeout=PING_TIMEOUT, follow_redirects=True) as client:
        for attempt in range(1, TRIES + 1):
            try:
                answer = await client.post(url, content=redact(words)[:10_000].encode())
            except httpx.TransportError as error:
                if attempt == TRIES:
                    log.warning("a ping got no answer: %s", type(error).__name__)
                continue
            if answer.is_success:
                return True
            if answer.status_code < 500:
                log.warning("a ping was answered with %d", answer.status_code)
                return False
    return False
