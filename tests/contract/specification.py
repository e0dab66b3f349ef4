"""The lines of the service's specification, and the tests that show each of them to hold.

`ENDPOINTS` lists the tables of endpoints (section 4): scope, and each status with its tests.
`RULES` lists what the other sections say, in words of our own. The text itself is not here.
"""

from __future__ import annotations

from dataclasses import dataclass

_DIALECTS = "tests/contract/test_client_dialects.py::test_"
_STATES = "tests/contract/test_client_states.py::test_"
_STATUSES = "tests/contract/test_client_statuses.py::test_"
_SCOPES = "tests/contract/test_client_scopes.py::test_"

UNKNOWN = _STATUSES + "404_what_is_not_there"


@dataclass(frozen=True)
class Endpoint:
    """One line of the tables. `scope` is None where no token is asked for."""

    method: str
    path: str
    scope: str | None
    statuses: dict[int, tuple[str, ...]]

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def _line(line: str, scope: str | None, statuses: dict[int, str | tuple[str, ...]]) -> Endpoint:
    method, path = line.split(" ")
    shown = {
        status: (tests,) if isinstance(tests, str) else tests for status, tests in statuses.items()
    }
    return Endpoint(method, path, scope, shown)


_VIDEO = _DIALECTS + "a_video_from_create_to_download"
_REMAKES = _DIALECTS + "remakes_of_a_video"
_EDITING = _DIALECTS + "editing_and_deleting"
_HOOKS = _DIALECTS + "the_life_of_a_subscription"
_CLIPS = {202: _DIALECTS + "clips", 402: _STATUSES + "402_a_clip_without_credits"}
_REST_PAIR = "tests/contract/sandbox/test_auth_device.py::test_the_rest_pair_is_the_same_flow"

ENDPOINTS = (
    _line("GET /videos", "read", {200: _DIALECTS + "the_list_over_its_pages"}),
    _line(
        "POST /videos",
        "write",
        {
            202: (_VIDEO, _DIALECTS + "the_same_key_again"),
            400: _STATUSES + "400_a_brief_or_script_that_is_not_one",
            402: _STATUSES + "402_a_create_without_credits",
            403: _SCOPES + "a_key_opens_what_its_scope_covers_and_nothing_else",
            429: (
                _STATUSES + "429_the_rate_limit_names_its_moment",
                _STATUSES + "429_the_spend_limit_names_its_moment",
            ),
        },
    ),
    _line("POST /videos/estimate", "read", {200: _DIALECTS + "a_quote"}),
    _line("GET /videos/{id}", "read", {200: _VIDEO, 404: UNKNOWN}),
    _line("PATCH /videos/{id}", "write", {200: _EDITING, 404: UNKNOWN}),
    _line("DELETE /videos/{id}", "write", {200: _EDITING, 404: UNKNOWN}),
    _line(
        "POST /videos/{id}/generate",
        "write",
        {
            202: (_REMAKES, _STATES + "a_draft_is_generated_when_it_is_asked_to_be"),
            409: _STATUSES + "409_generating_what_is_generating",
        },
    ),
    _line(
        "POST /videos/{id}/cancel",
        "write",
        {
            200: _DIALECTS + "cancelling",
            409: _STATUSES + "409_cancelling_what_does_not_run",
        },
    ),
    _line(
        "GET /videos/{id}/download",
        "read",
        {
            200: _VIDEO,
            404: UNKNOWN,
            409: _STATUSES + "409_a_video_that_is_not_ready_may_be_asked_for_again",
        },
    ),
    _line("GET /videos/{id}/renders", "read", {200: _REMAKES}),
    _line("POST /videos/{id}/renders", "write", {202: _REMAKES}),
    _line("GET /videos/{id}/renders/progress", "read", {200: _REMAKES}),
    _line("POST /videos/{id}/scenes/{n}/regenerate", "write", {202: _REMAKES}),
    _line("GET /videos/{id}/voice", "read", {200: _REMAKES}),
    _line("POST /videos/{id}/voice", "write", {202: _REMAKES}),
    _line(
        "GET /videos/{id}/captions",
        "read",
        {
            200: _DIALECTS + "captions",
            400: _STATUSES + "400_captions_before_there_is_caption_data",
        },
    ),
    _line("POST /videos/{id}/share-link", "write", {200: _DIALECTS + "a_share_link_needs_no_key"}),
    _line("POST /videos/{id}/report", "write", {200: _STATES + "a_report_changes_nothing"}),
    _line("POST /videos/image-to-video", "ai", dict(_CLIPS)),
    _line("POST /videos/talking-avatar", "ai", dict(_CLIPS)),
    _line("POST /videos/character-swap", "ai", dict(_CLIPS)),
    _line("GET /templates", "read", {200: _DIALECTS + "the_catalogue"}),
    _line("GET /webhooks", "read", {200: _HOOKS}),
    _line(
        "POST /webhooks",
        "write",
        {201: _HOOKS, 400: _STATUSES + "400_a_subscription_with_a_bad_address_or_event"},
    ),
    _line("GET /webhooks/{id}", "read", {200: _HOOKS}),
    _line("PATCH /webhooks/{id}", "write", {200: _HOOKS}),
    _line("DELETE /webhooks/{id}", "write", {200: _HOOKS}),
    _line("POST /webhooks/{id}/test", "write", {200: _HOOKS}),
    _line("GET /webhooks/{id}/deliveries", "read", {200: _HOOKS}),
    # No status of these two is shown; that they succeed at all is.
    _line("POST /auth/device", None, {200: _REST_PAIR}),
    _line("POST /auth/device/token", None, {200: _REST_PAIR}),
)

#: Paths that the specification names in passing, without a line of their own.
NAMED_IN_PASSING = frozenset({"/me", "/tools", "/credits", "/characters", "/voices"})
