"""A night without Prefect: the lines for cron that people paste."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from callsheet.deployments.nights.schedules import crontab_lines


def lines(**given: Any) -> list[str]:
    said = {
        "words": ("/srv/venv/bin/callsheet", "nightly", "spring"),
        "folder": Path("/srv/videos"),
        "log": Path("/srv/videos/.callsheet/callsheet-nightly-spring.log"),
        "settings": {},
        **given,
    }
    return crontab_lines(cron="0 2 * * *", zone="Europe/Berlin", **said)


def test_every_line_goes_to_the_folder_first() -> None:
    zone, line = lines()
    assert zone == "CRON_TZ=Europe/Berlin"
    assert line == (
        "0 2 * * * cd /srv/videos && /srv/venv/bin/callsheet nightly spring"
        " >> /srv/videos/.callsheet/callsheet-nightly-spring.log 2>&1"
    )


def test_a_line_brings_the_settings_of_the_shell() -> None:
    given = {"CALLSHEET_STORE": "s3://videos/50% off", "CALLSHEET_HORIZON": "12h"}
    _, line = lines(settings=given)
    assert "&& CALLSHEET_STORE='s3://videos/50\\% off' CALLSHEET_HORIZON=12h /srv/venv" in line


def test_names_with_spaces_and_percent_signs_stay_what_they_are() -> None:
    words = ("/srv/my venv/callsheet", "nightly", "10% off")
    _, line = lines(words=words, folder=Path("/srv/my videos"))
    assert line.startswith("0 2 * * * cd '/srv/my videos' && '/srv/my venv/callsheet' nightly")
    assert "'10\\% off'" in line
