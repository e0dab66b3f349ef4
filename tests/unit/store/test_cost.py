"""What importing the store costs those who only want to know about it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_heavy_packages_are_imported_only_when_they_are_needed() -> None:
    code = (
        "import sys, callsheet.tasks.store; callsheet.tasks.store.open_store('s3://videos')\n"
        "print([m for m in ('boto3', 'botocore', 'av', 'httpx', 'aiohttp', 'pysubs2')"
        " if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    assert done.stdout.strip() == "[]"
