"""What a failed call means to the person who typed it: every kind of failure has its status."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from callsheet.deployments.direct.session import ending
from callsheet.tasks.runtime import errors

NOW = 1_000_000.0
LATER = datetime.fromtimestamp(NOW + 3600, UTC)


def unsendable() -> errors.NotSent:
    """A request that can never leave, whenever it is tried."""
    error = errors.NotSent("no such protocol", operation="get")
    error.permanent = True
    return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (errors.BadRequest("no", operation="create", status=400), 2),
        (errors.NotFound("no", operation="get", status=404), 2),
        (errors.OtherRefusal("teapot", operation="get", status=418), 2),
        (unsendable(), 2),
        (errors.StoreError("another file has the name", permanent=True, conflict=True), 2),
        (errors.OutcomeUnknown("lost", operation="create"), 3),
        (errors.OutcomeUnknown("lost", operation="edit"), 3),
        (errors.NotSent("nobody answers", operation="get"), 5),
        (errors.RateLimited("slowly", operation="create", status=429, retry_at=LATER), 5),
        (errors.ServerTrouble("broken", operation="get", status=503), 5),
        (errors.ShapeError("odd", operation="download", status=200), 5),
        (errors.VideoError("it is cut"), 5),
        (errors.StoreError("the disk is full"), 5),
    ],
    ids=lambda value: f"{value}" if isinstance(value, int) else type(value).__name__,
)
def test_every_failure_has_its_exit_status(error: errors.CallsheetError, status: int) -> None:
    meant = ending(error, NOW)

    assert meant.exit_status == status
    assert str(error) in str(meant)
    if isinstance(meant, errors.Parked):
        assert meant.until.timestamp() > NOW
        assert not isinstance(error, errors.RateLimited) or meant.until == LATER


def test_an_unknown_outcome_is_said_once() -> None:
    words = "cancel: refused; an earlier attempt went unanswered and may have been processed"

    meant = ending(errors.OutcomeUnknown(words, operation="cancel"), NOW)

    assert str(meant) == words
    assert "nothing was spent" not in str(meant)
