"""The page for whoever is on call: its quotes are said, its commands do."""

from __future__ import annotations

import ast
import io
import re
import shlex
import signal
from collections.abc import Iterator
from functools import cache
from itertools import chain

import pytest
import yaml

from tests.fixtures import sandbox_fixture
from tests.programs import ROOT, Desk, Sandbox, simple_sheet
from tests.web import free_port

pytestmark = pytest.mark.merge

PAGE = (ROOT / "docs" / "operations.md").read_text()
NIGHT = PAGE.split("## At three in the morning\n")[1].split("\n## ")[0]
#: What is seen, what it means, what to type first, whom to wake.
SYMPTOMS = [line.strip("| ").split(" | ") for line in NIGHT.splitlines() if " | " in line][1:]
#: Programs of others that the page has typed: those are not run here.
OTHERS = {"make", "crontab", "export", "unset"}
#: How a command of the page ends in a place where all is well, where that is not 0.
STATUS = {"callsheet up --status": 1}
#: What is added to a command, so that it ends by itself.
MORE = {
    "callsheet run": ["--without-prefect", "--wait", "poll"],
    "callsheet login": ["--with-token"],
    "callsheet webhooks delete": ["--yes"],
}


def typed() -> list[str]:
    """Return every command that the page has typed, in its order, each once."""
    lines = re.findall(r"^\$ (.+?)(?:\s{2,}#.*)?$", PAGE, re.MULTILINE)
    return [*dict.fromkeys([*lines, *(symptom[2].strip("`") for symptom in SYMPTOMS)])]


@cache
def sentences() -> tuple[str, ...]:
    """Return every text in the source on one line, `…` for what is put into it."""
    files = chain(*((ROOT / door).rglob("*.py") for door in ("tasks", "flows", "deployments")))
    trees = (ast.parse(file.read_text()) for file in files)
    return tuple(" ".join(text.split()) for tree in trees for text in _texts(tree))


def _texts(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            parts = (part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("symptom", SYMPTOMS, ids=[symptom[0][:50] for symptom in SYMPTOMS])
def test_a_symptom_is_told_whole_and_in_the_programs_own_words(symptom: list[str]) -> None:
    seen, means, first, wake = symptom
    assert all((means, wake))
    assert first.startswith("`callsheet ")
    if seen.startswith("`"):
        parts = [re.escape(part.strip()) for part in seen.strip("` ").split("…") if part.strip()]
        said = re.compile(".*".join(parts))
        assert any(said.search(text) for text in sentences()), f"nothing says {seen}"


def test_symptoms_are_enough_alerts_are_told_of_and_links_lead_somewhere() -> None:
    assert len([one for one in SYMPTOMS if one[0].startswith("`")]) >= 15
    assert len({one[0] for one in SYMPTOMS}) == len(SYMPTOMS)
    rules = yaml.safe_load((ROOT / "deployments" / "observability" / "alerts.yaml").read_text())
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    assert {alert for alert in alerts if f"`{alert}`" not in PAGE} == set()
    titles = re.findall(r"^#+ (.+)$", PAGE, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    for file, anchor in re.findall(r"\]\(([\w.]*)(?:#([\w-]+))?\)", PAGE):
        assert (ROOT / "docs" / file).exists(), file
        assert file or anchor in anchors, anchor


service = sandbox_fixture("--allow-loopback-webhooks", "--credits", "1000000")


@pytest.fixture
def on_call(desk: Desk, name: str) -> Desk:
    """A folder with a campaign that is delivered, an inbox, and an address for webhooks."""
    address = f"127.0.0.1:{free_port()}"
    desk.environ |= {
        "CALLSHEET_WEBHOOK_URL": f"http://{address}/hooks",
        "CALLSHEET_RECEIVER": address,
        "CALLSHEET_CREDENTIALS": "file",
        "XDG_CONFIG_HOME": str(desk.folder / ".config"),
        "PREFECT_API_URL": "",
    }
    for folder in ("inbox", "backups"):
        (desk.folder / folder).mkdir()
    desk.sheet("nights.toml", f'[inbox.spring]\nplace = "{desk.folder}/inbox"\n')
    first = desk.run(desk.sheet(f"{name}.csv", simple_sheet(2)), "--wait", "poll")
    assert first.status == 0, first.err
    return desk


def test_every_command_of_the_page_does_what_it_is_typed_for(
    on_call: Desk, service: Sandbox, name: str
) -> None:
    keys = [row["key"] for row in on_call.rows(name).values()]
    folder = on_call.folder
    #: What stands here for words of the page.
    there = {
        "SHEET": f"{name}.csv", "CAMPAIGN": name, "ROW": "r001", "INBOX": "spring", "N": "1000",
        "postgresql://callsheet@db.example.com/ledger": f"sqlite:///{folder}/.callsheet/ledger.db",
        "https://service.example/api/v1": service.environ["CALLSHEET_BASE_URL"],
        "s3://videos/launch": str(folder / "deliveries"), "/backups/": "backups/",
        "sqlite:////tmp/drill/ledger.db": f"sqlite:///{folder}/drill/ledger.db",
    }  # fmt: skip
    wrong = []
    heard = [line for line in typed() if line.startswith("callsheet webhooks ")]
    for line in (one for one in typed() if one not in heard):
        wrong += _type(on_call, line, there)
    receiver = on_call.start("receive", "--json")
    try:
        assert "receiver" in receiver.stdout.readline()
        for line in heard:
            if " ID" in line:
                (listed,) = on_call.call("webhooks", "list", "--json").json["webhooks"]
                there["ID"] = listed["webhook_id"]
            wrong += _type(on_call, line, there)
    finally:
        receiver.send_signal(signal.SIGTERM)
        receiver.communicate(timeout=60)
    assert wrong == []
    assert service.charged(keys) == dict.fromkeys(keys, 1)


def _type(desk: Desk, line: str, there: dict[str, str]) -> list[str]:
    """Carry a line of the page out, with what there is in this place; return what is wrong."""
    backups = sorted((desk.folder / "backups").glob("*.db"))
    put = re.sub(r"/backups/ledger-[\w-]+\.db", str(backups[-1]), line) if backups else line
    words = []
    for word in shlex.split(put):
        variable, _, value = word.partition("=")
        words.append(f"{variable}={there[value]}" if value in there else there.get(word, word))
    program, *words = words
    if program in ("export", "unset"):
        for word in words:
            variable, _, value = word.partition("=")
            if value:
                desk.environ[variable] = value
            else:
                del desk.environ[variable]
    if program != "callsheet":
        return [] if program in OTHERS else [f"whose program is {line}?"]
    added = chain(*(more for start, more in MORE.items() if line.startswith(start)))
    more = [one for one in added if one not in words]
    typed = io.StringIO(desk.environ["CALLSHEET_API_KEY"]) if line == "callsheet login" else None
    done = desk.call(*words, *more, here=True, stdin=typed)
    expected = STATUS.get(line, 0)
    return [] if done.status == expected else [f"{line}: {done.status}\n{done.out}{done.err}"]
