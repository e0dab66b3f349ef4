"""Published sheets, from a real server on this machine."""

import pytest

from callsheet.tasks.runtime.errors import SheetError
from callsheet.tasks.sheet import SheetOptions, read_sheet
from callsheet.tasks.sheet.text import MAX_BYTES
from tests.web import Quiet, serving

CSV = b"id,tool\nr1,explainer\n"
ANSWERS = {
    "/spring.csv": (200, {"content-type": "text/plain"}, CSV),
    "/pub": (200, {"content-type": "text/csv; charset=utf-8"}, CSV),
    "/export": (
        200,
        {
            "content-type": "application/octet-stream",
            "content-disposition": 'attachment; filename="Fr_hling.tsv"; '
            "filename*=UTF-8''Fr%C3%BChling.tsv",
        },
        b"id\ttool\nr1\texplainer\n",
    ),
    "/rows": (200, {"content-type": "application/json"}, b'[{"id": "r1", "tool": "explainer"}]'),
    "/moved": (302, {"location": "/spring.csv?key=secret"}, b""),
    "/away": (302, {"location": "http://example.com/spring.csv"}, b""),
    "/loop": (302, {"location": "/loop"}, b""),
    "/login": (200, {"content-type": "text/html"}, b"<!doctype html><title>Sign in</title>"),
    "/private.csv": (403, {}, b""),
    "/broken.csv": (503, {}, b""),
    "/large.csv": (200, {"content-type": "text/csv"}, b"x" * (MAX_BYTES + 1)),
}


class Published(Quiet):
    def do_GET(self):
        status, headers, body = ANSWERS.get(self.path.partition("?")[0], (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture(scope="module")
def site():
    with serving(Published) as url:
        yield url


async def refused(address):
    with pytest.raises(SheetError) as caught:
        await read_sheet(address)
    (problem,) = caught.value.problems
    return str(problem)


@pytest.mark.parametrize(
    ("path", "campaign", "name"),
    [
        ("/spring.csv?output=csv", "spring", "spring.csv"),
        ("/pub?gid=0", "pub", "pub.csv"),
        ("/export", "fruhling", "Frühling.tsv"),
        ("/rows", "rows", "rows.json"),
        ("/moved", "spring", "spring.csv"),
    ],
)
async def test_it_reads_a_published_sheet(site, path, campaign, name):
    sheet = await read_sheet(site + path)
    assert (sheet.campaign, sheet.name, sheet.address) == (campaign, name, site + path)
    assert sheet.briefs[0].row == "r1"


async def test_localhost_is_this_machine_too(site):
    assert (await read_sheet(site.replace("127.0.0.1", "localhost") + "/pub")).briefs


async def test_a_sheet_on_the_web_cannot_point_to_files(site, monkeypatch):
    monkeypatch.setitem(ANSWERS, "/s.csv", (200, {}, b"id,script\nr1,@/etc/hostname\n"))
    assert "only a sheet in a local folder can" in await refused(f"{site}/s.csv")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/none.csv?token=secret", "is not there (404)"),
        ("/private.csv", "may not be read without a login"),
        ("/broken.csv", "answered 503; try again later"),
        ("/large.csv", "is larger than 20 MiB"),
        ("/loop", "redirects more than 5 times"),
        ("/away", "is not https://"),
        ("/login", "is a web page, not a sheet"),
    ],
)
async def test_it_says_why_it_cannot_have_a_sheet(site, path, words):
    told = await refused(site + path)
    assert words in told
    assert "secret" not in told


async def test_it_says_that_a_server_cannot_be_reached():
    assert "cannot be reached" in await refused("http://127.0.0.1:9/c.csv?token=secret")
    assert "secret" not in await refused("http://127.0.0.1:9/c.csv?token=secret")


async def test_plain_http_is_for_this_machine_alone():
    assert await refused("http://example.com/c.csv") == (
        "http://example.com/c.csv is not https://, and only this machine may do without"
    )


async def test_it_refuses_a_password_in_an_address():
    told = await refused("https://ada:secret@example.com/c.csv")
    assert told.startswith("example.com has a password in its address")
    assert "secret" not in told


async def test_it_refuses_an_address_that_is_none():
    assert "is not an address" in await refused("https://[::1/c.csv")


async def test_the_campaign_may_be_said(site):
    assert (await read_sheet(f"{site}/pub", SheetOptions(campaign="mine"))).campaign == "mine"
