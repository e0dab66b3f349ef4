"""What importing the package may cost."""

from __future__ import annotations

import subprocess
import sys


def test_importing_it_does_not_import_what_only_a_call_needs():
    heavy = ["aiohttp", "prefect", "pydantic", "sqlalchemy", "boto3", "pyarrow"]
    code = f"import sys, callsheet.tasks.service; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
