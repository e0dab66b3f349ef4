"""Inboxes as people list them, and as they call them."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from callsheet.tasks.nights.inboxes import find_inboxes, listed_inboxes, read_nights
from callsheet.tasks.runtime.errors import ConfigurationError
from tests.programs import ROOT

LISTED = """
[nights]
timezone = "Europe/Berlin"
notify = ["env:NIGHT_MAIL"]

[inbox.spring]
place = "sheets"
cron = "0 2 * * *"
approval = "auto"
per_night = 200
per_sheet = 12.5
max_wait = "5h"

[inbox.far]
place = "s3://bucket/sheets/"
timezone = "UTC"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "nights.toml").write_text(LISTED)
    (tmp_path / "sheets").mkdir()
    return tmp_path


def test_what_is_said_for_all_holds_for_each(folder: Path) -> None:
    spring, far = listed_inboxes(folder)
    assert (spring, far) == find_inboxes("nights.toml", folder=folder)
    assert (spring.name, spring.place) == ("spring", str(folder / "sheets"))
    assert (spring.timezone, far.timezone) == ("Europe/Berlin", "UTC")
    assert (spring.per_night, spring.per_sheet, spring.max_wait) == (200, Decimal("12.5"), 18000)
    assert (far.place, far.approval, far.notify) == (
        "s3://bucket/sheets", "plan-only", ("env:NIGHT_MAIL",)
    )  # fmt: skip


def test_one_inbox_has_one_name_however_it_is_called(folder: Path) -> None:
    """Else each name would have a night's credits of its own."""
    called = ["spring", "sheets", "./sheets/", str(folder / "sheets"), "sheets/../sheets"]
    found = [find_inboxes(one, folder=folder) for one in called]
    assert {inbox.name for (inbox,) in found} == {"spring"}
    (far,) = find_inboxes("s3://bucket/sheets", folder=folder)
    assert far.name == "far"


def test_a_folder_that_is_not_listed_spends_nothing_unasked(tmp_path: Path) -> None:
    (inbox,) = find_inboxes(str(tmp_path), folder=tmp_path)
    assert (inbox.name, inbox.approval, inbox.per_night) == (str(tmp_path), "plan-only", None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[inbox.a]\n", "inbox.a has no place"),
        ('[inbox.a]\nplace = "x"\napproval = "auto"\n', "has no limit per night"),
        ('[inbox.a]\nplace = "x"\napproval = "yes"\n', 'inbox.a.approval is "plan-only" or "auto"'),
        ('[inbox.a]\nplace = "x"\nper_nihgt = 1\n', "did you mean per_night"),
        ('[inbox.a]\nplace = "x"\ncanary = "no"\n', "is written true or false"),
        ('[inbox.a]\nplace = "x"\ndigest_at = "25:99"\n', "is not a time"),
        ('[inbox.a]\nplace = "x"\nnotify_of = ["a"]\n', "is a table"),
        ('[inbox.a]\nplace = "x"\n[inbox.b]\nplace = "./x"\n', "has the same place as another"),
        ('[inboxes.a]\nplace = "x"\n', "inboxes is neither"),
        ("[inbox", "cannot be read"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, text: str, words: str) -> None:
    assert read_nights(ROOT / "configs" / "nights.toml")[0].approval == "auto"
    file = tmp_path / "nights.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as refused:
        read_nights(file)
    assert words in str(refused.value)
    assert "nothing was spent" in str(refused.value)
