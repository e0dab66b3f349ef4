"""The forms for issues are ones that a repository's pages can show."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.launcher import ROOT

pytestmark = pytest.mark.merge

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
PAGES = ("SECURITY.md", "CODE_OF_CONDUCT.md", ".github/pull_request_template.md")


def test_every_form_is_right_by_its_schema() -> None:
    assert len(FORMS) == 4
    (config,) = [form for form in FORMS if form.stem == "config"]
    for kind, forms in (("config", [config]), ("forms", [one for one in FORMS if one != config])):
        words = ("--builtin-schema", f"vendor.github-issue-{kind}", *map(str, forms))
        subprocess.run([sys.executable, "-m", "check_jsonschema", "--quiet", *words], check=True)


@pytest.mark.parametrize("page", PAGES)
def test_every_file_that_is_named_is_there(page: str) -> None:
    named = re.findall(
        r"\]\(([^)#]+)|(?<![\w(/])((?:docs|tests)/[\w./-]+|\.ci/run)", (ROOT / page).read_text()
    )
    assert [one for found in named for one in found if one and not (ROOT / one).exists()] == []
