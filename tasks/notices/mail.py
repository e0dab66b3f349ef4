"""Sends a letter by SMTP: a page with its pictures inside, and the same as text.

Takes an Apprise address of a mail server apart and sends by itself, since a mail that Apprise makes
says as text what is left of the page without its links, and has a new id with every try.
"""

from __future__ import annotations

import hashlib
import logging
import smtplib
import ssl
from datetime import UTC, datetime
from email.headerregistry import Address as Mailbox
from email.message import EmailMessage
from email.utils import format_datetime, parseaddr
from typing import Any

from callsheet.tasks.notices.values import Letter
from callsheet.tasks.redact import redact

log = logging.getLogger("callsheet.notices")
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
