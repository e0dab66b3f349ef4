"""The shape of the package."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["callsheet.tasks.sheet", "callsheet.deployments.cli"])
def test_importing_it_imports_nothing_heavy(module):
    heavy = {"pyarrow", "openpyxl", "boto3", "httpx", "pydantic", "ruamel.yaml", "asyncio"}
    code = f"import sys, {module}; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
