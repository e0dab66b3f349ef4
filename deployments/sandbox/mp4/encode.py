"""Owns ffmpeg: pictures and sound in, an MP4 that plays everywhere and starts at once out.

The sound is a soft chord, and over it a plucked figure that stands in for the voice. The seed of
the video chooses the key; the voice chooses the pitch and pace of the figure.
"""

from __future__ import annotations

import contextlib
import subprocess
import zlib

import imageio_ffmpeg

from callsheet.deployments.sandbox.mp4.frames import frame_numbers, frames
from callsheet.deployments.sandbox.mp4.video_plan import VideoPlan

# Nothing in it is above 1 kHz, and every sample costs time.
RATE = 24_000
SCALE = (0, 2, 4, 7, 9)
FIGURES = ((0, 2, 3, 4), (0, 3, 2, 4), (4, 3, 2, 0), (0, 2, 4, 3), (2, 0, 3, 4))


def encode(plan: VideoPlan, output: str) -> None:
    """Make the video and leave it in the file `output`."""
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


def _command(plan: VideoPlan, output: str) -> list[str]:
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


def _picture_codec(plan: VideoPlan) -> list[str]:
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


def sound(seed: int, duration: int, *, voice: str | None = None) -> str:
    """Write the ffmpeg source of one video's sound, `duration` seconds long."""
    tone = zlib.crc32(voice.encode()) if voice else 0
    figure_seed = seed + tone
    # Within the octave above: any two voices differ, most of them by more than a semitone.
    lifted = 2 ** (1 + tone / 2**32)
    root = 130.81 * 2 ** ((seed * 5 % 12) / 12)
    chord = "+".join(
        f"{loud}*sin({_turn(root * 2 ** (step / 12))}*t)"
        for step, loud in ((0, 0.30), (7, 0.20), (16 if seed % 2 else 15, 0.14))
    )
    swell = "(0.75+0.25*sin(0.9*t))"
    beat = round(0.4 + 0.05 * (figure_seed % 4), 2)
    # Every note begins at phase zero and dies away, so that nothing clicks.
    steps = FIGURES[figure_seed % len(FIGURES)]
    notes = [_turn(lifted * root * 2 ** (SCALE[note] / 12)) for note in steps]
    pitch = f"if(lt(mod(t,{2 * beat:g}),{beat}),{{}},{{}})"
    early, late = pitch.format(notes[0], notes[1]), pitch.format(notes[2], notes[3])
    figure = f"if(lt(mod(t,{4 * beat:g}),{2 * beat:g}),{early},{late})"
    pluck = f"exp(-5*mod(t,{beat}))*sin(mod(t,{beat})*{figure})"
    wave = f"0.30*{swell}*({chord})+0.16*{pluck}"
    fades = f"afade=t=in:d=0.4,afade=t=out:st={max(0.0, duration - 0.8)}:d=0.8"
    return f"aevalsrc=exprs='{wave}':s={RATE}:d={duration},{fades}"


def _turn(frequency: float) -> str:
    return f"{6.283185307 * frequency:.4f}"
