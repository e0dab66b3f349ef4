"""What a failed call means to the person who typed it: every kind of failure has its status."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from callsheet.deployments.direct.session import ending
from callsheet.tasks.runtime.errors import (
    BadRequest,
    CallsheetError,
    NotFound,
    NotSent,
    OtherRefusal,
    OutcomeUnknown,
    Parked,
    RateLimited,
    ServerTrouble,
    ShapeError,
    StoreError,
    VideoError,
)

NOW = 1_000_000.0
LATER = datetime.fromtimestamp(NOW + 3600, UTC)


def unsendable() -> NotSent:
    """A request that can never leave, whenever it is tried."""
    error = NotSent("no such protocol", operation="get")
    error.permanent = True
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (BadRequest("no", operation="create", status=400), 2),
        (NotFound("no", operation="get", status=404), 2),
        (OtherRefusal("teapot", operation="get", status=418), 2),
        (unsendable(), 2),
        (StoreError("another file has the name", permanent=True, conflict=True), 2),
        (OutcomeUnknown("lost", operation="create"), 3),
        (OutcomeUnknown("lost", operation="edit"), 3),
        (NotSent("nobody answers", operation="get"), 5),
        (RateLimited("slowly", operation="create", status=429, retry_at=LATER), 5),
        (ServerTrouble("broken", operation="get", status=503), 5),
        (ShapeError("odd", operation="download", status=200), 5),
        (VideoError("it is cut"), 5),
        (StoreError("the disk is full"), 5),
    ],
    ids=lambda value: f"{value}" if isinstance(value, int) else type(value).__name__,
)
def test_every_failure_has_its_exit_status(error: CallsheetError, status: int) -> None:
    meant = ending(error, NOW)

    assert meant.exit_status == status
    assert str(error) in str(meant)
    if isinstance(meant, Parked):
        assert meant.until.timestamp() > NOW
        assert not isinstance(error, RateLimited) or meant.until == LATER


def test_an_unknown_outcome_is_said_once() -> None:
    words = "cancel: refused; an earlier attempt went unanswered and may have been processed"

    meant = ending(OutcomeUnknown(words, operation="cancel"), NOW)

    assert str(meant) == words
    assert "nothing was spent" not in str(meant)
