"""What a video is checked for before anybody looks at it; `tasks.store.checks` says how."""

from __future__ import annotations

from typing import Literal, get_args

Check = Literal["black", "frozen", "silence", "clipping", "length", "captions"]
CHECKS: tuple[Check, ...] = get_args(Check)
OK = "ok"
