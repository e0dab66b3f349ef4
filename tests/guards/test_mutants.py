"""Mutants are small, whole, and the same for a seed; what nobody promises has none."""

from __future__ import annotations

import pytest

from tests.check import nearest
from tests.mutants.draw import draw, mutants_in
from tests.mutants.lines import ROOT


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("a = b < c", {"a = (b <= c)"}),
        ("a = b is None", {"a = (b is not None)"}),
        ("a = b and c or d", {"a = ((b and c) and d)", "a = (b or c) or d"}),
        ("if a:\n    b()", {"if (not (a)):\n    b()", "if a:\n    pass"}),
        ("if not a:\n    raise b", {"if (a):\n    raise b", "if not a:\n    pass"}),
        ("a = 3", {"a = 4"}),
        ("a = True", {"a = False"}),
        ("a = b(c, d)", {"a = b(d, c)"}),
        ("a = 'ü', b < 1", {"a = 'ü', (b <= 1)", "a = 'ü', b < 2"}),
        ("await a(b)", {"pass"}),
        ("a: int = 0", {"a: int = 1"}),
        # What nobody promises.
        ('"""Words."""', set()),
        ("log.info('1', 2)", set()),
        ("crashpoint('here', 3)", set()),
        ("a: Literal[1]", set()),
        ("from a import b", set()),
    ],
)
def test_what_a_slip_of_the_hand_makes_of_a_line(text: str, changed: set[str]) -> None:
    assert {mutant.applied(text) for mutant in mutants_in("tasks/a.py", text)} == changed


def test_a_seed_draws_the_same_of_every_package_and_each_can_be_compiled() -> None:
    paths = ("tasks/ledger/moves.py", "deployments/board/limits.py", "flows/plan.py")
    drawn = draw(20, 7, paths)

    assert drawn == draw(20, 7, paths) != draw(20, 8, paths)
    packages = {mutant.package for mutant in drawn}
    assert packages == {"tasks/ledger", "deployments/board", "flows"}
    for mutant in drawn:
        text = (ROOT / mutant.path).read_text(encoding="utf-8")
        compile(mutant.applied(text), mutant.path, "exec")
        assert mutant.applied(text) != text


@pytest.mark.merge
def test_the_nearest_tests_are_those_that_changed_and_those_that_import_what_changed() -> None:
    found = nearest(["tests/test_words.py", "tasks/campaign/match.py", "README.md"])

    assert found[:2] == ["tests/test_words.py", "tests/unit/campaign/test_match.py"]
    assert all(file.startswith("tests/unit/campaign/") for file in found[4:])
