"""Write what the ledger knows of a campaign, for spreadsheets and for programs.

Nothing written holds a secret: of what was asked of the service no address or text of people is
told, and free text goes through the same filter as every log line.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

from sqlalchemy import Connection

from tasks.aftercare.export import analysis, chargeback
from tasks.aftercare.export.formats import WRITE, Format, Lines
from tasks.errors import BadInput
from tasks.ledger import Campaign
from tasks.ledger.extracts import event_lines, made_lines, row_lines, spent_lines, take_lines
from tasks.redact import redact

What = Literal["rows", "takes", "events", "chargeback", "analysis"]

#: The columns of each export, after `campaign`, which begins every line.
COLUMNS: dict[What, tuple[str, ...]] = {
    "rows": (
        "row", "line", "state", "reason", "since", "title", "operation", "captions", "enabled",
        "priority", "tags", "cost_center", "notes", "max_credits", "quoted", "quoted_at", "take",
        "key", "video_id", "reserved", "charged", "paid_before", "variance", "film_take", "film",
        "sha256", "bytes", "seconds", "srt", "vtt", "digest",
    ),
    "takes": (
        "row", "take", "present", "key", "video_id", "cost_center", "quoted", "reserved",
        "charged", "intended_at", "accepted_at", "refused_at", "ready_at", "delivered_at",
        "abandoned_at", "film", "sha256", "bytes", "seconds", "srt", "vtt", "nth", "digest",
    ),
    "events": ("at", "row", "take", "kind", "old", "new", "words"),
    "chargeback": chargeback.COLUMNS,
    "analysis": analysis.COLUMNS,
}  # fmt: skip
_LINES: dict[What, Callable[[Connection, int], Lines]] = {
    "rows": row_lines,
    "takes": take_lines,
    "events": event_lines,
    "chargeback": lambda connection, campaign: chargeback.chargeback(
        spent_lines(connection, campaign)
    ),
    "analysis": lambda connection, campaign: analysis.analysis(made_lines(connection, campaign)),
}
_MOMENTS = ("at", "since")
#: What people and services wrote.
_FREE = ("reason", "words", "title", "notes")


def export(
    connection: Connection, campaign: Campaign, out: IO[bytes], *, what: What, format: Format
) -> int:
    """Write every line to `out` as it is read; return how many there were."""
    columns = ("campaign", *COLUMNS[what])
    lines = _told(campaign.name, columns, _LINES[what](connection, campaign.id))
    return WRITE[format](out, columns, lines)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file that appears under its name once it is whole; raise BadInput where it cannot."""
    unfinished: str | None = None
    try:
        handle, unfinished = tempfile.mkstemp(prefix=".callsheet-export-", dir=path.parent)
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        # A file that others read, unlike one of ours: the user's own mask decides.
        os.chmod(unfinished, 0o666 & ~_umask())
        os.replace(unfinished, path)
        unfinished = None
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from error
    finally:
        if unfinished is not None:
            with suppress(OSError):
                os.unlink(unfinished)


def _told(campaign: str, columns: Iterable[str], lines: Lines) -> Iterator[dict[str, Any]]:
    """Yield lines with the columns in order, moments as such, and no secret."""
    for line in lines:
        named = {"campaign": campaign, **line}
        yield {name: _value(name, named[name]) for name in columns}


def _value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name in _FREE:
        return redact(value)
    if name in _MOMENTS or name.endswith("_at"):
        return datetime.fromtimestamp(value, UTC)
    return value


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
