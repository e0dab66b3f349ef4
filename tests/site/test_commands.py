"""Pages whose commands are typed, in their order, with what they print."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import sandbox
from tests.repository import files_in
from tests.site.pages import steps_of
from tests.site.terminal import Reader

pytestmark = pytest.mark.merge

#: What goes wrong at the service on a page's way.
FAULTS = {"rows-that-need-you": {"on": "render", "do": "fail", "nth": 1}}
#: One request at a time, so that a fault strikes the row that the page names.
IN_ORDER = {"CALLSHEET_AT_ONCE": "1"}
HOW_TO = files_in("docs/how-to", of="*.md")


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_a_page_is_followed_word_for_word(page: Path, tmp_path: Path) -> None:
    with sandbox(tmp_path / "service", "--credits", "1000") as service:
        if page.stem in FAULTS:
            service.plan_fault(**FAULTS[page.stem])
        (tmp_path / "desk").mkdir()
        reader = Reader(tmp_path / "desk", {**service.environ, **IN_ORDER})
        try:
            for step in steps_of(page):
                reader.follow(step)
        finally:
            reader.close()
