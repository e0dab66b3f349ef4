"""A run that is open already is taken up, and what goes wrong in it comes out as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet.tasks.campaign.options import RunOptions
from callsheet.tasks.campaign.run import current_run, open_run
from callsheet.tasks.runtime.errors import CallsheetError
from callsheet.tasks.runtime.settings import load_settings


@pytest.mark.parametrize("said", ["yes", "no"])
async def test_which_money_it_is_the_settings_say_alone(tmp_path: Path, said: str) -> None:
    service = {"CALLSHEET_BASE_URL": "http://127.0.0.1:9/api/v1", "CALLSHEET_API_KEY": "mav_x"}
    settings = load_settings(environ={**service, "CALLSHEET_SANDBOX": said}, folder=tmp_path)
    options = RunOptions(sheet="s.csv", sandbox=said == "no")

    async with open_run(options, settings) as run:
        assert run.options.sandbox == (said == "yes")


def test_a_step_outside_of_a_run_says_so() -> None:
    with pytest.raises(CallsheetError, match="outside of a run"):
        current_run()
