"""Real videos: one as small as a video can be and still be played, and ones of real size."""

from __future__ import annotations

import subprocess
from pathlib import Path

import imageio_ffmpeg


def make_video(path: Path) -> Path:
    """Make the video that the stub hands out for every video: a second of picture and sound."""
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y"]
    command += ["-f", "lavfi", "-i", "testsrc=size=90x160:rate=12:duration=1"]
    command += ["-f", "lavfi", "-i", "sine=frequency=440:duration=1", "-shortest"]
    command += ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac", "-b:a", "32k"]
    command += ["-movflags", "+faststart", str(path)]
    subprocess.run(command, check=True, timeout=60)
    return path


def make_big_video(path: Path, size_mb: int, *, seed: int) -> Path:
    """Make half a minute of 1080p of about `size_mb` MB: a key frame every two seconds, and sound.

    A third of it is made, and repeated: nobody who delivers it can tell.
    """
    rate = f"{size_mb * 8_000_000 * 0.97 / 30 / 1000:.0f}k"
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-v", "error", "-y"]
    third = path.with_suffix(".third.mp4")
    made = [*command, "-f", "lavfi", "-i", "testsrc2=size=1920x1080:rate=30:duration=10"]
    made += ["-f", "lavfi", "-i", f"sine=frequency={440 + seed}:duration=10", "-shortest"]
    # Noise, or so simple a picture would not fill the video.
    made += ["-vf", f"noise=alls=12:allf=t:all_seed={seed}", "-c:v", "libx264"]
    made += ["-preset", "ultrafast", "-pix_fmt", "yuv420p", "-g", "60", "-sc_threshold", "0"]
    made += ["-b:v", rate, "-minrate", rate, "-maxrate", rate, "-bufsize", rate]
    subprocess.run([*made, "-c:a", "aac", str(third)], check=True, timeout=300)
    whole = [*command, "-stream_loop", "2", "-i", str(third), "-c", "copy"]
    subprocess.run([*whole, "-movflags", "+faststart", str(path)], check=True, timeout=60)
    third.unlink()
    return path
