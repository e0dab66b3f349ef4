"""What a run opens: the client it asks with reaches as far as the lanes it was given."""

from __future__ import annotations

import subprocess
import sys

import pytest

from callsheet.tasks.engine.context import fitted
from callsheet.tasks.runtime.settings import load_settings


@pytest.mark.parametrize(
    ("limit", "wanted", "fitting"),
    [(None, 512, 512), (10_000, 512, 512), (1024, 512, 115), (64, 512, 1), (256, None, 8)],
)
def test_no_more_is_under_way_than_files_may_be_open(tmp_path, caplog, limit, wanted, fitting):
    asked = {} if wanted is None else {"CALLSHEET_AT_ONCE": str(wanted)}
    settings = fitted(load_settings(environ=asked, folder=tmp_path), limit)
    assert settings.at_once == fitting
    assert ("`ulimit -n" in caplog.text) is (wanted is not None and fitting < wanted)


def test_the_limit_of_files_is_raised_as_far_as_it_goes():
    code = (
        "from resource import *; setrlimit(RLIMIT_NOFILE, (80, 300))\n"
        "from callsheet.tasks.runtime.process import raise_file_limit\n"
        "print(raise_file_limit(), *getrlimit(RLIMIT_NOFILE))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["300", "300", "300"]
