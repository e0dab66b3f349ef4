"""`python -m tests.containers [FOLDER]`: the image, built and at work, without a container engine.

Builds every stage of the Dockerfile in a clean root of Debian's packages, then runs the demo of
compose.yaml in it, each service as compose.yaml says it (no root, nothing to write to, no
capability), and makes videos: by a command, by workers and by a worker.
Needs root on Linux, debootstrap, PostgreSQL's server and a few minutes; where it
has not got them it says so and does nothing.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from tests.containers.compose import DEMO
from tests.containers.engine import PGBIN, Engine
from tests.containers.image import build, make_base
from tests.programs import ROOT

NEEDED = ("debootstrap", "unshare", "setpriv", "ip")
SERVING = ("prefect", "worker", "board", "receiver", "sandbox")
#: Videos of each sheet.
VIDEOS = 8
#: Seconds until videos have to be there.
LONGEST = 240.0


def main() -> int:
    """Build, run and look; return 0 when all is as it has to be."""
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if os.geteuid() != 0 or missing or not PGBIN.is_dir():
        print(f"the image is not tried here: it takes root, PostgreSQL and {', '.join(NEEDED)}")
        return 0
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    images = given or Path(tempfile.mkdtemp(prefix="callsheet-image-"))
    images.mkdir(exist_ok=True)
    make_base(images / "base")
    for target in ("callsheet", "demo"):
        print(
            f"{target}: {_size(build(target, images)) - _size(images / 'base')} MB above the base"
        )
    with tempfile.TemporaryDirectory(prefix="callsheet-compose-") as work:
        _try(Path(work), images / "demo")
    if given is None:
        shutil.rmtree(images)
    return 0


def _try(work: Path, image: Path) -> None:
    script = ROOT / "deployments" / "container" / "make_secrets.py"
    subprocess.run([sys.executable, script, "--demo", work / "secrets"], check=True)
    (work / "sheets").mkdir()
    for name in ("by-hand", "by-workers", "by-worker"):
        (work / "sheets" / f"{name}.csv").write_text(_sheet(name))
    shutil.chown(work / "sheets", 10001, 10001)
    engine = Engine(image, work, DEMO, "demo")
    try:
        begun = time.monotonic()
        engine.up()
        _until(lambda: all(engine.is_healthy(name) for name in SERVING))
        print(f"all is up and healthy after {time.monotonic() - begun:.0f} s")
        _look_around(engine)
        _make_videos(engine)
        _approve_on_the_board(engine)
        _stop(engine)
    finally:
        engine.down()
        for name, container in engine.containers.items():
            shutil.copy(container.log, image.parent / f"{name}.log")


def _sheet(name: str) -> str:
    """Return a sheet whose rows are nobody else's: what is paid for is not paid for again."""
    rows = [f"video-{n},Video {n} of those made {name},8,9:16" for n in range(VIDEOS)]
    return "\n".join(["id,script,duration_seconds,aspect_ratio", *rows, ""])


def _look_around(engine: Engine) -> None:
    """What a container may, and may not."""
    for name in SERVING:
        who = engine.call(name, "sh", "-c", "id -u; grep CapBnd /proc/self/status; touch /x || :")
        assert who.startswith("10001\nCapBnd:\t0000000000000000\n"), who
        assert "Read-only file system" in who, who
    print("no root, no capability, nothing to write to:", ", ".join(SERVING))


def _make_videos(engine: Engine) -> None:
    """By a command in a container, by two workers in Prefect workers, and by a deployment."""
    for name, more in (("by-hand", []), ("by-workers", ["--workers", "2"])):
        words = ("callsheet", "run", f"sheets/{name}.csv", "--yes", "--json", *more)
        told = json.loads(engine.call("board", *words).splitlines()[0])
        assert told["rows"]["delivered"] == told["rows"]["total"] == VIDEOS, told
        print(f"{name}: {told['rows']}, {told['credits']}")
    asked = ("sheet=sheets/by-worker.csv", "approve=yes")
    words = tuple(word for one in asked for word in ("--param", one))
    engine.call("worker", "prefect", "deployment", "run", "campaign/campaign", *words)

    def are_made() -> bool:
        said = engine.call("receiver", "callsheet", "status", "by-worker", "--json", check=False)
        return f'"delivered": {VIDEOS}' in said

    _until(are_made)
    print(f"by-worker: {VIDEOS} delivered by the deployment campaign/campaign")
    print(engine.call("receiver", "callsheet", "doctor"))


def _approve_on_the_board(engine: Engine) -> None:
    """Hand a sheet in, approve its price, and have a Prefect worker carry it."""
    token = re.findall(r"shown this once: (\S+)", engine.containers["invite"].said)[-1]
    board = httpx.Client(
        base_url=f"http://{engine.address_of('board')}:8788/api/v1",
        # By the name that it was given; it answers to no other.
        headers={"authorization": f"Bearer {token}", "host": "localhost:8788"},
        timeout=30,
    )
    sheet = board.post("/sheets", json={"name": "on-the-board.csv", "text": _sheet("on-the-board")})
    plan = board.post("/plans", json={"sheet": sheet.raise_for_status().json()["sheet"]})
    at = f"/plans/{plan.raise_for_status().json()['plan']}"
    _until(lambda: board.get(at).json()["state"] == "ready")
    board.post(f"{at}/approve", json={}).raise_for_status()

    def are_made() -> bool:
        found = board.get("/campaigns/on-the-board")
        return found.status_code == 200 and f'"delivered":{VIDEOS}' in found.text.replace(" ", "")

    _until(are_made)
    rows = board.get("/campaigns/on-the-board/rows").json()["rows"]
    video = board.get(f"/videos/on-the-board/{rows[0]['row']}/1.mp4")
    assert video.status_code == 302, video.text
    assert video.headers["location"].startswith("http://s3.localhost:9000/videos/"), video.headers
    print(
        f"on-the-board: {VIDEOS} delivered by what was approved there; videos come from the store"
    )


def _stop(engine: Engine) -> None:
    for name in ("worker", "board", "receiver", "prefect"):
        print(f"{name} stopped in {engine.stop(name, 30):.1f} s")


def _until(is_so: object) -> None:
    until = time.monotonic() + LONGEST
    while not is_so():  # type: ignore[operator]
        if time.monotonic() > until:
            raise RuntimeError("not everything is healthy")
        time.sleep(1)


def _size(root: Path) -> int:
    words = ["du", "-sm", "--exclude=./proc", str(root)]
    return int(subprocess.run(words, capture_output=True, text=True).stdout.split()[0])


if __name__ == "__main__":
    raise SystemExit(main())
