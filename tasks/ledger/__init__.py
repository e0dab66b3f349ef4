"""What happened to every row: the names other packages may use."""

from tasks.ledger.adopt import adopt_sheet, foresee_sheet
from tasks.ledger.campaigns import (
    Campaign,
    Tally,
    all_campaigns,
    close_gate,
    drop_owner,
    ensure_campaign,
    find_campaign,
    gate_of,
    release_lease,
    set_budget,
    take_lease,
    tally_of,
)
from tasks.ledger.foresee import ACTIONS, Action, Foreseen
from tasks.ledger.history import Event, cells_of, deliveries_of, events_of
from tasks.ledger.ledger import Ledger, open_ledger
from tasks.ledger.moves import move, move_row, note, remark
from tasks.ledger.quotes import Quoted, approve, record_quote
from tasks.ledger.states import NEEDS_PERSON, NOT_BEGUN, ROAD, STATES, TRANSITIONS, UNDER_WAY, State
from tasks.ledger.takes import Delivered, accept, deliver, open_take, refuse, settle
from tasks.ledger.values import CampaignRow, Take, rows_of, takes_of

__all__ = [
    "ACTIONS",
    "NEEDS_PERSON",
    "NOT_BEGUN",
    "ROAD",
    "STATES",
    "TRANSITIONS",
    "UNDER_WAY",
    "Action",
    "Campaign",
    "CampaignRow",
    "Delivered",
    "Event",
    "Foreseen",
    "Ledger",
    "Quoted",
    "State",
    "Take",
    "Tally",
    "accept",
    "adopt_sheet",
    "all_campaigns",
    "approve",
    "cells_of",
    "close_gate",
    "deliver",
    "deliveries_of",
    "drop_owner",
    "ensure_campaign",
    "events_of",
    "find_campaign",
    "foresee_sheet",
    "gate_of",
    "move",
    "move_row",
    "note",
    "open_ledger",
    "open_take",
    "record_quote",
    "refuse",
    "release_lease",
    "remark",
    "rows_of",
    "set_budget",
    "settle",
    "take_lease",
    "takes_of",
    "tally_of",
]
