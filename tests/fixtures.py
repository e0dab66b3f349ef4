"""Fixtures that a file of tests has for itself, made by a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest

from tests.programs import Sandbox, sandbox


def sandbox_fixture(*options: str, scope: Literal["module", "session"] = "module") -> Any:
    """Return a fixture: one sandbox with these options for all tests of a file, or of a process."""

    @pytest.fixture(scope=scope)
    def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
        with sandbox(tmp_path_factory.mktemp("sandbox"), *options) as one:
            yield one

    return running
