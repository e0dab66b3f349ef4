"""What importing a package may cost: nothing that only a later step needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.programs import ROOT

LARGE = "boto3 botocore httpx aiohttp sqlalchemy pydantic prefect pyarrow"


@pytest.mark.parametrize(
    ("code", "heavy"),
    [
        ("import callsheet.tasks.sheet", f"{LARGE} openpyxl ruamel.yaml asyncio"),
        ("import callsheet.deployments.cli", f"{LARGE} openpyxl ruamel.yaml asyncio"),
        ("import callsheet.tasks.service", "aiohttp prefect pydantic sqlalchemy boto3 pyarrow"),
        (
            "import callsheet.tasks.store; callsheet.tasks.store.open_store('s3://videos')",
            "boto3 botocore av httpx aiohttp pysubs2",
        ),
        # It would be as large as the process that it helps.
        ("import callsheet.tasks.store.inspector_main", f"{LARGE} numpy"),
        (
            "from callsheet.tasks.runtime.settings import load_settings; load_settings(environ={})",
            "keyring callsheet.tasks.credentials",
        ),
    ],
)
def test_what_is_heavy_is_imported_only_when_it_is_needed(code: str, heavy: str) -> None:
    code += f"\nimport sys; print([name for name in {heavy.split()} if name in sys.modules])"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
