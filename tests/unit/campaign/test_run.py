"""A run that is open already is taken up, and what goes wrong in it comes out as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import Door, current_run, open_run
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.settings import load_settings


async def test_a_missing_key_in_an_inner_run_is_not_swallowed(tmp_path: Path) -> None:
    environ = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_x"}
    settings = load_settings(environ=environ, folder=tmp_path)
    options = RunOptions(sheet="s.csv")

    async def fail_inside() -> None:
        async with (
            open_run(options, settings, Door()) as outer,
            open_run(options, settings, Door()) as inner,
        ):
            assert inner is outer
            raise KeyError("fault")

    with pytest.raises(KeyError, match="fault"):
        await fail_inside()


@pytest.mark.parametrize("said", ["yes", "no"])
async def test_which_money_it_is_the_settings_say_alone(tmp_path: Path, said: str) -> None:
    service = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_x"}
    settings = load_settings(environ={**service, "CALLSHEET_SANDBOX": said}, folder=tmp_path)
    options = RunOptions(sheet="s.csv", sandbox=said == "no")

    async with open_run(options, settings, Door()) as run:
        assert run.options.sandbox == (said == "yes")


def test_a_step_outside_of_a_run_says_so() -> None:
    with pytest.raises(CallsheetError, match="outside of a run"):
        current_run()
