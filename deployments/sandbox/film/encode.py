"""Owns ffmpeg: pictures and sound in, an MP4 that plays everywhere and starts at once out."""

from __future__ import annotations

import contextlib
import subprocess

import imageio_ffmpeg

from deployments.sandbox.film.frames import frame_numbers, frames
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
        "-f", "lavfi", "-i", sound(plan.seed, plan.duration, voice=plan.voice),
        *_picture_codec(plan), "-c:a", "aac", "-b:a", "96k", "-ac", "2",
        "-t", str(plan.duration), "-metadata", f"comment={plan.id} render {plan.render}",
        "-movflags", "+faststart", "-f", "mp4", output,
    ]  # fmt: skip


def _picture_codec(plan: FilmPlan) -> list[str]:
    """Begin every scene with a picture of its own and let the encoder remember nothing over it.

    With a constant quantizer, no look-ahead and no pictures predicted from later ones, the bits
    of a scene follow from its frames alone: a regenerated scene leaves the others as they were.
    """
    rate = plan.frames_per_second
    firsts = [frame_numbers(plan, scene).start for scene in plan.scenes]
    # Half a frame early: rounding must not move a key picture to the frame after.
    keys = ",".join(f"{max(0.0, (first - 0.5) / rate):.4f}" for first in firsts)
    return [
        "-c:v", "libx264", "-preset", "superfast", "-qp", "24", "-pix_fmt", "yuv420p",
        "-bf", "0", "-x264-params", "scenecut=0:rc-lookahead=0:mbtree=0:weightp=0",
        "-force_key_frames", keys, "-forced-idr", "1", "-threads", "1",
    ]  # fmt: skip
