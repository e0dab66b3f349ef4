"""A night without Prefect: the lines that people paste, for schedules of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from callsheet.deployments.nights.schedules import (
    Job,
    calendar_events,
    crontab_lines,
    systemd_line,
    systemd_units,
    windows_line,
)


def job(cron: str = "0 2 * * *", timezone: str | None = "Europe/Berlin", **given: object) -> Job:
    said = {
        "name": "callsheet-nightly-spring",
        "words": ("/srv/venv/bin/callsheet", "nightly", "spring"),
        "folder": Path("/srv/videos"),
        "log": Path("/srv/videos/.callsheet/callsheet-nightly-spring.log"),
        "about": "The sheets of spring become videos",
        **given,
    }
    return Job(cron=cron, timezone=timezone, **said)  # type: ignore[arg-type]


#: A schedule, systemd's words for it, and those of Windows' tasks (None: it has none).
SCHEDULES = [
    ("0 2 * * *", ["*-*-* 02:00:00"], "/SC DAILY /ST 02:00"),
    ("@daily", ["*-*-* 00:00:00"], "/SC DAILY /ST 00:00"),
    ("30 22 * * MON-FRI", ["Mon,Tue,Wed,Thu,Fri *-*-* 22:30:00"],
     "/SC WEEKLY /D MON,TUE,WED,THU,FRI /ST 22:30"),
    ("5 4 * * 7,1", ["Sun,Mon *-*-* 04:05:00"], "/SC WEEKLY /D SUN,MON /ST 04:05"),
    ("0 2 * * */2", ["Sun,Tue,Thu,Sat *-*-* 02:00:00"], "/SC WEEKLY /D SUN,TUE,THU,SAT /ST 02:00"),
    ("*/15 * * * *", ["*-*-* *:00/15:00"], "/SC MINUTE /MO 15"),
    ("* * * * *", ["*-*-* *:*:00"], "/SC MINUTE /MO 1"),
    ("20 * * * *", ["*-*-* *:20:00"], "/SC HOURLY /ST 00:20"),
    ("*/15 8-18 * * *", ["*-*-* 08..18:00/15:00"], None),
    ("0 2,14 * * *", ["*-*-* 02,14:00:00"], None),
    ("0 2 1 * *", ["*-*-01 02:00:00"], None),
    ("0 2 1 JAN,jul *", ["*-01,07-01 02:00:00"], None),
    # Cron means either of them.
    ("0 2 1 * MON", ["*-*-01 02:00:00", "Mon *-*-* 02:00:00"], None),
]  # fmt: skip


@pytest.mark.parametrize(("cron", "events", "windows"), SCHEDULES)
def test_a_schedule_is_said_in_systemds_and_windows_words(
    cron: str, events: list[str], windows: str | None
) -> None:
    assert calendar_events(cron, None) == events
    assert calendar_events(cron, "Europe/Berlin") == [f"{one} Europe/Berlin" for one in events]
    line = windows_line(job(cron))
    assert (line is None) == (windows is None)
    assert windows is None or windows in str(line)


def test_every_line_goes_to_the_folder_first() -> None:
    zone, line = crontab_lines(job())
    assert zone == "CRON_TZ=Europe/Berlin"
    assert line == (
        "0 2 * * * cd /srv/videos && /srv/venv/bin/callsheet nightly spring"
        " >> /srv/videos/.callsheet/callsheet-nightly-spring.log 2>&1"
    )
    service = systemd_units(job())["callsheet-nightly-spring.service"]
    assert "\nWorkingDirectory=/srv/videos\n" in service
    assert '\nExecStart="/srv/venv/bin/callsheet" "nightly" "spring"\n' in service
    timer = systemd_units(job())["callsheet-nightly-spring.timer"]
    assert "\nOnCalendar=*-*-* 02:00:00 Europe/Berlin\n" in timer
    assert "\nPersistent=true\n" in timer
    assert "cd /d /srv/videos && /srv/venv/bin/callsheet nightly spring" in str(windows_line(job()))
    assert "enable --now callsheet-nightly-spring.timer" in systemd_line(job(), Path("/srv/u"))


def test_a_line_brings_the_settings_of_the_shell() -> None:
    given = {"CALLSHEET_STORE": "s3://videos/50% off", "CALLSHEET_HORIZON": "12h"}
    (line,) = crontab_lines(job(timezone=None, settings=given))
    assert "&& CALLSHEET_STORE='s3://videos/50\\% off' CALLSHEET_HORIZON=12h /srv/venv" in line
    service = systemd_units(job(settings=given))["callsheet-nightly-spring.service"]
    assert '\nEnvironment="CALLSHEET_STORE=s3://videos/50%% off"\n' in service
    assert '\\"CALLSHEET_HORIZON=12h\\" && cd /d' in str(windows_line(job(settings=given)))


def test_names_with_spaces_and_percent_signs_stay_what_they_are() -> None:
    odd = job(words=("/srv/my venv/callsheet", "nightly", "10% off"), folder=Path("/srv/my videos"))
    (line,) = crontab_lines(job(timezone=None, words=odd.words, folder=odd.folder))
    assert line.startswith("0 2 * * * cd '/srv/my videos' && '/srv/my venv/callsheet' nightly")
    assert "'10\\% off'" in line
    service = systemd_units(odd)["callsheet-nightly-spring.service"]
    assert '\nExecStart="/srv/my venv/callsheet" "nightly" "10%% off"\n' in service
    assert "\nWorkingDirectory=/srv/my videos\n" in service
    assert '\\"/srv/my venv/callsheet\\" nightly \\"10% off\\"' in str(windows_line(odd))
