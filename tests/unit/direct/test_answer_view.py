"""What the service said is shown whole, but for its secrets."""

from __future__ import annotations

from callsheet.deployments.direct.session import cell
from callsheet.tasks.runtime.redact import redacted


def test_secrets_are_taken_out_wherever_they_are() -> None:
    said = {
        "id": "vid_1",
        "files": [{"url": "https://cdn.example.com/a.mp4?signature=abc&expires=1"}],
        "webhook": {"secret": "s3cret-value", "access_token": "mav_abc", "signature": None},
        "note": "the key mav_abcdef was used",
        "tokens_used": 7,
    }

    assert redacted(said) == {
        "id": "vid_1",
        "files": [{"url": "https://cdn.example.com/a.mp4?***"}],
        "webhook": {"secret": "***", "access_token": "***", "signature": None},
        "note": "the key mav_*** was used",
        "tokens_used": 7,
    }


def test_a_cell_is_one_line_and_never_long() -> None:
    assert cell(None) == "-"
    assert cell("two\nlines") == "two\u21b5lines"
    assert cell("whatever", "secret") == "***"
    assert cell([{"name": "product"}, {"name": "offer"}]) == "product, offer"
    assert len(cell({"a": "b" * 1000})) == 120
