"""What is said of a run while it lasts fits where it is shown, and says what matters first."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from rich.console import Console

from callsheet.deployments.progress import LONGEST, SHORTEST, ProgressView, bar_line, picture
from callsheet.tasks.engine.progress import Snapshot, Speeds, log_line
from callsheet.tasks.values.amounts import CreditPrice

NOW = datetime(2026, 11, 22, 11, 27, 20, tzinfo=UTC)
LARGE = Snapshot(
    campaign="spring",
    rows={"approved": 4985, "rendering": 800, "delivered": 4200, "held": 3, "failed": 12},
    total=10000,
    to_do=10000,
    done=4215,
    charged=Decimal(50400),
    reserved=Decimal(9600),
    budget=Decimal(120000),
    seconds=205.0,
    seconds_left=281.0,
    speeds=Speeds(rows=1240.0, videos=1236.4, bytes=12.34e6),
)
SMALL = Snapshot(
    campaign="one",
    rows={"submitting": 1},
    total=1,
    to_do=1,
    done=0,
    charged=Decimal(0),
    reserved=Decimal(12),
    budget=None,
    seconds=0.4,
    seconds_left=None,
)
WAITING = replace(LARGE, waits_for="the service accepts no requests before 11:32:00 UTC")
OVERNIGHT = replace(LARGE, seconds_left=50000.0, speeds=Speeds(rows=1.25, videos=0.0, bytes=0.0))
PRICED = CreditPrice(Decimal("0.12"), "USD")
DONE = replace(SMALL, rows={"delivered": 1}, done=1, seconds_left=0.0)

PICTURES: list[tuple[Snapshot, int, list[str]]] = [
    (LARGE, 60, [
        "42%  4,215 of 10,000 rows  done 11:32, in 4m 41s",
        "4,985 approved  800 rendering  4,200 delivered  3 held",
        "12 failed  60,000 of 120,000 credits  1,240 rows/min",
        "1,236 videos/min  12 MB/s",
    ]),
    (LARGE, 80, [
        "42%  4,215 of 10,000 rows  done 11:32, in 4m 41s",
        "4,985 approved  800 rendering  4,200 delivered  3 held  12 failed",
        "60,000 of 120,000 credits  1,240 rows/min  1,236 videos/min  12 MB/s",
    ]),
    (WAITING, 140, [
        "42%  4,215 of 10,000 rows  done 11:32, in 4m 41s",
        "4,985 approved  800 rendering  4,200 delivered  3 held  12 failed  "
        "60,000 of 120,000 credits  1,240 rows/min  1,236 videos/min  12 MB/s",
        "the service accepts no requests before 11:32:00 UTC",
    ]),
    (OVERNIGHT, 80, [
        "42%  4,215 of 10,000 rows  done 23 Nov 01:20, in 13h 53m",
        "4,985 approved  800 rendering  4,200 delivered  3 held  12 failed",
        "60,000 of 120,000 credits  1.2 rows/min  0.0 videos/min",
    ]),
    (SMALL, 80, ["0%  0 of 1 row",
                 "1 submitting  12 credits"]),
    (replace(SMALL, credit_price=PRICED), 80, [
        "0%  0 of 1 row", "1 submitting  12 credits (1.44 USD)",
    ]),
    (DONE, 30, ["100%  1 of 1 row", "1 delivered  12 credits"]),
    (WAITING, 16, ["42%", "4,985 approved", "800 rendering", "4,200 delivered",
                   "the service a..."]),
]  # fmt: skip


@pytest.mark.parametrize(("snapshot", "width", "lines"), PICTURES)
def test_the_picture_on_a_terminal(snapshot: Snapshot, width: int, lines: list[str]) -> None:
    found = picture(snapshot, NOW, width=width).plain.splitlines()
    head = found[0].lstrip("━")
    assert [head.strip(), *found[1:]] == lines
    assert max(map(len, found)) <= width
    assert len(found[0]) - len(head) in (0, *range(SHORTEST, LONGEST + 1))


LINES = [
    (LARGE, "4,215 of 10,000 rows; 4,985 approved, 800 rendering, 4,200 delivered, 3 held, "
            "12 failed; 60,000 of 120,000 credits reserved or charged; 1,240 rows/min; "
            "1,236 videos/min; 12 MB/s; done 11:32, in 4m 41s; after 3m 25s"),
    (SMALL, "0 of 1 row; 1 submitting; 12 credits reserved or charged; after 0s"),
    (replace(SMALL, budget=Decimal(100), credit_price=PRICED),
     "0 of 1 row; 1 submitting; 12 of 100 credits (1.44 of 12.00 USD) reserved or charged; "
     "after 0s"),
    (replace(SMALL, waits_for="the service has not answered since 08:00:00 UTC"),
     "0 of 1 row; 1 submitting; 12 credits reserved or charged; after 0s; "
     "the service has not answered since 08:00:00 UTC"),
]  # fmt: skip


@pytest.mark.parametrize(("snapshot", "line"), LINES)
def test_the_line_in_a_log(snapshot: Snapshot, line: str) -> None:
    assert log_line(snapshot, NOW) == line


def test_a_terminal_without_such_letters_has_a_bar_as_well() -> None:
    assert bar_line(1, 4, ["words"], width=24, ascii_only=True).plain == "###---------- 25%  words"


class Shown:
    """A view, the clock it goes by, and what it has printed."""

    def __init__(self, *, terminal: bool) -> None:
        self.now = 1000.0
        self._file = io.StringIO()
        console = Console(file=self._file, force_terminal=terminal, width=80, soft_wrap=True)
        self.view = ProgressView(
            console, clock=lambda: self.now, now=lambda: NOW + timedelta(seconds=self.now - 1000.0)
        )

    @property
    def lines(self) -> list[str]:
        return self._file.getvalue().splitlines()


def test_a_log_is_not_flooded_by_a_long_run() -> None:
    shown = Shown(terminal=False)
    for tick in range(2 * 3600):
        seconds = tick / 2
        shown.now = 1000.0 + seconds
        shown.view.on_snapshot(replace(LARGE, done=tick, to_do=7199, seconds=seconds))
    assert len(shown.lines) < 80
    assert shown.lines[-1].startswith("7,199 of 7,199 rows")


def test_what_is_waited_for_is_said_soon_and_what_is_the_same_seldom() -> None:
    shown = Shown(terminal=False)
    for tick in range(60):
        shown.now = 1000.0 + tick
        waits = "the service accepts no requests before 08:00:00 UTC" if tick > 10 else None
        shown.view.on_snapshot(replace(SMALL, seconds=float(tick), waits_for=waits))
    assert [line.rpartition("; ")[2] for line in shown.lines] == [
        "after 0s", *["the service accepts no requests before 08:00:00 UTC"] * 4,
    ]  # fmt: skip


def test_quotes_are_told_of_where_they_take_a_while() -> None:
    for terminal, pause, said in ((False, 5.0, 2), (True, 0.01, 0)):
        shown = Shown(terminal=terminal)
        for done in range(1, 11):
            shown.now += pause
            shown.view.quoting(done * 1000, 10000)
        assert len(shown.lines) == said
    shown = Shown(terminal=False)
    for done in (1000, 4200):
        shown.view.quoting(done, 10000)
        shown.now += 20
    assert shown.lines == ["quoting 4,200 of 10,000"]


def test_a_terminal_is_left_as_it_was() -> None:
    shown = Shown(terminal=True)
    with shown.view as view:
        view.quoting(1, 10000)
        shown.now += 1
        view.quoting(4200, 10000)
        view.quoting(10000, 10000)
        view.on_snapshot(LARGE)
    printed = "".join(shown.lines)
    assert "quoting 4,200 of 10,000" in printed
    assert "4,215 of 10,000 rows" in printed
    # The cursor is shown again.
    assert printed.rindex("\x1b[?25h") > printed.rindex("\x1b[?25l")
