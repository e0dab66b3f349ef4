"""Which way of logging in fits where we are: a browser here, or a code for a screen elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Way = Literal["browser", "device"]
_SSH = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def fitting_way(environ: Mapping[str, str], *, platform: str, terminal: bool) -> tuple[Way, str]:
    """Return the way, and why it is this one, to be read on after "because".

    `terminal` says whether somebody sits at one; `platform` is `sys.platform`'s word.
    """
    if any(environ.get(name) for name in _SSH):
        return "device", "this is an SSH session, and its browser is on another machine"
    if not terminal:
        return "device", "nobody sits at this terminal"
    shown = environ.get("BROWSER") or any(environ.get(name) for name in _DISPLAYS)
    if platform not in ("darwin", "win32") and not shown:
        return "device", "there is no display to open a browser on"
    return "browser", "there is a display to open a browser on"
