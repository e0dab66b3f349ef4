"""The addresses of the API that answer with a command: who may call each, and where it stands."""

from __future__ import annotations

from callsheet.deployments.board.api import campaigns, rows
from callsheet.deployments.board.api.calls import Call
from callsheet.deployments.board.services import approval, plans, runs
from callsheet.deployments.commands import cancel, costs, drift, people, prune, resolve, review

#: The path of a campaign.
ONE = "/campaigns/{campaign}"

CALLS = (
    Call("GET /campaigns", campaigns.list_campaigns, "viewer", tag="campaigns"),
    Call(f"GET {ONE}", campaigns.get_campaign, "viewer", tag="campaigns"),
    Call(f"POST {ONE}/carry-on", runs.carry_campaign_on, "approver", tag="campaigns", status=202),
    Call(f"GET {ONE}/drift", drift.get_drift, "reviewer", tag="campaigns"),
    Call(f"POST {ONE}/repair", drift.repair_campaign, "approver", tag="campaigns"),
    Call("GET /activity", campaigns.list_activity, "viewer", tag="health"),
    Call("POST /plans", plans.make_plan, "reviewer", tag="plans", status=202),
    Call("GET /plans/{plan}", plans.get_plan, "viewer", tag="plans"),
    Call("POST /plans/{plan}/approve", approval.approve_plan, "approver", tag="plans", status=202),
    Call(f"POST {ONE}/retakes", plans.plan_retakes, "reviewer", tag="campaigns", status=202),
    Call("GET /runs/{run}", runs.get_run, "viewer", tag="runs"),
    Call("POST /runs/{run}/carry-on", runs.carry_run_on, "approver", tag="runs", status=202),
    Call("GET /me", people.who_am_i, "viewer", tag="people"),
    Call("GET /people", people.list_people, "admin", tag="people"),
    Call("POST /people", people.invite_person, "admin", tag="people", status=201),
    Call("DELETE /people/{name}", people.revoke_person, "admin", tag="people"),
    Call("GET /links", people.list_links, "admin", tag="people"),
    Call("POST /links", people.make_link, "admin", tag="people", status=201),
    Call("DELETE /links/{link}", people.end_link, "admin", tag="people"),
    Call("GET /costs", costs.get_costs, "viewer", tag="costs"),
    Call(f"POST {ONE}/cancel", cancel.cancel_rows, "approver", tag="campaigns", status=202),
    Call(f"GET {ONE}/prune", prune.list_old_videos, "approver", tag="campaigns"),
    Call(f"POST {ONE}/prune", prune.delete_old_videos, "approver", tag="campaigns"),
    Call(f"GET {ONE}/rows", rows.list_rows, "viewer", tag="rows"),
    Call(f"GET {ONE}/rows/{{row}}", rows.get_row, "viewer", tag="rows"),
    Call(f"POST {ONE}/rows/{{row}}/resolve", resolve.resolve_row, "approver", tag="rows"),
    Call(f"POST {ONE}/rows/{{row}}/review", review.review_row, "reviewer", "decide", tag="reviews"),
    Call("GET /unsettled-calls", resolve.list_unsettled_calls, "viewer", tag="calls"),
    Call("POST /unsettled-calls/{call}", resolve.resolve_paid_call, "approver", tag="calls"),
)
