"""What an error says was spent: the truth of the ledger, and nothing where that is not known."""

from __future__ import annotations

import errno
import json
from argparse import Namespace
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from callsheet.deployments.cli import _tell
from callsheet.tasks.campaign.lease import count_from_here
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Run, open_run
from callsheet.tasks.runtime.errors import (
    BadInput,
    CallsheetError,
    LedgerDamaged,
    LedgerError,
    NotApproved,
    Parked,
    RunStopped,
    StoreUnusable,
)
from callsheet.tasks.runtime.settings import load_settings
from tests.campaigns import Stage, brief

MIDDLE = [
    LedgerError("the ledger is locked"),
    LedgerError("the ledger cannot be opened; nothing was spent"),
    LedgerDamaged("the ledger is damaged"),
    StoreUnusable("videos cannot be written to /videos"),
    BadInput("odd"),
    NotApproved("the approval was taken back; nothing was spent"),
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EDQUOT, "Quota exceeded"),
    RunStopped("the run stopped: the ledger is locked"),
]


def of_status(status: int) -> CallsheetError:
    """An error with an exit status that says nothing of money."""
    error = CallsheetError("odd")
    error.exit_status = status
    return error


Step = Callable[[Stage], Awaitable[object]]


async def stops(
    address: str, folder: Path, error: BaseException, *steps: Step, pays: bool = True
) -> BaseException:
    """Raise an error in a run after some steps of its row; return what came out."""
    service = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_x"}
    settings = load_settings(environ={**service, "CALLSHEET_LEDGER": address}, folder=folder)
    try:
        async with open_run(RunOptions(sheet="s.csv"), settings) as run:
            await _begin(run, *steps, pays=pays)
            raise error
    except (CallsheetError, OSError) as raised:
        return raised


async def _begin(run: Run, *steps: Step, pays: bool) -> None:
    stage = await Stage.set(run.at.ledger, brief("a"), brief("b", "Other"))
    await stage.delivered("b")
    run.campaign = stage.campaign
    await count_from_here(run, stage.campaign)
    run.pays = pays
    for step in steps:
        await step(stage)


def told(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, object]]:
    """Return what the command line says of an error, for people and for programs."""
    assert isinstance(error, CallsheetError)
    _tell(error, Namespace(json=True, verbose=False, sheet="s.csv"))
    said = capsys.readouterr()
    return said.err, json.loads(said.out)


@pytest.mark.parametrize("error", MIDDLE, ids=repr)
async def test_an_error_after_the_first_intent_says_the_sum(
    made_address: str, tmp_path: Path, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = await stops(made_address, tmp_path, error, lambda stage: stage.submitting("a"))

    words, document = told(stopped, capsys)

    assert isinstance(stopped, RunStopped)
    assert words.count("the run stopped: ") == 1
    assert "nothing was spent" not in words
    assert "this run was charged 0 credits, and 12 credits are reserved" in words
    assert (document["exit"], document["spent"]) == (1, 12)


async def test_what_was_charged_before_this_run_is_not_in_its_sum(
    made_address: str, tmp_path: Path
) -> None:
    error = LedgerError("the ledger is locked")
    stopped = await stops(made_address, tmp_path, error, lambda stage: stage.delivered("a"))
    assert isinstance(stopped, RunStopped)
    assert "charged 12 credits, and 0 credits are reserved" in str(stopped)
    assert stopped.spent == Decimal(12)


@pytest.mark.parametrize("error", MIDDLE[:-1], ids=repr)
@pytest.mark.parametrize("pays", [False, True])
async def test_an_error_before_the_first_intent_stays_what_it_is(
    made_address: str,
    tmp_path: Path,
    error: Exception,
    pays: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = await stops(made_address, tmp_path, error, pays=pays)

    assert found is error
    if isinstance(found, CallsheetError):
        words, document = told(found, capsys)
        assert words.count("nothing was spent") == 1
        assert (document["exit"], document["spent"]) == (found.exit_status, 0)


async def test_an_engine_that_stopped_before_it_paid_says_that_nothing_was_spent(
    made_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = await stops(made_address, tmp_path, MIDDLE[-1])

    words, document = told(stopped, capsys)

    assert "the ledger is locked; nothing was spent" in words
    assert (document["exit"], document["spent"]) == (1, 0)


async def test_where_the_ledger_cannot_be_read_the_error_says_where_the_sum_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "gone.db"

    async def lose(stage: Stage) -> None:
        await stage.submitting("a")
        await stage.ledger.aclose()
        for one in tmp_path.glob("gone.db*"):
            one.unlink()

    stopped = await stops(f"sqlite:///{file}", tmp_path, MIDDLE[0], lose)

    words, document = told(stopped, capsys)

    assert "what it was charged is in the ledger: `callsheet status spring`" in words
    assert "nothing was spent" not in words
    assert (document["exit"], document["spent"]) == (1, None)


async def test_a_run_that_parks_keeps_its_moment(made_address: str, tmp_path: Path) -> None:
    parked = Parked("later", until=datetime(2030, 1, 1, tzinfo=UTC))
    found = await stops(made_address, tmp_path, parked, lambda stage: stage.submitting("a"))
    assert found is parked


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (BadInput("odd"), True),
        (NotApproved("no"), True),
        (of_status(2), False),
        (of_status(4), False),
        (CallsheetError("odd"), False),
        (RunStopped("the run stopped: odd"), False),
    ],
    ids=repr,
)
def test_the_words_follow_from_what_is_known_and_not_from_the_exit_status(
    error: CallsheetError, said: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    words, document = told(error, capsys)
    assert ("nothing was spent" in words) == said
    assert document["spent"] == (0 if said else None)
