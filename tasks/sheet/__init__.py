"""Sheets to briefs. Knows no service, no ledger and no Prefect."""

from tasks.sheet.names import template_problem
from tasks.sheet.read import parse_sheet, read_sheet
from tasks.sheet.values import HiddenRows, Sheet, SheetOptions
