"""What the package offers, and what importing it may cost."""

from __future__ import annotations

import subprocess
import sys

import tasks.service


def test_the_list_of_public_names_is_sorted_and_whole():
    names = tasks.service.__all__
    assert names == sorted(names, key=lambda name: (not name.isupper(), name[0].islower(), name))
    assert all(hasattr(tasks.service, name) for name in names)


def test_importing_it_does_not_import_what_only_a_call_needs():
    heavy = ["aiohttp", "prefect", "pydantic", "sqlalchemy", "boto3", "pandas"]
    code = f"import sys, tasks.service; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
