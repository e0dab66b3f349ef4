"""What delivered files are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.runtime.known_settings import KNOWN
from callsheet.tasks.values.names import DEFAULT_NAMES, name_fault, name_part, object_name, parts_of

ROW = {"campaign": "spring", "row": "ad-1"}


@pytest.mark.parametrize(
    ("name", "take", "kind", "expected"),
    [
        (None, 2, "mp4", "spring/ad-1/ad-1-take2.mp4"),
        (None, 2, "srt", "spring/ad-1/ad-1-take2.srt"),
        ("{campaign}/acme_de_v{take}", 3, "mp4", "spring/acme_de_v3.mp4"),
        ("{campaign}/acme_v{take:2}", 3, "vtt", "spring/acme_v03.vtt"),
        ("{campaign}/acme_v{take:2}", 123, "vtt", "spring/acme_v123.vtt"),
        ("{campaign}/acme", 1, "mp4", "spring/acme.mp4"),
        ("{campaign}/acme", 2, "mp4", "spring/acme-take2.mp4"),
    ],
)
def test_a_file_has_its_rows_name(name: str | None, take: int, kind: str, expected: str) -> None:
    assert object_name(name, **ROW, take=take, kind=kind) == expected


def test_the_setting_and_the_default_agree() -> None:
    assert KNOWN["names"][0] == DEFAULT_NAMES


@pytest.mark.parametrize(
    ("cell", "part"),
    [
        ("9:16", "9x16"),
        ("Acme  Shoes\n", "Acme-Shoes"),
        ("Fru\u0308hling", "Frühling"),
        ("50% off #1", "50--off--1"),
        ("se\u200bcret\u202e", "secret"),
        ("ロゴ", "ロゴ"),
    ],
)
def test_a_cell_becomes_a_part_of_a_name(cell: str, part: str) -> None:
    assert name_part(cell) == part


@pytest.mark.parametrize("cell", ["a/b", "a\\b", "Why?", "a\x00b", "a|b", '"a"', "../..", "C:"])
def test_what_no_name_may_have_is_refused(cell: str) -> None:
    with pytest.raises(ValueError, match="cannot be in the name of a file"):
        name_part(cell)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("spring/acme", None),
        ("spring/.acme", "begins with a dot"),
        ("../acme", "begins with a dot"),
        ("spring/acme.", "ends in a dot"),
        ("spring/ acme", "begins with a blank"),
        ("spring//acme", "a folder without a name"),
        ("/acme", "a folder without a name"),
        ("spring/NUL", "a device"),
        ("com1.x/acme", "a device"),
        ("spring/a*", "has '*'"),
        ("spring/" + "ü" * 91, "longer than 180 bytes"),
        ("/".join(["a" * 100] * 8), "longer than 760 bytes"),
    ],
)
def test_an_illegal_name_is_told_why(name: str, fault: str | None) -> None:
    found = name_fault(name)
    assert found is None if fault is None else fault in (found or "")


@pytest.mark.parametrize(
    "template", ["{row!r}", "{row:>9}", "{row", "a}", "{take:999}", "{take:x}", "{{row}}", "a%20"]
)
def test_wrong_templates_are_refused(template: str) -> None:
    with pytest.raises(ValueError, match=r"brace|form"):
        parts_of(template)


@given(cell=st.text(max_size=300), take=st.integers(1, 9999))
def test_no_cell_makes_a_harmful_name(cell: str, take: int) -> None:
    try:
        part = name_part(cell)
    except ValueError:
        return
    first = object_name(f"{{campaign}}/{part}", **ROW, take=1, kind="mp4")
    if name_fault(first.removesuffix(".mp4")) is not None:
        return
    name = object_name(f"{{campaign}}/{part}", **ROW, take=take, kind="mp4")
    folder, file = name.split("/")
    assert folder == "spring"
    assert not file.startswith((".", " "))
    assert not set(file) & set('\\:*?"<>|\x00\n%')
    assert len(file.encode()) < 200
