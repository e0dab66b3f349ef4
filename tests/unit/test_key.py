"""The key of a video: the same on every machine, for ever."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from callsheet.tasks.values.briefs import Brief, frozen_body, idempotency_key

TEAPOT = Brief(
    row="hero-de",
    request={
        "tool": "product-demo",
        "fields": {"product": "Teekanne Größe M"},
        "aspect_ratio": "9:16",
        "duration_seconds": 30,
    },
)
HELLO = Brief(
    row="1", request={"script": {"scenes": [{"text": "Hello\nWorld 😀"}]}, "language": "en"}
)


def key_of(brief: Brief, *, campaign: str = "spring", nth: int = 1) -> str:
    return idempotency_key(
        campaign=campaign, row=brief.row, operation=brief.operation, digest=brief.digest, nth=nth
    )


def test_the_recipe_is_never_changed():
    """Written down once: another value here is a second charge for videos that exist."""
    assert key_of(TEAPOT, campaign="spring-launch") == (
        "cs1_pkqjxghf7shafvmg2bbs5fh64pzdvecz3agbgvfo"
    )
    assert key_of(HELLO, campaign="Sommer 2026 – Ü", nth=3) == (
        "cs1_yx3vxaj4gbea2gmgwbmrn5mlvgnxyxg2f6hz3ric"
    )


def test_another_process_finds_the_same_key():
    code = (
        "from tests.unit.test_key import TEAPOT, key_of\n"
        "print(key_of(TEAPOT))"
    )  # fmt: skip
    command = [sys.executable, "-X", "utf8=0", "-c", code]
    found = subprocess.run(
        command, env={"PYTHONHASHSEED": "7", "LC_ALL": "C"}, capture_output=True, text=True
    )
    assert found.stdout.strip() == key_of(TEAPOT), found.stderr


@given(st.text(), st.text(), st.text(), st.integers(1, 10**9))
def test_a_key_is_short_and_plain(campaign, row, digest, nth):
    key = idempotency_key(campaign=campaign, row=row, operation="create", digest=digest, nth=nth)
    assert re.fullmatch(r"[a-z0-9_]{1,64}", key)


def test_everything_that_makes_another_video_makes_another_key():
    same = {"campaign": "spring", "row": "a", "operation": "create", "digest": "d", "nth": 1}
    other = {"campaign": "autumn", "row": "b", "operation": "retake", "digest": "e", "nth": 2}
    keys = {idempotency_key(**{**same, name: value}) for name, value in other.items()}
    assert len(keys | {idempotency_key(**same)}) == 6


def test_names_cannot_run_into_each_other():
    def key(campaign: str, row: str) -> str:
        return idempotency_key(campaign=campaign, row=row, operation="c", digest="d", nth=1)

    assert key("ab", "c") != key("a", "bc")
    assert key('a","b', "c") != key("a", 'b","c')


def test_a_name_saved_on_another_system_is_the_same_name():
    parts = {"row": "a", "operation": "create", "digest": "d", "nth": 1}
    composed, taken_apart = (unicodedata.normalize(form, "Größe") for form in ("NFC", "NFD"))
    assert composed != taken_apart
    assert idempotency_key(campaign=composed, **parts) == idempotency_key(
        campaign=taken_apart, **parts
    )


def test_what_is_sent_is_the_brief_with_its_key():
    body = frozen_body(TEAPOT.request, key="cs1_k")
    assert json.loads(body) == {
        **TEAPOT.request, "start_generation": True, "idempotency_key": "cs1_k",
    }  # fmt: skip
    assert body == frozen_body(dict(reversed(TEAPOT.request.items())), key="cs1_k")
