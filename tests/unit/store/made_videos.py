"""Videos made by PyAV as a test wants them: what is seen and heard at every moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

Picture = Callable[[float], NDArray[np.uint8]]
Tone = Callable[[NDArray[np.float64]], NDArray[np.float64]]
RATE, SAMPLES, FRAME = 12, 24_000, 1024


def moving(width: int = 320, height: int = 180) -> Picture:
    """A gradient with a bright square that goes across it."""

    def at(moment: float) -> NDArray[np.uint8]:
        picture = np.zeros((height, width, 3), np.uint8)
        picture[..., 0] = np.linspace(0, 200, width)
        picture[..., 1] = (np.arange(height)[:, None] + 40 * moment) % 200
        x = int(moment * 37) % (width - 40)
        picture[40:80, x : x + 40] = 250
        return picture

    return at


def plain(level: int, width: int = 320, height: int = 180) -> Picture:
    """One colour for ever: 0 is black."""
    return lambda moment: np.full((height, width, 3), level, np.uint8)


def until(end: float, first: Picture, then: Picture) -> Picture:
    """One picture until a moment, and another from there on."""
    return lambda moment: first(moment) if moment < end else then(moment)


def frozen_from(moment: float, picture: Picture) -> Picture:
    """A picture that stands still from a moment on."""
    return lambda now: picture(min(now, moment))


def tone(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.5 * np.sin(2 * np.pi * 440 * times)


def silence(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0 * times


def one_word(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where((times > 2.6) & (times < 2.9), tone(times), 0)


def make_video(
    path: Path,
    picture: Picture,
    sound: Tone | None = tone,
    *,
    seconds: float = 6.0,
    keys_every: float = 100.0,
    codec: str = "libx264",
) -> Path:
    """Make a video with a key frame every so many seconds."""
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as out:
        height, width, _ = picture(0.0).shape
        video = out.add_stream(codec, rate=RATE)
        video.width, video.height, video.pix_fmt = width, height, "yuv420p"
        video.gop_size = int(keys_every * RATE)
        video.options = {"preset": "veryfast", "sc_threshold": "0"}
        audio = out.add_stream("aac", rate=SAMPLES, layout="stereo") if sound else None
        for number in range(int(seconds * RATE)):
            frame = av.VideoFrame.from_ndarray(picture(number / RATE), format="rgb24")
            out.mux(video.encode(frame))
        out.mux(video.encode(None))
        if audio is not None and sound is not None:
            for first in range(0, int(seconds * SAMPLES), FRAME):
                heard = sound(np.arange(first, first + FRAME) / SAMPLES).astype(np.float32)
                both = np.stack([heard, heard])
                block = av.AudioFrame.from_ndarray(both, format="fltp", layout="stereo")
                block.sample_rate, block.pts = SAMPLES, first
                out.mux(audio.encode(block))
            out.mux(audio.encode(None))
    return path
