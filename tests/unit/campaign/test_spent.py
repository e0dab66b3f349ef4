"""What an error says was spent: the truth of the ledger, and nothing where that is not known."""

from __future__ import annotations

import errno
import json
from argparse import Namespace
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from callsheet.deployments.cli import _tell
from callsheet.tasks.campaign.lease import count_from_here
from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import current_run, open_run
from callsheet.tasks.runtime import errors
from callsheet.tasks.runtime.settings import load_settings
from tests.campaigns import Stage, brief

MIDDLE = [
    errors.LedgerError("the ledger is locked"),
    errors.LedgerError("the ledger cannot be opened; nothing was spent"),
    errors.LedgerDamaged("the ledger is damaged"),
    errors.StoreUnusable("videos cannot be written to /videos"),
    errors.BadInput("odd"),
    errors.NotApproved("the approval was taken back; nothing was spent"),
    OSError(errno.ENOSPC, "No space left on device"),
    OSError(errno.EDQUOT, "Quota exceeded"),
    errors.RunStopped("the run stopped: the ledger is locked"),
]


def of_status(status: int) -> errors.CallsheetError:
    """An error with an exit status that says nothing of money."""
    error = errors.CallsheetError("odd")
    error.exit_status = status
    return error


Step = Callable[[Stage], Awaitable[object]]


async def stops(address: str, folder: Path, error: BaseException, *steps: Step) -> BaseException:
    """Raise an error in a run after some steps of its row; return what came out."""
    service = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_x"}
    settings = load_settings(environ={**service, "CALLSHEET_LEDGER": address}, folder=folder)
    try:
        async with open_run(RunOptions(sheet="s.csv"), settings) as run:
            stage = await Stage.set(run.at.ledger, brief("a"), brief("b", "Other"))
            # What was charged before this run is not in its sum.
            await stage.delivered("b")
            run.campaign = stage.campaign
            await count_from_here(run, stage.campaign)
            run.pays = True
            for step in steps:
                await step(stage)
            raise error
    except (errors.CallsheetError, OSError) as raised:
        return raised


def told(error: BaseException, capsys: pytest.CaptureFixture[str]) -> tuple[str, dict[str, object]]:
    """Return what the command line says of an error, for people and for programs."""
    assert isinstance(error, errors.CallsheetError)
    _tell(error, Namespace(json=True, verbose=False, sheet="s.csv"))
    said = capsys.readouterr()
    return said.err, json.loads(said.out)


@pytest.mark.safeguard(
    "tasks/campaign/run.py",
    "if tally is not None and _is_untouched(run, tally):",
    "if tally is not None:",
)
@pytest.mark.parametrize("error", MIDDLE, ids=repr)
async def test_an_error_after_the_first_intent_says_the_sum(made_address, tmp_path, error, capsys):
    stopped = await stops(made_address, tmp_path, error, lambda stage: stage.submitting("a"))

    words, document = told(stopped, capsys)

    assert isinstance(stopped, errors.RunStopped)
    assert words.count("the run stopped: ") == 1
    assert "nothing was spent" not in words
    assert "this run was charged 0 credits, and 12 credits are reserved" in words
    assert (document["exit"], document["spent"]) == (1, 12)


@pytest.mark.parametrize("error", MIDDLE, ids=repr)
async def test_an_error_before_the_first_intent_stays_what_it_is(
    made_address: str, tmp_path: Path, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    found = await stops(made_address, tmp_path, error)

    assert found is error or isinstance(error, errors.RunStopped)
    if isinstance(found, errors.CallsheetError):
        words, document = told(found, capsys)
        assert words.count("nothing was spent") == 1
        assert (document["exit"], document["spent"]) == (found.exit_status, 0)


async def test_a_run_that_parks_keeps_its_moment(made_address: str, tmp_path: Path) -> None:
    parked = errors.Parked("later", until=datetime(2030, 1, 1, tzinfo=UTC))
    found = await stops(made_address, tmp_path, parked, lambda stage: stage.submitting("a"))
    assert found is parked


@pytest.mark.safeguard(
    "deployments/cli.py", "if error.spent == 0 and", "if error.exit_status in (2, 4) and"
)
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (errors.BadInput("odd"), True),
        (errors.NotApproved("no"), True),
        (of_status(2), False),
        (of_status(4), False),
        (errors.CallsheetError("odd"), False),
        (errors.RunStopped("the run stopped: odd"), False),
    ],
    ids=repr,
)
def test_the_words_follow_from_what_is_known_and_not_from_the_exit_status(error, said, capsys):
    words, document = told(error, capsys)
    assert ("nothing was spent" in words) == said
    assert document["spent"] == (0 if said else None)


@pytest.mark.safeguard(
    "tasks/campaign/run.py", "options = options.but(sandbox=settings.sandbox)", "pass"
)
@pytest.mark.parametrize("said", ["yes", "no"])
async def test_which_money_it_is_the_settings_say_alone(tmp_path: Path, said: str) -> None:
    service = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_x"}
    settings = load_settings(environ={**service, "CALLSHEET_SANDBOX": said}, folder=tmp_path)
    options = RunOptions(sheet="s.csv", sandbox=said == "no")

    async with open_run(options, settings) as run:
        assert run.options.sandbox == (said == "yes")


def test_a_step_outside_of_a_run_says_so() -> None:
    with pytest.raises(errors.CallsheetError, match="outside of a run"):
        current_run()
