"""What importing the store costs those who only want to know about it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import tasks.store


def test_heavy_packages_are_imported_only_when_they_are_needed() -> None:
    code = (
        "import sys, tasks.store; tasks.store.open_store('s3://films')\n"
        "print([m for m in ('boto3', 'botocore', 'av', 'httpx', 'aiohttp', 'pysubs2')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    assert done.stdout.strip() == "[]"


def test_what_is_public_is_listed_in_order() -> None:
    assert tasks.store.__all__ == sorted(tasks.store.__all__)
    assert all(hasattr(tasks.store, name) for name in tasks.store.__all__)
