"""Has every Python that a test starts record its lines, while records are kept."""

from __future__ import annotations

from tests.mutants.lines import record_process

record_process()
