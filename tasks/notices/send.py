"""Sends emails, chat messages and pings; addresses are secrets.

A failure is an answer, never an error.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import smtplib
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
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

# Sends letters to addresses, by Apprise or by mail, and says of each what became of it.
#
# A failure is an answer here, never an error: whatever a notice is about has happened already.


log = logging.getLogger("callsheet.notices")
#: How long, in seconds, sending to one address may take in all.
PATIENCE = 60.0
#: A message of so many characters is read in a chat; longer ones are cut.
CHAT = 1800
#: Apprise says why only in its log: one letter at a time listens to it.
_listening = threading.Lock()


async def send(address: Address, letter: Letter, *, key: str, at: float) -> str | None:
    """Send a letter; return why it could not be, None when it was. Raises nothing.

    `key` is of this letter alone: a mail that is sent once more has the same id.
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
    import apprise

    # Without its own pictures, which everybody's chat would fetch from afar.
    asset = apprise.AppriseAsset(
        app_id="Callsheet", app_desc="Callsheet", app_url="", image_url_mask="", image_url_logo=""
    )
    with _listening, _heard(apprise.logger) as heard:
        server = apprise.Apprise.instantiate(address.url, asset=asset)
        if server is None:
            return heard[0] if heard else "no service that Apprise knows has such an address"
        if not is_mail(server):
            return _by_apprise(apprise, server, letter, heard)
    post(server, letter, key=key, at=at)
    return None


def _by_apprise(apprise: Any, server: Any, letter: Letter, heard: Sequence[str]) -> str | None:
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
    done = everybody.notify(body=body, title=letter.subject, body_format=given)
    return None if done else "; ".join(heard) or "it was refused"


def chat_text(text: str, *, room: int, marked: bool) -> str:
    """Return a few lines as a chat takes them: nobody is called by them, and nothing is marked."""
    cut = text if len(text) <= room else f"{text[: room - 1]}…"
    words = re.split(r"(https?://\S+)", cut)
    return "".join(word if at % 2 else _plain(word, marked=marked) for at, word in enumerate(words))


def _plain(text: str, *, marked: bool) -> str:
    named = text.replace("@", "@\u200b")
    return re.sub(r"([\\*_\[\]<>#~|])", r"\\\1", named) if marked else named


@contextmanager
def _heard(logger: logging.Logger) -> Iterator[list[str]]:
    """Collect what Apprise complains of, instead of having it printed."""
    lines: list[str] = []

    class Complaints(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(redact(record.getMessage()))

    listening, said = Complaints(logging.WARNING), logger.propagate
    logger.addHandler(listening)
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.propagate = said
        logger.removeHandler(listening)


# Sends a letter by SMTP: a page with its pictures inside, and the same as text.
#
# Takes an Apprise address of a mail server apart and sends by itself, since a mail that Apprise
# makes says as text what is left of the page without its links, and has a new id with every try.


#: How long, in seconds, a mail server may take for an answer.
TIMEOUT = 30.0


def is_mail(server: Any) -> bool:
    """Whether an address of Apprise's is a mail server that we speak to ourselves."""
    return type(server).__name__ == "NotifyEmail" and server.pgp_mode == "no"


def post(server: Any, letter: Letter, *, key: str, at: float) -> None:
    """Send a letter to everybody whom an address names; raise OSError or SMTPException.

    Where some of several are refused the others have it, and it is not sent again.
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
    """Return the mail to one person; its id is the same whenever it is sent again."""
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
    # Nobody's holiday is to be told to a program.
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


# The addresses of people: secrets, read where they are kept and never shown whole.
#
# An address is one of Apprise's (`mailto://...`, `slack://...`), or says where it is kept:
# `env:NAME` is a variable, `file:PATH` a file. Sends nothing.


_HOW = (
    "write env:NAME or file:PATH, or an address as mailto://user:password@host?to=ann@example.com"
)


@dataclass(frozen=True)
class Address:
    """An address; `shown` may be told to anybody, `mark` says which it is and nothing of it."""

    url: str = field(repr=False)
    shown: str

    @property
    def mark(self) -> str:
        """The same for the same address."""
        return hashlib.sha256(f"callsheet notices {self.url}".encode()).hexdigest()[:32]


def read_address(written: str, *, folder: Path, environ: Mapping[str, str] = os.environ) -> Address:
    """Return an address as it is written in `nights.toml`; paths are relative to `folder`.

    Raises ConfigurationError, without the address, where there is none.
    """
    url, kept = _kept(written, folder, environ)
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", url):
        where = kept or f"one that begins with {written[:4]!r}"
        raise ConfigurationError(f"the address for notices in {where} is none", remedy=_HOW)
    _keep_secret(url)
    told = _shown(url)
    return Address(url, f"{told} ({kept})" if kept else told)


def read_ping(written: str, *, folder: Path, environ: Mapping[str, str] = os.environ) -> Address:
    """Return the address that is called at start and end, written as addresses are."""
    url, kept = _kept(written, folder, environ)
    if not url.startswith(("https://", "http://")):
        where = kept or f"one that begins with {written[:4]!r}"
        raise ConfigurationError(f"the address to ping in {where} is not https://")
    _keep_secret(url)
    return Address(
        url, f"{urlsplit(url).hostname} ({kept})" if kept else str(urlsplit(url).hostname)
    )


def _kept(written: str, folder: Path, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return what is written, or what is kept where that points to, and where that is."""
    source, _, name = written.partition(":")
    if source == "env":
        if not environ.get(name, "").strip():
            raise ConfigurationError(f"{name} is not set, where an address for notices is kept")
        return environ[name].strip(), f"variable {name}"
    if source == "file" and not name.startswith("//"):
        path = folder / Path(name).expanduser()
        return _in_file(path).strip(), f"file {name}"
    return written.strip(), ""


def _in_file(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigurationError(f"the address in {path} cannot be read: {reason}") from None


def _keep_secret(url: str) -> None:
    """Have the address, and whatever of it may open something, taken out of all that is said."""
    parts = urlsplit(url)
    for secret in (url, parts.password or "", unquote(parts.password or "")):
        register_secret(secret)
    if not parts.scheme.startswith("mailto"):
        # Tokens stand where hosts and paths do: in a `slack://` all of it is secret.
        for secret in (parts.netloc.rpartition("@")[2], *parts.path.split("/"), parts.query):
            if len(secret) >= 8 and "." not in secret.rpartition(":")[0]:
                register_secret(secret)


def _shown(url: str) -> str:
    """Return what may be told of an address: the service, and for mails to whom."""
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


# Calls an address at the start and at the end of a night, for a service that watches over jobs.
#
# Such a service (healthchecks, Cronitor, Uptime Kuma) says what no process can say of itself: that
# it never began. The address is a secret; nothing that goes wrong here is an error.


Moment = Literal["start", "success", "failure"]
#: How a healthchecks-like service is told, after its address.
SUFFIXES = {"start": "/start", "success": "", "failure": "/fail"}
#: How often it is tried, and how long each may take in seconds.
TRIES, PING_TIMEOUT = 3, 5.0


async def ping(inbox: Inbox, moment: Moment, words: str = "") -> bool:
    """Call the inbox's address, if it has one; return whether it answered. Raises nothing.

    An address with `{status}` in it gets `start`, `success` or `failure` there; any other one
    `/start`, nothing, or `/fail` behind it. `words` go along.
    """
    if inbox.ping is None:
        return False
    try:
        address = read_ping(inbox.ping, folder=inbox.folder)
        return await _call(_address(address.url, moment), words)
    except CallsheetError as error:
        log.warning("no ping for %s: %s", inbox.name, error)
    except Exception as error:  # a night does not fail over who watches it
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
                    log.warning("a ping went unheard: %s", type(error).__name__)
                continue
            if answer.is_success:
                return True
            if answer.status_code < 500:
                log.warning("a ping was answered with %d", answer.status_code)
                return False
    return False
