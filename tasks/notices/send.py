"""Sends letters to addresses, by Apprise or by mail, and says of each what became of it.

A failure is an answer here, never an error: whatever a notice is about has happened already.
"""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from callsheet.tasks.errors import shorten
from callsheet.tasks.notices.addresses import Address
from callsheet.tasks.notices.mail import is_mail, post
from callsheet.tasks.notices.values import Letter
from callsheet.tasks.redact import redact

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
