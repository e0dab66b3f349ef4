"""The tables of endpoints of the service's specification (section 4): scopes and statuses.

The text itself is not here.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Endpoint:
    """One line of the tables. `scope` is None where no token is asked for."""

    method: str
    path: str
    scope: str | None
    statuses: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _line(line: str, scope: str | None, *statuses: int) -> Endpoint:
    return Endpoint(*line.split(" "), scope, statuses)


ENDPOINTS = (
    _line("GET /videos", "read", 200),
    _line("POST /videos", "write", 202, 400, 402, 403, 429),
    _line("POST /videos/estimate", "read", 200),
    _line("GET /videos/{id}", "read", 200, 404),
    _line("PATCH /videos/{id}", "write", 200, 404),
    _line("DELETE /videos/{id}", "write", 200, 404),
    _line("POST /videos/{id}/generate", "write", 202, 409),
    _line("POST /videos/{id}/cancel", "write", 200, 409),
    _line("GET /videos/{id}/download", "read", 200, 404, 409),
    _line("GET /videos/{id}/renders", "read", 200),
    _line("POST /videos/{id}/renders", "write", 202),
    _line("GET /videos/{id}/renders/progress", "read", 200),
    _line("POST /videos/{id}/scenes/{n}/regenerate", "write", 202),
    _line("GET /videos/{id}/voice", "read", 200),
    _line("POST /videos/{id}/voice", "write", 202),
    _line("GET /videos/{id}/captions", "read", 200, 400),
    _line("POST /videos/{id}/share-link", "write", 200),
    _line("POST /videos/{id}/report", "write", 200),
    _line("POST /videos/image-to-video", "ai", 202, 402),
    _line("POST /videos/talking-avatar", "ai", 202, 402),
    _line("POST /videos/character-swap", "ai", 202, 402),
    _line("GET /templates", "read", 200),
    _line("GET /webhooks", "read", 200),
    _line("POST /webhooks", "write", 201, 400),
    _line("GET /webhooks/{id}", "read", 200),
    _line("PATCH /webhooks/{id}", "write", 200),
    _line("DELETE /webhooks/{id}", "write", 200),
    _line("POST /webhooks/{id}/test", "write", 200),
    _line("GET /webhooks/{id}/deliveries", "read", 200),
    # No status of these two is shown; that they succeed at all is.
    _line("POST /auth/device", None, 200),
    _line("POST /auth/device/token", None, 200),
)

#: Paths that the specification names in passing, without a line of their own.
NAMED_IN_PASSING = frozenset({"/me", "/tools", "/credits", "/characters", "/voices"})
