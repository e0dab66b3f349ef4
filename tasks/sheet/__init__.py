"""Sheets to briefs. Knows no service, no ledger and no Prefect."""

from callsheet.tasks.sheet.read import parse_sheet, read_sheet
from callsheet.tasks.sheet.table import Sheet, SheetOptions
