"""One real film, as small as a film can be and still be played: a second of picture and sound."""

from __future__ import annotations

import subprocess
from pathlib import Path

import imageio_ffmpeg


def make_film(path: Path) -> Path:
    """Make the film that the stub hands out for every video."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y"]
    command += ["-f", "lavfi", "-i", "testsrc=size=90x160:rate=12:duration=1"]
    command += ["-f", "lavfi", "-i", "sine=frequency=440:duration=1", "-shortest"]
    command += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "32k"]
    command += ["-movflags", "+faststart", str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path
