"""What the specification leaves open, and the tests that show what is done about it.

Where `tests` is empty, `by` says which part answers for it.
"""

from __future__ import annotations

from dataclasses import dataclass

HERE = "tests/unit/service/test_holes.py::test_"
SHAPES = "tests/unit/service/test_shapes.py::test_"
OPERATIONS = "tests/unit/service/test_operations.py::test_"
EACH = "tests/unit/service/test_each_operation.py::test_"
MAKE = "tests/unit/service/test_make.py::test_"
ONCE = "tests/unit/service/test_sent_once.py::test_"
MATRIX = "tests/unit/service/test_retry_matrix.py::test_"
REMAKES = "tests/unit/service/test_remakes.py::test_"
LIST = "tests/unit/service/test_list.py::test_"
WEBHOOKS = "tests/unit/service/test_webhook_records.py::test_"
DECIDE = "tests/unit/engine/test_decide.py::test_"
TAKES = "tests/unit/ledger/test_takes.py::test_"
KEYS = "tests/unit/test_key.py::test_"
FETCH = "tests/unit/store/test_fetch.py::test_"
ROAD = "tests/pipeline/test_"
VIDEO = ROAD + "video_commands.py::test_"
SHEET = "tests/unit/sheet/test_"
LOGIN = "tests/unit/login/test_"
SANDBOX = "tests/contract/sandbox/test_"
HEARS = "tests/receiver/test_deliveries.py::test_"
COMMITS = "tests/receiver/test_commits.py::test_"
SUBSCRIBED = "tests/contract/test_subscriptions.py::test_"


@dataclass(frozen=True)
class Hole:
    """One thing that is not shown, and where it is tested or who answers for it."""

    subject: str
    tests: tuple[str, ...] = ()
    by: str | None = None


def _hole(subject: str, *tests: str, by: str | None = None) -> Hole:
    return Hole(subject, tests, by)


HOLES = {
    1: _hole(
        "fields of a video", SHAPES + "a_video_without_id_or_status_is_still_the_one_asked_for"
    ),
    2: _hole(
        "names of states",
        SHAPES + "any_word_is_a_status_and_all_else_is_kept",
        DECIDE + "an_unknown_word_stalls_after_enough_polls_and_time",
    ),
    3: _hole(
        "the state of a failed render, and why it failed",
        DECIDE + "a_word_for_failure_needs_two_polls_with_refused_downloads",
        DECIDE + "a_render_past_its_deadline_stalls_once_its_video_was_asked_for",
    ),
    4: _hole("the envelope of a success", SHAPES + "the_id_is_found_under_any_name"),
    5: _hole(
        "the name of a new video's id",
        SHAPES + "the_id_is_found_under_any_name",
        SHAPES + "a_create_without_one_certain_id_is_unknown",
    ),
    6: _hole(
        "the range of the polling hint",
        SHAPES + "a_polling_hint_is_a_number_of_seconds_or_nothing",
        DECIDE + "waits_between_polls_are_within_bounds",
    ),
    7: _hole(
        "required fields, and the default of start_generation",
        HERE + "required_fields_and_bounds_of_a_create_are_left_to_the_service",
        KEYS + "what_is_sent_is_the_brief_with_its_key",
        "tests/unit/sheet/test_script.py::test_a_row_has_a_tool_or_a_script",
    ),
    8: _hole(
        "the same key with another body",
        MAKE + "a_body_that_lacks_its_key_does_not_leave",
        OPERATIONS + "a_refusal_says_what_the_service_said_and_what_to_do",
        KEYS + "everything_that_makes_another_video_makes_another_key",
    ),
    9: _hole(
        "life, length and alphabet of keys",
        KEYS + "a_key_is_short_and_plain",
        DECIDE + "too_close_to_its_horizon_a_create_is_looked_for_and_not_sent",
    ),
    # Sent again under the same key, on purpose: docs/decisions.md, "402 keeps its key".
    10: _hole(
        "refusals kept under a key",
        OPERATIONS + "a_refusal_says_what_the_service_said_and_what_to_do",
        TAKES + "a_refused_take_is_taken_up_again_with_its_key_and_number",
    ),
    11: _hole("the status of a replay", SHAPES + "any_success_with_an_id_is_a_replay"),
    12: _hole("a replay after a deletion", DECIDE + "a_new_video_may_be_unknown_for_a_while"),
    13: _hole(
        "generating a finished video again",
        ONCE + "what_may_have_been_carried_out_is_not_sent_again",
        VIDEO + "a_lost_answer_without_a_key_is_settled_by_a_person",
    ),
    14: _hole("a draft and generate, or one call", KEYS + "what_is_sent_is_the_brief_with_its_key"),
    15: _hole(
        "bodies of clips",
        MAKE + "a_clip_with_a_key_is_asked_for_again_with_the_same_bytes",
        SHEET + "clips.py::test_what_the_service_calls_by_another_name_is_passed_through",
    ),
    16: _hole("bodies of remakes", EACH + "it_sends_what_the_table_says_and_takes_the_success"),
    17: _hole("the video served while another is made", by="deployments/direct/remakes.py"),
    18: _hole("shape of renders and progress", REMAKES + "progress_is_handed_on_in_whatever_shape"),
    19: _hole(
        "shape of a script",
        EACH + "it_sends_what_the_table_says_and_takes_the_success",
        "tests/unit/sheet/test_script.py::test_json_is_sent_as_it_is",
    ),
    20: _hole(
        "shape and unit of a quote",
        SHAPES + "a_quote_that_cannot_be_read_is_unknown_and_not_nothing",
        TAKES + "a_price_that_nobody_could_read_fits_no_budget",
    ),
    21: _hole(
        "the body of an estimate",
        OPERATIONS + "an_estimate_leaves_out_key_and_start",
        "tests/unit/ledger/test_quotes.py::"
        "test_a_refused_brief_is_rejected_with_the_services_words",
    ),
    22: _hole(
        "estimates of clips",
        ROAD + "clips.py::test_a_clip_without_a_price_of_its_own_is_not_bought_on_a_budget",
    ),
    23: _hole(
        "the balance",
        "tests/unit/service/test_shapes.py::test_the_credits_that_are_left",
        TAKES + "opens_of_two_programs_at_once_never_pass_the_budget",
    ),
    24: _hole(
        "whether a lack of credits passes",
        DECIDE + "a_refusal_that_no_row_is_to_blame_for_holds_the_run",
        ROAD + "rows_that_need_somebody.py::"
        "test_without_credits_the_rest_is_held_and_what_is_under_way_is_delivered",
    ),
    25: _hole(
        "where the limits are",
        "tests/unit/service/test_gate.py::"
        "test_no_request_leaves_before_the_moment_however_many_wait",
        ROAD + "rows_that_need_somebody.py::test_a_long_rate_limit_parks_the_run",
    ),
    26: _hole(
        "the form of Retry-After",
        "tests/unit/test_retry_after.py::test_a_date_is_compared_with_the_date_of_the_answer_and_not_with_our_clock",
    ),
    27: _hole("limits on other operations", HERE + "limits_on_other_operations"),
    28: _hole("trouble of the service", MATRIX + "what_keeps_failing_ends_as_the_matrix_says"),
    29: _hole("error codes", HERE + "error_codes"),
    30: _hole(
        "a missing or odd retryable",
        HERE + "retryable_that_is_missing_or_odd",
        ONCE + "what_may_have_been_carried_out_is_not_sent_again",
    ),
    31: _hole("errors that are not JSON", HERE + "errors_that_are_not_json"),
    32: _hole("members of meta", HERE + "the_name_of_a_request"),
    33: _hole(
        "shape, order and pages of a list",
        LIST + "a_list_is_found_and_read_once",
        LIST + "the_next_page_is_followed_where_one_is_named_and_on_the_same_host",
    ),
    34: _hole(
        "the name of the signed address",
        SHAPES + "the_signed_address_is_found_under_any_name",
        SHAPES + "without_one_certain_address_the_shape_is_wrong",
    ),
    35: _hole(
        "ranges, tags and lengths of a download",
        FETCH + "a_server_that_ignores_range_is_read_from_the_start",
        FETCH + "without_a_strong_etag_a_cut_starts_over",
        FETCH + "a_video_without_a_length_is_believed_when_its_boxes_add_up",
    ),
    36: _hole(
        "what an expired address answers",
        FETCH + "an_expired_address_is_replaced_and_the_download_goes_on",
    ),
    37: _hole(
        "the default format of captions",
        OPERATIONS + "captions_always_name_their_format_and_come_as_they_are",
    ),
    38: _hole(
        "captions that may come later",
        HERE + "captions_that_may_come_later",
        DECIDE + "late_captions_are_waited_for_and_then_held",
    ),
    39: _hole(
        "the charset of captions",
        OPERATIONS + "captions_always_name_their_format_and_come_as_they_are",
        "tests/unit/store/test_captions.py::test_srt_is_counted",
    ),
    40: _hole(
        "the state after a cancel",
        OPERATIONS + "cancelling_returns_the_video_or_nothing_but_never_fails_on_its_shape",
        DECIDE + "a_cancelled_render_is_cancelled_at_the_second_poll",
    ),
    41: _hole(
        "deleting what is generating",
        HERE + "deleting_what_is_generating",
        VIDEO + "without_an_answer_nothing_is_spent_or_deleted",
    ),
    42: _hole(
        "the vendor's part of names",
        "tests/unit/test_settings.py::test_every_setting_that_is_known_is_in_force",
        SANDBOX + "webhooks_delivery.py::test_the_vendor_part_of_the_headers_can_be_chosen",
    ),
    43: _hole(
        "where an event names its video",
        HEARS + "a_video_is_found_wherever_it_is_named",
        HEARS + "a_signed_body_of_any_form_is_kept_and_names_no_video",
    ),
    44: _hole("event kinds", WEBHOOKS + "a_subscription_is_read_in_any_envelope"),
    45: _hole(
        "what emits events", ROAD + "the_whole_pipeline.py::test_a_sheet_becomes_videos_once"
    ),
    46: _hole(
        "how long a receiver may take",
        "tests/receiver/test_limits.py::test_hundreds_of_slow_connections_keep_no_delivery_waiting",
        COMMITS + "a_ledger_that_is_locked_too_long_has_the_delivery_come_again",
    ),
    47: _hole(
        "the timestamp of a repeated delivery",
        HEARS + "no_moment_is_too_old_or_too_new",
    ),
    48: _hole(
        "the event kind of a ping",
        HEARS + "a_ping_is_what_says_so_in_its_body",
    ),
    49: _hole(
        "what the twenty failures count",
        SUBSCRIBED + "disabled_after_twenty_failures_it_is_enabled_once_it_is_heard",
        "tests/faults/test_webhooks.py::"
        "test_a_subscription_that_the_service_gives_up_costs_no_video",
    ),
    50: _hole(
        "events missed while disabled",
        "tests/contract/test_hearing.py::"
        "test_a_receiver_that_goes_is_missed_and_one_that_comes_back_is_relied_on",
        "tests/faults/test_webhooks.py::"
        "test_a_subscription_that_the_service_gives_up_costs_no_video",
    ),
    51: _hole(
        "fields of a delivery attempt", WEBHOOKS + "attempts_at_delivery_are_kept_as_they_are"
    ),
    52: _hole(
        "a lost webhook secret",
        WEBHOOKS + "the_secret_is_given_once_and_shown_nowhere",
        ROAD + "webhook_commands.py::test_a_lost_answer_says_that_a_secret_may_be_lost",
    ),
    53: _hole(
        "how long a token lasts",
        "tests/unit/service/test_operations.py::"
        "test_a_refusal_says_what_the_service_said_and_what_to_do",
    ),
    54: _hole(
        "state and scope of an authorization",
        LOGIN + "browser.py::test_an_answer_without_our_state_is_not_used",
        LOGIN + "device.py::test_scopes_that_nobody_named_are_unknown",
    ),
    55: _hole(
        "the status of token errors",
        LOGIN + "device.py::test_a_definite_answer_ends_it_whatever_its_status",
        LOGIN + "device.py::test_it_keeps_polling_through_trouble_less_often",
    ),
    56: _hole(
        "fields of the REST device pair",
        LOGIN + "discovery.py::test_without_a_document_the_paths_are_those_of_the_specification",
    ),
    57: _hole(
        "the port of a redirect address",
        LOGIN + "browser.py::test_it_registers_the_very_address_it_listens_on_and_proves_who_asked",
    ),
    58: _hole(
        "missing discovery documents",
        LOGIN + "discovery.py::test_without_a_document_the_paths_are_those_of_the_specification",
        LOGIN + "discovery.py::test_a_document_of_another_issuer_is_refused",
    ),
    59: _hole(
        "what a revocation did",
        "tests/contract/test_login.py::"
        "test_a_logout_that_proves_nothing_says_so_and_forgets_the_key",
    ),
    60: _hole(
        "bounds of durations, languages and voices",
        HERE + "required_fields_and_bounds_of_a_create_are_left_to_the_service",
        "tests/unit/sheet/test_cells.py::test_it_refuses_what_nobody_can_know",
    ),
    61: _hole("how many scenes there are", REMAKES + "scenes_are_counted_from_one"),
    62: _hole(
        "an event before its video",
        "tests/unit/service/test_operations.py::"
        "test_a_video_that_is_not_ready_is_a_conflict_told_at_once",
        DECIDE + "every_state_and_every_observation",
    ),
    63: _hole(
        "a new video that reads do not know yet", DECIDE + "a_new_video_may_be_unknown_for_a_while"
    ),
    64: _hole(
        "the machine-readable description",
        "tests/contract/test_specification.py::"
        "test_the_sandbox_describes_every_operation_with_its_statuses",
    ),
    65: _hole(
        "how versions end", OPERATIONS + "a_refusal_says_what_the_service_said_and_what_to_do"
    ),
    66: _hole(
        "the form of an image",
        HERE + "form_of_an_image",
        SHEET + "clips.py::test_an_image_is_animated",
    ),
    67: _hole(
        "keys on clips",
        MAKE + "a_clip_with_a_key_is_asked_for_again_with_the_same_bytes",
        ONCE + "what_may_have_been_carried_out_is_not_sent_again",
        ROAD + "clips.py::test_every_kind_of_clip_is_made_and_delivered_without_a_key",
    ),
    68: _hole(
        "two at work under one key", MATRIX + "a_create_that_meets_itself_waits_for_the_first"
    ),
}
