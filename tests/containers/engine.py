"""Runs the services of compose.yaml without a container engine, as the kernel lets anybody do.

Each has a network, mounts and processes of its own, the image's root read-only, a user that is not
root, no capability, and its secrets as files. PostgreSQL's image cannot be had here: Debian's
server stands in for it, in a network of its own. Needs root, Linux and iproute2.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.containers.compose import environ_of, read_compose, read_environ, started
from tests.containers.dockerfile import environ, last, read_dockerfile

BRIDGE, NETWORK = "callsheet-br", "10.213.7"
PGBIN = Path("/usr/lib/postgresql/15/bin")
#: Seconds that a service may take until it is healthy, or done.
LONGEST = 240.0


@dataclass
class Container:
    """One service at work: its network, its root and its first process."""

    name: str
    service: Mapping[str, Any]
    netns: str
    mounts: list[str]
    environ: dict[str, str]
    process: subprocess.Popen[bytes] | None = None
    log: Path = field(default=Path())

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")


class Engine:
    """All services of one environment file; `root` is the image, `work` a folder of its own."""

    def __init__(self, root: Path, work: Path, env_file: Path, target: str) -> None:
        self.root, self.work = root, work
        self.environ = {**read_environ(env_file), "SHEETS": str(work / "sheets")}
        self.environ["SECRETS"] = str(work / "secrets")
        self.compose = read_compose(self.environ)
        _, stages = read_dockerfile()
        stage = next(one for one in stages if one.name == target)
        self._image = environ(stage, stages)
        entry, folder = last(stage, "ENTRYPOINT", stages), last(stage, "WORKDIR", stages)
        assert entry
        assert folder
        self._entry, self._folder = entry.words, folder.text
        self.containers: dict[str, Container] = {}
        self._addresses: dict[str, str] = {}

    def up(self, *, without: Sequence[str] = ()) -> None:
        """Start every service in its turn; raise RuntimeError for one that does not come up."""
        self._make_network()
        profiles = set(self.environ.get("COMPOSE_PROFILES", "").split(","))
        for name, service in started(self.compose, profiles):
            if name not in without:
                self._wait_for(service)
                self.start(name, service)

    def start(self, name: str, service: Mapping[str, Any]) -> Container:
        """Start a service; one that others wait for is not waited for here."""
        container = self._container(name, service)
        words = service.get("command")
        if name == "postgres":
            words = self._postgres(container)
        else:
            words = self._inside(container, [*self._entry, *(words or [])])
        container.log = self.work / f"{name}.log"
        with container.log.open("ab") as log:
            container.process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.containers[name] = container
        return container

    def call(self, name: str, *words: str, check: bool = True, entered: bool = True) -> str:
        """Run one more command in a service's container, and return what it said."""
        entry = self._entry if entered else []
        command = self._inside(self.containers[name], [*entry, *words])
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if check and done.returncode:
            raise RuntimeError(f"{name}: {shlex.join(words)}: {done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def address_of(self, name: str) -> str:
        """Return a service's address on the network of all."""
        return self._addresses[name]

    def is_healthy(self, name: str) -> bool:
        """Carry out the health check of a service."""
        test = self.containers[name].service["healthcheck"]["test"]
        words = self._inside(self.containers[name], test[1:])
        if name == "postgres":
            netns = self.containers[name].netns
            words = ["ip", "netns", "exec", netns, str(PGBIN / test[1]), *test[2:]]
        return subprocess.run(words, capture_output=True).returncode == 0

    def stop(self, name: str, within: float) -> float:
        """Tell a service to stop as `docker stop` does; return the seconds that it took."""
        process = self.containers[name].process
        assert process is not None
        begun = time.monotonic()
        if process.poll() is None:
            # Of a container the process of the command: ours is the one that made its surroundings.
            inside = None if name == "postgres" else _first_child(process.pid)
            os.kill(inside or process.pid, signal.SIGINT if inside is None else signal.SIGTERM)
        try:
            process.wait(within)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise RuntimeError(f"{name} did not stop within {within} s") from None
        return time.monotonic() - begun

    def down(self) -> None:
        """End what is left, the last one first, and take the networks away."""
        for name in reversed(self.containers):
            try:
                self.stop(name, 30)
            except (RuntimeError, ProcessLookupError) as error:
                print(error)
        for name in self._addresses:
            subprocess.run(["ip", "netns", "del", _netns(name)], check=False)
        subprocess.run(["ip", "link", "del", BRIDGE], check=False)

    def _wait_for(self, service: Mapping[str, Any]) -> None:
        until = time.monotonic() + LONGEST
        for name, how in service.get("depends_on", {}).items():
            if name not in self.containers:
                assert how.get("required") is False, f"{name} is not there"
                continue
            while not self._is(name, how["condition"]):
                if time.monotonic() > until:
                    raise RuntimeError(f"{name}: {self.containers[name].said[-3000:]}")
                time.sleep(0.5)

    def _is(self, name: str, condition: str) -> bool:
        container = self.containers[name]
        assert container.process is not None
        if condition == "service_healthy":
            if container.process.poll() is not None:
                raise RuntimeError(f"{name} ended: {container.said[-3000:]}")
            return self.is_healthy(name)
        assert condition == "service_completed_successfully"
        if status := container.process.poll():
            raise RuntimeError(f"{name} ended with {status}: {container.said[-3000:]}")
        return container.process.poll() == 0

    def _container(self, name: str, service: Mapping[str, Any]) -> Container:
        mode = service.get("network_mode", "")
        netns = _netns(mode.removeprefix("service:") if mode else name)
        return Container(
            name=name,
            service=service,
            netns=netns,
            mounts=[] if name == "postgres" else self._mounts(name, service),
            environ={**self._image, **environ_of(service, self.environ)},
        )

    def _inside(self, container: Container, words: Sequence[str]) -> list[str]:
        """Return the command that runs words in a container's surroundings."""
        user, _, group = str(container.service["user"]).partition(":")
        assert container.service["cap_drop"] == ["ALL"]
        assert container.service["read_only"] is True
        root = self.work / "roots" / container.name
        no_root = ["setpriv", "--reuid", user, "--regid", group, "--clear-groups", "--no-new-privs",
                   "--inh-caps=-all", "--bounding-set=-all"]  # fmt: skip
        named = [f"{key}={value}" for key, value in container.environ.items()]
        command = [*no_root, "env", "-i", "-C", self._folder, *named, *words]
        script = " && ".join([*container.mounts, f"exec chroot {root} {shlex.join(command)}"])
        return ["ip", "netns", "exec", container.netns, "unshare", "--mount", "--pid", "--fork",
                "--kill-child", "--propagation", "private", "sh", "-c", script]  # fmt: skip

    def _mounts(self, name: str, service: Mapping[str, Any]) -> list[str]:
        root = self.work / "roots" / name
        root.mkdir(parents=True, exist_ok=True)
        found = [f"mount --bind {self.root} {root}"]
        binds = [(self._volume(v.rpartition(":")[0]), v.rpartition(":")[2])
                 for v in service.get("volumes", [])]  # fmt: skip
        for secret in service.get("secrets", []):
            file = Path(self.compose["secrets"][secret]["file"])
            binds.append((file, f"/run/secrets/{secret}"))
        for config in service.get("configs", []):
            file = self.work / config["source"]
            file.write_text(self.compose["configs"][config["source"]]["content"])
            binds.append((file, config["target"]))
        binds.append((self._hosts(), "/etc/hosts"))
        for source, target in binds:
            at = self.root / target.lstrip("/")
            at.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                at.mkdir(exist_ok=True)
            else:
                at.touch()
        found += [f"mount --bind {source} {root}{target}" for source, target in binds]
        found += [f"mount -o remount,bind,ro {root}"]
        found += [f"mount -o remount,bind,ro {root}{target}" for source, target in binds
                  if source.is_file()]  # fmt: skip
        found += [f"mount -t proc proc {root}/proc", f"mount --bind /dev {root}/dev"]
        for tmpfs in service.get("tmpfs", []):
            at, _, options = tmpfs.partition(":")
            found += [f"mount -t tmpfs {'-o ' + options if options else ''} tmpfs {root}{at}"]
        return found

    def _volume(self, source: str) -> Path:
        """Return the folder of a volume, whoever a container is, to be written to by it."""
        place = Path(source) if "/" in source else self.work / "volumes" / source
        if not place.exists():
            place.mkdir(parents=True)
            shutil.chown(place, 10001, 10001)
        return place

    def _make_network(self) -> None:
        (self.work / "volumes").mkdir(parents=True, exist_ok=True)
        _ip("link", "add", BRIDGE, "type", "bridge")
        _ip("addr", "add", f"{NETWORK}.1/24", "dev", BRIDGE)
        _ip("link", "set", BRIDGE, "up")
        own = [n for n, s in self.compose["services"].items() if "network_mode" not in s]
        for number, name in enumerate(own, start=2):
            self._addresses[name] = f"{NETWORK}.{number}"
            _join(name, number)

    def _hosts(self) -> Path:
        lines = ["127.0.0.1 localhost"]
        for name, address in self._addresses.items():
            networks = self.compose["services"][name].get("networks", {})
            aliases = [one for network in networks.values() for one in network.get("aliases", [])]
            lines.append(" ".join([address, name, *aliases]))
        file = self.work / "hosts"
        file.write_text("\n".join(lines) + "\n")
        return file

    def _postgres(self, container: Container) -> list[str]:
        data = self.work / "postgres"
        data.mkdir()
        shutil.chown(data, "postgres", "postgres")
        os.chmod(self.work, 0o755)
        password = self.work / "postgres-password"
        shutil.copy(self.compose["secrets"]["postgres-password"]["file"], password)
        sql = self.compose["configs"]["prefects-database"]["content"]
        pg = shlex.quote(str(PGBIN))
        network = f"host all all {NETWORK}.0/24 scram-sha-256"
        script = f"""set -e
{pg}/initdb -D {data} -U callsheet --auth-local=trust --auth-host=scram-sha-256 \
  --pwfile={password} >/dev/null
echo '{network}' >> {data}/pg_hba.conf
{pg}/pg_ctl -D {data} -w -o "-k {data} -h ''" start >/dev/null
echo 'CREATE DATABASE callsheet; {sql}' | {pg}/psql -q -h {data} -U callsheet postgres
{pg}/pg_ctl -D {data} -w stop >/dev/null
exec {pg}/postgres -D {data} -k {data} -h '*'"""
        return ["ip", "netns", "exec", container.netns, "setpriv", "--reuid", "postgres",
                "--regid", "postgres", "--init-groups", "bash", "-c", script]  # fmt: skip


def _netns(name: str) -> str:
    return f"callsheet-{name}"


def _join(name: str, number: int) -> None:
    """Make a network with one cable to the bridge."""
    netns, outer, inner = _netns(name), f"cs{number}o", f"cs{number}i"
    _ip("netns", "add", netns)
    _ip("link", "add", outer, "type", "veth", "peer", "name", inner)
    _ip("link", "set", inner, "netns", netns, "name", "eth0")
    _ip("link", "set", outer, "master", BRIDGE, "up")
    for words in (["addr", "add", f"{NETWORK}.{number}/24", "dev", "eth0"],
                  ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):  # fmt: skip
        _ip("-n", netns, *words)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def _first_child(pid: int) -> int | None:
    """Return the first process in the namespace that `unshare --fork` made."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(children[0]) if children else None
