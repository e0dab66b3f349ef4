"""Sheets to briefs. Knows no service, no ledger and no Prefect."""

from callsheet.tasks.sheet.names import template_problem
from callsheet.tasks.sheet.read import parse_sheet, read_sheet
from callsheet.tasks.sheet.values import HiddenRows, Sheet, SheetOptions
