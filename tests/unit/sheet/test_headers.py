"""Headers are matched the way people write them, and never guessed."""

import pytest

from callsheet.tasks.sheet.headers import canonical_header


@pytest.mark.parametrize(
    "header",
    [
        "aspect_ratio",
        " Aspect Ratio ",
        "ASPECT-RATIO",
        "\ufeffaspect_ratio",
        "as\u200bpect_ra\u00adtio",
        "ａｓｐｅｃｔ＿ｒａｔｉｏ",
        "aspect\nratio",
        "aspect–ratio",
    ],
)
def test_it_matches_a_header_however_it_is_written(header):
    assert canonical_header(header) == "aspect_ratio"


def test_a_tools_own_camel_case_is_kept(read):
    sheet = read("id,tool,Fields.Product Name,fields.callToAction\nr1,explainer,Pot,Buy\n")
    assert sheet.briefs[0].request["fields"] == {"product_name": "Pot", "callToAction": "Buy"}


def test_the_sheets_own_headers_are_kept_for_people(read):
    sheet = read(" ID ,Tool,X_Owner\nr1,explainer,Ada\n")
    assert sheet.columns == ("ID", "Tool", "X_Owner")
    assert tuple(sheet.briefs[0].cells) == (("ID", "r1"), ("Tool", "explainer"), ("X_Owner", "Ada"))
    assert sheet.briefs[0].request == {"tool": "explainer"}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,tool,Aspect Ratio,aspect-ratio\nr1,explainer,1:1,1:1\n",
         ':1 column "aspect-ratio" and "Aspect Ratio" are the same column (aspect_ratio), in '
         "columns 3 and 4: keep one"),
        ("id,tool,Reviewer\nr1,t,Ada\n", "remove it, or call it x_reviewer to keep it for yours"),
        ("id,tool,idempotency_key\nr1,t,k\n", "is set by Callsheet itself; remove the column"),
        ("id,tool,Start Generation\nr1,t,yes\n", "is set by Callsheet itself; remove the column"),
        ("id,,tool\nr1,lost,t\nr2,lost,t\n", ':2 column 2 "lost" stands in a column without a h'),
        ("id,scrpt\nr1,one\nr2,two\n", "did you mean script?"),
    ],
)  # fmt: skip
def test_a_header_that_cannot_be_is_one_problem(refuse, text, words):
    (problem,) = refuse(text)
    assert words in problem


@pytest.mark.parametrize(
    ("header", "meant"),
    [
        ("duration", "duration_seconds"),
        ("Titel", "title"),
        ("cost centre", "cost_center"),
        ("field.product", "fields.product"),
        ("Fields Product", "fields.product"),
        ("Tags:", "tags"),
    ],
)
def test_it_says_what_an_unknown_column_may_have_meant(refuse, header, meant):
    (problem,) = refuse(f"id,tool,{header}\nr1,explainer,x\n")
    assert problem == (
        f'campaign.csv:1 column "{header}" is not a column Callsheet knows; did you mean {meant}?'
    )


@pytest.mark.parametrize("header", ["\x01,\x01", "\u200b,\u200b"])
def test_it_refuses_a_header_without_a_single_name(refuse, header):
    assert refuse(f"{header}\nr1,one\n")[-1].endswith("name its columns")


def test_a_status_sheet_can_be_read_again(read):
    sheet = read("id,tool,cs_state,cs_video\nr1,explainer,delivered,a.mp4\n")
    assert sheet.columns == ("id", "tool")
    assert sheet.briefs == read("id,tool\nr1,explainer\n").briefs
