"""`callsheet login`, `logout` and `whoami` against the sandbox: every way in, and out again."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import expect, sync_playwright

from tests.browser import find_browser
from tests.fixtures import sandbox_fixture
from tests.person import ADA, BEN, Person
from tests.programs import Desk, Finished, Sandbox, simple_sheet

ALL = ["read", "write", "ai"]


#: Codes are good for 60 s and polled every 1.2 s.
service = sandbox_fixture("--time-scale", "10")


@pytest.fixture
def desk(tmp_path: Path, service: Sandbox) -> Desk:
    """A folder and a home of nobody who is logged in."""
    return Desk(
        tmp_path,
        {
            "CALLSHEET_BASE_URL": service.ready["base_url"],
            "CALLSHEET_AUTH_URL": service.ready["auth_url"],
            "XDG_CONFIG_HOME": str(tmp_path / "config"),
            "BROWSER": f"{sys.executable} -m tests.person %s",
            "NO_PROXY": "127.0.0.1",
        },
    )


def log_in(desk: Desk, *words: str, person: Person | None = None, **answer: Any) -> Finished:
    """Log in with a code that `person` answers; each code that is told, once."""
    process = desk.start("login", *words)
    assert process.stderr is not None
    said = []
    for line in process.stderr:
        said.append(line)
        address = re.match(r"open  (\S+)", said[-2]) if len(said) > 1 else None
        if address and (code := re.match(r"enter (\S+)", line)):
            (person or Person()).answer(f"{address[1]}?user_code={code[1]}", **answer)
    return Finished(process.wait(60), process.stdout.read(), "".join(said))


def browse(desk: Desk, *words: str, **wants: str) -> Finished:
    """Log in through a browser whose owner wants this."""
    desk.environ |= {f"PERSON_{name.upper()}": value for name, value in wants.items()}
    return desk.call("login", "--browser", *words)


def accepts(service: Sandbox, key: str) -> bool:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.get(f"{service.ready['base_url']}/videos", headers=headers).status_code == 200


def kept(desk: Desk) -> Path:
    return desk.folder / "config" / "callsheet" / "credentials" / "default.json"


def key_in(path: Path) -> str:
    found = re.search(r"mav_[\w-]{20,}", path.read_text())
    assert found
    return found[0]


@pytest.mark.merge
def test_with_a_code_and_out_again(desk, service):
    done = log_in(desk, "--json")
    assert done.status == 0, done.err
    assert "there is no terminal to ask at" in done.err
    assert done.err.index("as plain text in") < done.err.index("enter ")
    key = key_in(kept(desk))
    said = done.json
    assert {name: said[name] for name in ("base_url", "auth_url")}.items() <= service.ready.items()
    assert (said["profile"], said["key"], said["exit"]) == ("default", f"mav_…{key[-4:]}", 0)
    assert (said["scopes"], said["missing"], said["accepted"]) == (ALL, [], True)
    assert (said["stored_in"], said["where"]) == ("file", str(kept(desk)))
    assert accepts(service, key)
    who = desk.call("whoami", "--json").json
    assert (who["source"], who["where"], who["key"]) == ("file", str(kept(desk)), done.json["key"])
    assert (who["organisation"], who["scopes"], who["accepted"]) == ("Northlight Studio", ALL, True)

    out = desk.call("logout", "--json")

    assert (out.status, out.json["logged_out"], out.json["revoked"]) == (0, True, True)
    assert not kept(desk).exists()
    assert not accepts(service, key)
    again = desk.call("logout", "--json")
    assert (again.status, again.json["logged_out"]) == (0, False)
    assert desk.call("whoami", "--json").json["exit"] == 2
    assert not [secret for one in (done, out) for secret in (key,) if secret in one.out + one.err]


@pytest.mark.merge
def test_through_a_browser_and_a_later_command_needs_nothing_else(desk, service):
    done = browse(desk)
    assert done.status == 0, done.err
    assert f"logged in to {service.ready['base_url']}" in done.out
    for name in ("CALLSHEET_BASE_URL", "CALLSHEET_AUTH_URL"):
        del desk.environ[name]
    sheet = desk.sheet("spring.csv", simple_sheet(2))
    assert desk.call("plan", sheet, "--json").status == 0
    assert key_in(kept(desk)) not in done.out + done.err
    assert desk.call("logout").status == 0
    refused = desk.call("plan", sheet)
    assert (refused.status, "CALLSHEET_BASE_URL" in refused.err) == (2, True)


def test_the_mcp_server_says_where_to_log_in(desk, service):
    del desk.environ["CALLSHEET_AUTH_URL"]
    desk.environ["CALLSHEET_MCP_URL"] = service.ready["mcp_url"]
    done = browse(desk, "--json")
    assert (done.status, done.json["auth_url"]) == (0, service.ready["auth_url"]), done.err


@pytest.mark.merge
def test_a_real_browser_is_led_through_and_told_to_go_back(desk):
    desk.environ["BROWSER"] = "true %s"
    process = desk.start("login", "--browser")
    lines = iter(process.stderr.readline, "")
    address = next(line.strip() for line in lines if "/api/oauth/authorize?" in line)
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=["--no-sandbox", "--disable-gpu"]
        )
        page = browser.new_page()
        page.on("console", lambda said: complaints.append(said.text))
        page.goto(address)
        page.get_by_role("button", name="Approve").click()
        expect(page.get_by_role("heading", name="Approved")).to_be_visible(timeout=30_000)
        browser.close()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, "for read, write, ai" in out, complaints) == (0, True, [])


@pytest.mark.merge
def test_fewer_scopes_than_asked_are_told_with_what_they_lack(desk, service):
    done = browse(desk, "--json", grants="read")
    assert (done.json["scopes"], done.json["missing"]) == (["read"], ["write", "ai"])
    assert "animate an image" in done.err
    assert "callsheet login --scopes read,write,ai" in done.err
    sheet = desk.sheet("spring.csv", simple_sheet(1))
    refused = desk.run(sheet)
    assert refused.status != 0
    assert not service.charges()


def test_only_what_is_asked_for_is_granted(desk):
    assert browse(desk, "--json", "--scopes", "read,ai").json["scopes"] == ["read", "ai"]
    assert desk.call("login", "--scopes", "read,fly").status == 2


@pytest.mark.parametrize("way", ["--browser", "--device"])
def test_a_no_is_told_and_nothing_is_kept(desk, way):
    if way == "--browser":
        done = browse(desk, "--json", decision="deny")
    else:
        done = log_in(desk, "--device", "--json", decision="deny")
    assert (done.status, done.json["exit"]) == (2, 2)
    assert "declined" in done.err
    assert not kept(desk).exists()


@pytest.mark.merge
def test_an_email_login_is_for_that_person_alone(desk):
    done = log_in(desk, "--email", ADA, "--json", person=BehindAStranger(ADA))
    assert (done.status, done.json["scopes"]) == (0, ALL), done.err


class BehindAStranger(Person):
    """Answers only once somebody else has tried to, with the same code."""

    def answer(self, address: str, **wants: Any) -> httpx.Response:
        page = Person(BEN).answer(address)
        # Not "ada" alone: a token of random letters may hold it.
        assert ADA not in page.text.casefold()
        assert "for another account" in page.text
        return super().answer(address, **wants)


@pytest.mark.merge
def test_a_key_is_read_from_standard_input_and_tried(desk, service):
    key = service.ready["keys"]["read"]
    done = hand_in(desk, key + "\n", "--json")
    assert (done.status, done.json["scopes"]) == (0, ["read"]), done.err
    assert key_in(kept(desk)) == key
    assert key not in done.out + done.err
    out = desk.call("logout")
    assert (out.status, "not revoked" in out.out) == (0, True)
    assert accepts(service, key)
    assert not kept(desk).exists()


@pytest.mark.merge
@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("mav_canary0canary0canary0", "does not accept the key"),
        ("mav_canary0 canary0", "is no key"),
        ("", "holds no key"),
    ],
)
def test_what_is_no_good_key_is_not_kept(desk, key, words):
    done = hand_in(desk, key)
    assert (done.status, words in done.err) == (2, True), done.err
    assert "canary0" not in done.out + done.err
    assert not kept(desk).exists()


def hand_in(desk: Desk, key: str, *words: str) -> Finished:
    process = desk.start("login", "--with-token", *words, stdin=subprocess.PIPE)
    out, err = process.communicate(key, timeout=60)
    assert "Traceback" not in err, err
    return Finished(process.returncode, out, err)


def test_a_key_that_is_not_kept_is_revoked(desk, service):
    before = service.calls().get("revoke", 0)
    done = browse(desk, "--no-store", "--json")
    assert (done.status, done.json["stored_in"]) == (0, None)
    assert service.calls()["revoke"] == before + 1
    assert not kept(desk).exists()


def test_a_key_may_go_into_a_file_of_its_own(desk, service):
    path = desk.folder / "night.key"
    done = browse(desk, "--token-file", "night.key", "--json")
    assert (done.status, done.json["stored_in"]) == (0, "token-file")
    assert path.stat().st_mode & 0o777 == 0o600
    assert accepts(service, path.read_text().strip())
    assert not kept(desk).exists()
    desk.environ["CALLSHEET_API_KEY_FILE"] = str(path)
    who = desk.call("whoami", "--json").json
    assert (who["source"], who["where"]) == ("environment", "CALLSHEET_API_KEY_FILE")
    (desk.folder / "notes.txt").write_text("mine")
    refused = desk.call("login", "--browser", "--token-file", "notes.txt")
    assert (refused.status, (desk.folder / "notes.txt").read_text()) == (2, "mine")


def test_a_key_of_the_environment_wins_and_is_not_touched(desk, service):
    browse(desk)
    desk.environ["CALLSHEET_API_KEY"] = service.ready["keys"]["write"]
    who = desk.call("whoami", "--json").json
    assert (who["source"], who["scopes"]) == ("environment", ["write"])
    out = desk.call("logout")
    assert (out.status, "CALLSHEET_API_KEY is not touched" in out.err) == (0, True)
    assert desk.call("whoami").status == 0


def test_organisations_stand_beside_each_other_by_profile(desk):
    assert desk.call("whoami", "--profile", "studio").status == 2
    browse(desk, "--profile", "studio")
    browse(desk, "--profile", "agency", grants="read")
    for name in ("CALLSHEET_BASE_URL", "CALLSHEET_AUTH_URL"):
        del desk.environ[name]
    studio = desk.call("whoami", "--profile", "studio", "--json").json
    agency = desk.call("whoami", "--profile", "agency", "--json").json
    assert (studio["profile"], studio["scopes"]) == ("studio", ALL)
    assert (agency["profile"], agency["scopes"]) == ("agency", ["read"])
    assert desk.call("whoami").status == 2
    assert desk.call("logout", "--profile", "studio").status == 0
    assert desk.call("whoami", "--profile", "agency").status == 0


def test_a_revoked_key_is_told(desk, service):
    browse(desk)
    key = key_in(kept(desk))
    httpx.post(f"{service.ready['auth_url']}/api/oauth/revoke", data={"token": key})
    who = desk.call("whoami", "--json")
    assert (who.status, who.json["accepted"]) == (2, False)
    assert "callsheet login" in who.err


ELSEWHERE = {"CALLSHEET_BASE_URL": "https://api.test/api/v1"}


@pytest.mark.parametrize(
    ("environ", "status", "words"),
    [
        ({"CALLSHEET_BASE_URL": ""}, 2, "CALLSHEET_BASE_URL is not set"),
        ({**ELSEWHERE, "CALLSHEET_AUTH_URL": ""}, 2, "CALLSHEET_AUTH_URL is not set"),
        ({"CALLSHEET_AUTH_URL": "http://auth.test"}, 2, "not reached over https"),
        ({"CALLSHEET_AUTH_URL": "http://127.0.0.1:1"}, 5, "could not be reached"),
        ({"CALLSHEET_CREDENTIALS": "keyring"}, 2, "CALLSHEET_CREDENTIALS=file"),
        ({"CALLSHEET_CLAIM_GRANT": "urn:other"}, 2, "CALLSHEET_CLAIM_GRANT"),
    ],
)
def test_what_keeps_a_login_from_beginning_is_told(desk, environ, status, words):
    desk.environ |= {"PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring", **environ}
    done = desk.call("login", "--email", ADA, "--json")
    assert (done.status, words in done.err, done.json["exit"]) == (status, True, status), done.err
