"""The addresses of people: secrets, read where they are kept and never shown whole.

An address is one of Apprise's (`mailto://...`, `slack://...`), or says where it is kept: `env:NAME`
is a variable, `file:PATH` a file. Sends nothing.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from callsheet.tasks.errors import ConfigurationError
from callsheet.tasks.redact import register_secret

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
