"""Owns ffmpeg: pictures and sound in, an MP4 that plays everywhere and starts at once out."""

from __future__ import annotations

import contextlib
import subprocess

import imageio_ffmpeg

from deployments.sandbox.film.frames import frames
from deployments.sandbox.film.plan import FilmPlan
from deployments.sandbox.film.sound import sound


def encode(plan: FilmPlan, output: str) -> None:
    """Make the film and leave it in the file `output`."""
    ffmpeg = subprocess.Popen(_command(plan, output), stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    assert ffmpeg.stdin is not None
    # An encoder that gives up closes the pipe; its exit status tells, not the broken pipe.
    with contextlib.suppress(BrokenPipeError):
        for picture in frames(plan):
            ffmpeg.stdin.write(picture)
    _, complaint = ffmpeg.communicate()
    if ffmpeg.returncode:
        last = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["no word"]
        msg = f"ffmpeg stopped with status {ffmpeg.returncode}: {last[0]}"
        raise RuntimeError(msg)


def _command(plan: FilmPlan, output: str) -> list[str]:
    width, height = plan.size
    return [
        imageio_ffmpeg.get_ffmpeg_exe(), "-hide_banner", "-loglevel", "error", "-nostdin", "-y",
        "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}",
        "-r", str(plan.frames_per_second), "-i", "pipe:0",
        "-f", "lavfi", "-i", sound(plan.seed, plan.duration),
        "-c:v", "libx264", "-preset", "superfast", "-crf", "23", "-pix_fmt", "yuv420p",
        "-threads", "1", "-c:a", "aac", "-b:a", "96k", "-ac", "2",
        "-t", str(plan.duration), "-metadata", f"comment={plan.id}",
        "-movflags", "+faststart", "-f", "mp4", output,
    ]  # fmt: skip
