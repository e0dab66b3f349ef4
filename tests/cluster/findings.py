"""What a cluster was put through and what was found of it: lines of one table, and violations."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """One line: when (seconds from the start), what was done or looked at, what was found."""

    at: float
    scene: str
    what: str
    found: str
    holds: bool | None


@dataclass
class Findings:
    """All lines of a table; a violation is printed at once, so that nobody waits for it."""

    lines: list[Finding] = field(default_factory=list)
    scene: str = ""
    _began: float = field(default_factory=time.monotonic)

    def did(self, what: str, found: str = "") -> None:
        """Note what was done, or what nothing was asked for."""
        self._add(what, found, None)

    def must(self, what: str, holds: bool, found: object = "") -> None:
        """Note what has to hold."""
        self._add(what, str(found), holds)

    @property
    def violations(self) -> list[Finding]:
        """What did not hold."""
        return [line for line in self.lines if line.holds is False]

    def table(self) -> str:
        """Return all of it for a terminal."""
        marks = {None: "", True: "yes", False: "NO"}
        head = ("seconds", "what", "found", "holds")
        cells = [head]
        scene = ""
        for line in self.lines:
            if line.scene != scene:
                scene = line.scene
                cells.append(("", scene.upper(), "", ""))
            cells.append((f"{line.at:.0f}", line.what, line.found, marks[line.holds]))
        widths = [max(len(one[n]) for one in cells) for n in range(2)]
        return "\n".join(
            f"{at:>{widths[0]}}  {what:<{widths[1]}}  {holds:<5}  {found}".rstrip()
            for at, what, found, holds in cells
        )

    def _add(self, what: str, found: str, holds: bool | None) -> None:
        line = Finding(time.monotonic() - self._began, self.scene, what, found, holds)
        self.lines.append(line)
        said = "" if holds is not False else "VIOLATION: "
        print(f"{line.at:6.0f} s  {said}{what}: {found}", file=sys.stderr, flush=True)
