"""Which way of logging in fits, and why."""

from __future__ import annotations

import pytest

from callsheet.tasks.service.login import fitting_way


@pytest.mark.parametrize(
    ("environ", "platform", "terminal", "way", "why"),
    [
        ({"DISPLAY": ":0"}, "linux", True, "browser", "display"),
        ({"WAYLAND_DISPLAY": "w-0"}, "linux", True, "browser", "display"),
        ({}, "darwin", True, "browser", "display"),
        ({}, "win32", True, "browser", "display"),
        ({}, "linux", True, "device", "no display"),
        ({"DISPLAY": ""}, "linux", True, "device", "no display"),
        ({"DISPLAY": ":0"}, "linux", False, "device", "no terminal"),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a b"}, "linux", True, "device", "SSH"),
        ({"SSH_TTY": "/dev/pts/0"}, "darwin", True, "device", "SSH"),
    ],
)
def test_a_browser_where_there_is_one_else_a_code(environ, platform, terminal, way, why):
    found, because = fitting_way(environ, platform=platform, terminal=terminal)
    assert found == way
    assert why in because
