"""Rules of Windows for the modules of Callsheet in a Python on another system.

A process that has this folder on its PYTHONPATH starts with them. Libraries stay as they are: what
they do on Windows is tested by their own projects. Callsheet's modules are told that the system is
Windows, lack the modules and functions that Windows lacks, and their files follow its rules: no
reserved names, no other name for an open file, no folder that is opened like a file, and no text
whose encoding depends on the system.
"""

from __future__ import annotations

import asyncio.unix_events
import builtins
import fcntl
import os
import re
import signal
import socket
import sys
import types
import warnings
from typing import Any

#: Modules that Windows does not have.
ABSENT = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
#: What modules lack there.
LACKING = {
    "os": (
        "O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK ST_RDONLY chown fork getgid getloadavg "
        "getpgid getpgrp getuid killpg mkfifo nice pread pwrite setsid statvfs uname wait3 wait4"
    ),
    "signal": "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGQUIT SIGSTOP SIGUSR1 SIGUSR2 alarm",
    "socket": "AF_UNIX SO_REUSEPORT",
}
#: What is different there.
DIFFERENT: dict[str, dict[str, Any]] = {"os": {"name": "nt"}, "sys": {"platform": "win32"}}
DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)", re.IGNORECASE)


def _kill(pid: int, number: int) -> None:
    # Another number ends the process, and 0 is a Ctrl-C for all of its console.
    assert number == signal.SIGTERM, f"os.kill(pid, {number}) on Windows"
    os.kill(pid, number)


def _unnamable(path: Any) -> str:
    """Return why no file of Windows has this name; empty if one may."""
    for part in os.fsdecode(path).split("/"):
        if re.search(r'[<>:"\\|?*\x00-\x1f]', part) or DEVICE.match(part):
            return part
        if part not in (".", "..") and part != part.rstrip(". "):
            return part
    return ""


def _open(path: Any, flags: int, *more: Any, **named: Any) -> int:
    if os.path.isdir(path):
        raise PermissionError(13, "a folder cannot be opened on Windows", str(path))
    return os.open(path, flags, *more, **named)


def _fsync(file: int) -> None:
    if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(9, "a file that is open to be read cannot be synced on Windows")
    os.fsync(file)


DIFFERENT["os"] |= {"fsync": _fsync, "kill": _kill, "open": _open}


class _Windows(types.ModuleType):
    """A module as Callsheet finds it on Windows."""

    def __init__(self, real: types.ModuleType) -> None:
        super().__init__(real.__name__)
        self.__dict__["_real"] = real

    def __getattr__(self, name: str) -> Any:
        module = self.__name__
        if name in LACKING.get(module, "").split():
            raise AttributeError(f"module {module!r} has no attribute {name!r} on Windows")
        if name in DIFFERENT.get(module, {}):
            return DIFFERENT[module][name]
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, value)


_FOUND = {one.__name__: _Windows(one) for one in (os, signal, socket, sys)}
_import = builtins.__import__


def _import_there(name: str, given: Any = None, *more: Any, **named: Any) -> Any:
    if given is not None and str(given.get("__name__")).startswith("callsheet."):
        if name in ABSENT:
            raise ModuleNotFoundError(f"no module named {name!r} on Windows", name=name)
        if name in _FOUND:
            return _FOUND[name]
    return _import(name, given, *more, **named)


def _not_there(*_: Any, **__: Any) -> Any:
    raise NotImplementedError


def _is_open(path: Any) -> bool:
    try:
        wanted = os.stat(path, follow_symlinks=False)
        for number in os.listdir("/proc/self/fd"):
            try:
                if os.path.samestat(os.fstat(int(number)), wanted):
                    return True
            except OSError:
                continue
    except OSError:
        pass
    return False


def _by_callsheet() -> bool:
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__") in ("pathlib", "os", "shutil"):
        frame = frame.f_back  # type: ignore[assignment]
    return str(frame and frame.f_globals.get("__name__")).startswith("callsheet.")


def _unless_open(change: Any, count: int) -> Any:
    def changed(*paths: Any, **named: Any) -> Any:
        if _by_callsheet():
            for path in paths[:count]:
                if _is_open(path):
                    raise PermissionError(13, "the file is open (WinError 32)", str(path))
        return change(*paths, **named)

    return changed


def _heard(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and str(given[0]).startswith("/proc/") and _by_callsheet():
        raise FileNotFoundError(2, "Windows has no such folder", given[0])
    made: Any = None
    if event == "open" and isinstance(given[2], int) and given[2] & os.O_CREAT:
        made = given[0]
    elif event in ("os.mkdir", "os.link", "os.rename"):
        made = given[0 if event == "os.mkdir" else 1]
    if isinstance(made, (str, bytes)) and (part := _unnamable(made)):
        raise OSError(22, f"no file of Windows is called {part!r}", made)


builtins.__import__ = _import_there
loop = asyncio.unix_events._UnixSelectorEventLoop
for method in ("add_reader", "add_signal_handler", "remove_reader", "remove_signal_handler"):
    setattr(loop, method, _not_there)
for function, paths in (("replace", 2), ("rename", 2), ("unlink", 1), ("remove", 1)):
    setattr(os, function, _unless_open(getattr(os, function), paths))
warnings.filterwarnings("error", category=EncodingWarning, module=r"callsheet\.")
sys.addaudithook(_heard)
