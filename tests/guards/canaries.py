"""Secrets that sing when they are seen, and where to listen."""

from __future__ import annotations

import base64
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

#: What is secret -> a value that nothing else looks like.
CANARIES: Mapping[str, str] = {
    "api key": "mav_canaryKey7Q2xW9",
    "access token": "mav_canaryGranted5R8t",
    "claim token": "clm_canaryClaim3H6y",
    "device code": "canaryDeviceCode4J1z",
    "user code": "CNRY-WXYZ",
    "signature": "canarySignature8K5vb2",
    "second signature": "canaryAmzSignature6Lp",
    "webhook secret": "whsec_canaryHook9M4n",
    "S3 secret key": "canaryS3Secret2B7cfQ",
    "S3 session token": "canaryS3Session1D3gh",
    "database password": "canaryDatabase5Fpw",
    "quoted password": "canary/Quoted=8Tz",
}
SIGNED = (
    f"https://videos.example/f.mp4?X-Amz-Signature={CANARIES['second signature']}"
    f"&sig={CANARIES['signature']}"
)


def heard_in(data: bytes, *, but_for: str | None = None) -> list[str]:
    """Return the names of the secrets in some bytes, plain, quoted for addresses or in base64."""
    return [
        name
        for name, value in CANARIES.items()
        if name != but_for and any(shape in data for shape in _shapes(value))
    ]


def heard_under(folder: Path) -> dict[str, list[str]]:
    """Return file by file what is heard in a folder: ledgers, histories, spools, manifests."""
    found = {}
    for path in sorted(folder.rglob("*")):
        # Videos are what the service made; everything else is of our writing.
        if path.is_file() and path.suffix != ".mp4":
            parts = [path.read_bytes(), *_cells(path)]
            heard = sorted({name for part in parts for name in heard_in(part)})
            found[str(path.relative_to(folder))] = heard
    return found


def _shapes(value: str) -> Iterator[bytes]:
    bare = value.partition("_")[2] or value
    yield bare.encode()
    yield quote(bare, safe="").encode()
    yield base64.b64encode(value.encode()).rstrip(b"=")[:-2]


def _cells(path: Path) -> Iterator[bytes]:
    """Yield every value of a SQLite file: one that spans pages is not found among its bytes."""
    with path.open("rb") as file:
        if file.read(15) != b"SQLite format 3":
            return
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
        tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (table,) in tables:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                yield from (c if isinstance(c, bytes) else str(c).encode() for c in row)
