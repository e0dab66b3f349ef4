"""Everything that is known to go wrong between a sheet and its videos, and the tests that show it.

A test of a file `*_torture.py` is slow and not collected by default. `but` says what of a fault is
not shown here, and why.
"""

from __future__ import annotations

from dataclasses import dataclass

_LOST = "tests/faults/test_lost_answers.py::test_"
_REFUSED = "tests/faults/test_refusals.py::test_"
_GONE = "tests/faults/test_connection.py::test_"
_RATE = "tests/faults/test_rate_limits.py::test_"
_WAITING = "tests/faults/test_waiting.py::test_"
_DELIVERY = "tests/faults/test_delivery.py::test_"
_BUCKET = "tests/faults/test_bucket.py::test_"
_DISKS = "tests/faults/test_disks.py::test_"
_PROCESS = "tests/faults/test_process.py::test_"
_CUT_OFF = "tests/faults/test_calls_cut_off.py::test_"
_PREFECT = "tests/faults/prefect_torture.py::test_"
_SLOW = "tests/faults/slow_torture.py::test_"
_BUCKETS = "tests/faults/bucket_torture.py::test_"
_MORE = "tests/faults/more_torture.py::test_"
_SOCKETS = "tests/unit/service/test_real_sockets.py::test_"
_CONNECTIONS = "tests/unit/service/test_connections.py::test_"
_ONCE = "tests/unit/service/test_sent_once.py::test_"
_SHAPES = "tests/unit/service/test_shapes.py::test_"
_MATRIX = "tests/unit/service/test_retry_matrix.py::test_"
_FETCH = "tests/unit/store/test_fetch.py::test_"
_FULL = "tests/unit/store/test_full_disk.py::test_"
_DECIDE = "tests/unit/engine/test_decide.py::test_"
_OPENING = "tests/unit/ledger/test_opening.py::test_"
_ENDS = "tests/pipeline/test_exit_statuses.py::test_"
_STOPS = "tests/pipeline/test_stops.py::test_"
_CRASH = "tests/crash/test_crash_points.py::test_"
_STORE = "tests/contract/test_store_s3.py::test_"
_S3 = "tests/contract/test_store_s3_trouble.py::test_"
_SENT = "tests/contract/sandbox/test_webhooks_faults.py::test_"
_HOOKS = "tests/contract/test_client_webhooks.py::test_"
_SUBSCRIBED = "tests/contract/test_subscriptions.py::test_"
_WEBHOOKS = "tests/faults/test_webhooks.py::test_"
_RECEIVER = "tests/receiver/test_"
_HEARS = _RECEIVER + "deliveries.py::test_"
_SIGNED = _RECEIVER + "signatures.py::test_"
_BODIES = _RECEIVER + "bodies.py::test_"
_LIMITS = _RECEIVER + "limits.py::test_"
_COMMITS = _RECEIVER + "commits.py::test_"
_TOLD = _RECEIVER + "sandbox_deliveries.py::test_every_delivery_ends_as_one_hint"

_STRUCK = _LOST + "a_create_that_is_struck_once_ends_with_one_video"
_SAID = _WAITING + "whatever_is_said_of_a_video_that_is_there_it_is_fetched"
_DOWNLOAD = _DELIVERY + "a_download_that_is_struck_brings_the_true_video"
_LIMIT = _REFUSED + "a_limit_is_waited_out_however_its_moment_is_told"
_MORE_CREATES = _MORE + "a_create_struck_in_other_ways_ends_with_one_video"
_MORE_DOWNLOADS = _MORE + "a_download_struck_in_other_ways_brings_the_true_video"
_MORE_SAID = _MORE + "whatever_else_is_said_of_a_video_that_is_there_it_is_fetched"
_UPLOAD = _BUCKET + "trouble_that_passes_is_sat_out"
_SHUT = _BUCKET + "a_bucket_that_stops_letting_us_in_holds_the_row"
_BROKEN = "tests/faults/test_broken_store.py::test_"


@dataclass(frozen=True)
class Fault:
    """One thing that goes wrong: the tests that show how it ends, and what they do not show."""

    tests: tuple[str, ...]
    but: str | None = None


def _shown(*tests: str, but: str | None = None) -> Fault:
    return Fault(tests, but)


SUBMITTING = {
    "nobody listens": _shown(
        _GONE + "a_service_that_is_not_there_is_told_before_anything_is_spent[nobody listens]",
        _PROCESS + "a_service_that_goes_down_in_the_middle_and_comes_back_is_waited_for",
        _MORE + "a_service_that_is_gone_leaves_everything_to_a_later_run",
        _SOCKETS + "a_refused_connection_is_not_sent",
    ),
    "the host has no address": _shown(
        _GONE + "a_service_that_is_not_there_is_told_before_anything_is_spent[no such host]",
        _SOCKETS + "an_unknown_host_is_not_sent",
    ),
    "the certificate is not trusted": _shown(
        _GONE + "a_certificate_that_nobody_vouches_for_is_told_and_not_tried_for_ever",
        _SOCKETS + "a_server_that_does_not_speak_tls_is_not_sent",
    ),
    "reset before a byte of the answer": _shown(_STRUCK + "[reset before anything was done]"),
    "reset after the create was carried out": _shown(
        _MORE_CREATES + "[reset after the video was begun]",
        _STRUCK + "[dropped after the video was begun]",
        _LOST + "a_create_that_is_struck_for_ever_is_left_to_a_later_run",
    ),
    "dropped after the request, which was not carried out": _shown(
        _MORE_CREATES + "[dropped before anything was done]",
        _STRUCK + "[reset before anything was done]",
        _MORE + "a_create_that_is_never_carried_out_is_left_to_a_later_run",
    ),
    "no answer within its time": _shown(
        _SLOW + "an_answer_that_never_comes_is_asked_for_again_after_its_time",
        _PROCESS + "a_sheet_edited_after_a_kill_does_not_change_what_was_sent",
        _CONNECTIONS + "a_fault_has_one_outcome",
    ),
    "500, and the create was carried out": _shown(_STRUCK + "[500 after the video was begun]"),
    "500, and it was not": _shown(
        _MORE_CREATES + "[500 before anything was done]", _STRUCK + "[a proxy's 502]"
    ),
    "a proxy's page: 502, 503, 504": _shown(
        _STRUCK + "[a proxy's 502]",
        _MORE_CREATES + "[a proxy's 504 over a video that was begun]",
        _SOCKETS + "an_html_error_page_is_told_by_its_title",
    ),
    "202 with cut JSON": _shown(
        _MORE_CREATES + "[half a JSON that claims to be whole]",
        _STRUCK + "[cut JSON]",
    ),
    "202 without an id": _shown(
        _MORE_CREATES + "[no id in it]",
        _SHAPES + "a_create_without_one_certain_id_is_unknown",
    ),
    "202 with the id under another name": _shown(
        _MORE + "an_id_under_another_name_or_without_an_envelope_is_found",
        _SHAPES + "the_id_is_found_under_any_name",
    ),
    "200 instead of 202 on a repeat": _shown(_LOST + "a_repeat_may_be_answered_with_200"),
    "409 while the first call of the key is at work": _shown(
        _STRUCK + "[409: the same is under way]",
        _MATRIX + "a_create_that_meets_itself_waits_for_the_first",
    ),
    "422: the key is held for another body": _shown(
        _LOST + "a_key_that_is_held_for_another_body_asks_a_person"
    ),
    "429 with seconds": _shown(
        _LIMIT + "[in seconds]",
        _RATE + "two_processes_of_a_ledger_share_the_gate",
        _RATE + "a_run_that_waits_at_the_gate_can_be_stopped_and_goes_on_later",
    ),
    "429 with a date of a clock that is wrong": _shown(
        _MORE_CREATES + "[a limit told as a date of a clock three hours ahead]",
        _LIMIT + "[as a date of a clock three hours behind]",
    ),
    "429 without a moment, or with an absurd one": _shown(
        _LIMIT + "[not at all]",
        _MORE_CREATES + "[a limit told as a negative number]",
        _REFUSED + "a_limit_beyond_all_sense_parks_and_is_kept",
    ),
    "credits run out in the middle": _shown(
        _REFUSED + "credits_that_run_out_in_the_middle_hold_the_rest"
    ),
    "the key is revoked in the middle": _shown(
        _REFUSED + "a_key_revoked_in_the_middle_holds_the_rest",
        _REFUSED + "a_key_revoked_while_a_video_is_made_leaves_it_to_a_later_run",
    ),
    "the key lacks the scope": _shown(
        _REFUSED + "a_key_without_the_scope_buys_nothing_and_the_right_one_does"
    ),
    "one brief is refused": _shown(_REFUSED + "one_refused_brief_holds_nobody_else_back"),
    "a redirect to another host": _shown(_REFUSED + "a_redirect_to_another_host_is_not_followed"),
    "an idle connection was closed unannounced": _shown(
        _LOST + "an_idle_connection_that_was_closed_unannounced_costs_nothing",
        _ONCE + "a_connection_the_service_has_dropped_is_never_met",
    ),
    "headers that drip": _shown(
        _MORE_CREATES + "[headers that drip]",
        _CONNECTIONS + "a_fault_has_one_outcome",
    ),
    "the service has forgotten the key": _shown(
        _LOST + "past_the_horizon_nothing_is_sent_to_a_service_that_forgot_the_key"
    ),
    "the sheet is edited between a kill and the next run": _shown(
        _PROCESS + "a_sheet_edited_after_a_kill_does_not_change_what_was_sent"
    ),
    "two processes at work at once": _shown(
        _MORE + "the_same_campaign_from_two_folders_at_once_is_paid_once",
        _STOPS + "a_second_run_at_the_same_time_is_told_who_is_at_work",
        _SLOW + "a_run_frozen_for_longer_than_its_lease_does_not_pay_for_what_another_took_over",
    ),
    "the clock jumps": _shown(
        _PROCESS + "a_clock_that_jumps_between_runs_costs_nothing",
        _MORE + "a_clock_that_jumps_forward_between_runs_costs_nothing",
        _DECIDE + "whatever_is_observed_the_decision_is_lawful",
        but="only root could set this machine's clock; instead what the ledger remembers is moved",
    ),
}

WAITING = {
    "an unknown word for the status": _shown(
        _SAID + "[an unknown word]",
        _DECIDE + "an_unknown_word_stalls_after_enough_polls_and_time",
    ),
    "no word for the status": _shown(_MORE_SAID + "[no word]", _SAID + "[an unknown word]"),
    "a render that never ends": _shown(
        _WAITING + "a_render_that_never_ends_is_never_paid_again",
        _WAITING + "a_render_that_takes_too_long_is_stalled_and_fetched_free_later",
    ),
    "a render that failed": _shown(
        _WAITING + "a_render_that_fails_is_told_and_costs_nothing",
        _WAITING + "a_failed_render_is_made_again_as_often_as_was_approved",
    ),
    "404 right after the create": _shown(_SAID + "[404 right after the create]"),
    "a colleague deleted the video": _shown(
        _WAITING + "a_video_that_a_colleague_deleted_is_never_paid_again_by_itself"
    ),
    "looks are answered with 5xx for minutes": _shown(
        _MORE + "a_look_struck_in_other_ways_is_repeated",
        _SAID + "[503 for a while]",
        _SLOW + "a_service_in_trouble_for_minutes_parks_the_run",
        _REFUSED + "a_row_whose_price_cannot_be_asked_is_held_and_the_others_are_made",
        _REFUSED + "one_row_alone_whose_price_cannot_be_asked_does_not_keep_the_others_waiting",
    ),
    "a polling hint of nothing, of years, or a word": _shown(
        _MORE_SAID + "[no first look at all]",
        _SAID + "[a hint of thirty years]",
        _MORE_SAID + "[a hint that is a word]",
    ),
    "an address for the video, then 409": _shown(
        _WAITING + "an_address_that_is_refused_after_it_was_given_is_asked_for_again"
    ),
    "the video of the render before": _shown(
        _WAITING + "a_new_video_of_a_row_never_takes_the_place_of_the_old_one",
        "tests/contract/sandbox/test_faults_file.py::test_it_is_the_video_from_before",
        "tests/pipeline/test_edits.py::"
        "test_the_video_from_before_an_edit_is_not_delivered_as_the_edited_one",
    ),
}

HOOKS = {
    "the same event twice": _shown(
        _TOLD + "[doubled]",
        _HEARS + "a_repeated_delivery_is_acknowledged_and_heard_once",
        _WEBHOOKS + "whatever_befalls_deliveries_every_video_comes_and_is_paid_once",
        _SENT + "doubled_is_sent_twice_under_one_id",
    ),
    "the same body as another event": _shown(
        _TOLD + "[replayed]",
        _HEARS + "a_body_that_comes_again_under_other_ids_is_heard_once",
        _WEBHOOKS + "whatever_befalls_deliveries_every_video_comes_and_is_paid_once",
        _SENT + "replayed_comes_again_under_another_id",
    ),
    "out of order": _shown(
        _HEARS + "deliveries_may_come_in_any_order",
        _WEBHOOKS + "a_signed_lie_is_not_believed",
    ),
    "a wrong signature, or none": _shown(
        _SIGNED + "a_false_signature_is_refused[beyond ASCII]",
        _SIGNED + "two_signatures_are_none",
        _TOLD + "[forged]",
        _TOLD + "[unsigned]",
        _WEBHOOKS + "whatever_befalls_deliveries_every_video_comes_and_is_paid_once",
        _SENT + "forged_comes_before_the_true_one",
        _SENT + "unsigned_has_no_signature_and_the_retry_has",
    ),
    "a body written anew after it was signed": _shown(
        _SIGNED + "a_body_that_was_written_anew_does_not_fit_its_signature",
        _TOLD + "[reserialized]",
        _SENT + "reserialized_does_not_fit_its_signature_and_the_retry_does",
    ),
    "an event that comes hours late": _shown(
        _TOLD + "[late]",
        _HEARS + "no_moment_is_too_old_or_too_new",
        _WEBHOOKS + "whatever_befalls_deliveries_every_video_comes_and_is_paid_once",
        _SENT + "late_is_sent_later_once",
    ),
    "an event of a video that is not ours": _shown(
        _HEARS + "an_unknown_kind_or_a_strangers_video_is_kept_and_acknowledged",
        _WEBHOOKS + "a_signed_lie_is_not_believed",
    ),
    "an unknown kind of event, or a ping": _shown(
        _HEARS + "an_unknown_kind_or_a_strangers_video_is_kept_and_acknowledged",
        _HEARS + "a_ping_is_what_says_so_in_its_body",
        _RECEIVER + "sandbox_deliveries.py::test_a_ping_is_heard_as_one",
        _HOOKS + "a_ping_can_be_told_from_a_real_event",
    ),
    "a body without end": _shown(
        _BODIES + "ten_megabytes_are_cut_off[without a length]",
        _BODIES + "ten_megabytes_are_refused_before_they_are_read",
        _LIMITS + "hundreds_of_slow_connections_keep_no_delivery_waiting[in the body]",
        _LIMITS + "what_does_not_come_within_its_time_is_not_waited_for",
    ),
    "a crash before the acknowledgement": _shown(
        _COMMITS + "a_kill_around_the_commit_costs_nothing[after]"
    ),
    "an event that cannot be written down": _shown(
        _COMMITS + "a_delivery_that_finds_the_disk_full_comes_again",
        _COMMITS + "a_ledger_that_is_locked_too_long_has_the_delivery_come_again",
    ),
    "the service gives the subscription up": _shown(
        _WEBHOOKS + "a_subscription_that_the_service_gives_up_costs_no_video",
        _SUBSCRIBED + "disabled_after_twenty_failures_it_is_enabled_once_it_is_heard",
        _HOOKS + "after_twenty_failures_it_is_off_until_the_client_turns_it_on",
    ),
    "an event that never comes": _shown(
        _RECEIVER + "sandbox_deliveries.py::test_a_missing_delivery_leaves_the_next_one_alone",
        _WEBHOOKS + "whatever_befalls_deliveries_every_video_comes_and_is_paid_once",
        _SENT + "missing_is_sent_to_nobody",
    ),
    "the secret of a subscription is lost": _shown(
        _SUBSCRIBED + "a_webhook_whose_secret_is_lost_is_told_and_replaced_by_a_person",
        "tests/pipeline/test_webhook_commands.py::test_a_lost_answer_says_that_a_secret_may_be_lost",
        _ONCE + "a_subscription_without_its_id_is_not_made_again",
    ),
    "two secrets while one replaces the other": _shown(
        _HEARS + "two_secrets_are_taken_while_one_replaces_the_other",
        _RECEIVER
        + "sandbox_deliveries.py::test_two_subscriptions_at_once_are_heard_and_harm_nobody",
        _SUBSCRIBED + "rotation_refuses_no_delivery_and_loses_none",
    ),
}

DELIVERING = {
    "the address has expired": _shown(_DOWNLOAD + "[an address that has expired]"),
    "the address expires during the transfer": _shown(
        _MORE_DOWNLOADS + "[an address that expires during the transfer]"
    ),
    "a cut body of known length": _shown(
        _DOWNLOAD + "[a cut body of known length]",
    ),
    "a cut body of unknown length": _shown(
        _MORE_DOWNLOADS + "[a cut body whose end nobody can tell]",
        _DELIVERY + "what_is_no_video_never_gets_into_the_store",
    ),
    "the range is ignored": _shown(_MORE_DOWNLOADS + "[a cut, and a server that ignores ranges]"),
    "another video in the second part": _shown(
        _DOWNLOAD + "[a cut, and another ETag]",
        _FETCH + "a_part_of_another_video_is_never_joined_on",
    ),
    "a page with status 200": _shown(
        _DOWNLOAD + "[a page that says 200]",
    ),
    "no byte, or no index": _shown(
        _MORE_DOWNLOADS + "[no byte]",
        _DOWNLOAD + "[a video without its index]",
        _DELIVERY + "a_video_that_stays_broken_is_held_and_stays_paid",
    ),
    "compressed unasked": _shown(_MORE_DOWNLOADS + "[a video compressed unasked]"),
    "captions that never come, or are none": _shown(
        _DELIVERY + "captions_that_never_come_do_not_hold_back_the_video",
        _DELIVERY + "captions_that_are_none_are_asked_for_again",
        _MORE + "captions_that_are_empty_are_asked_for_again",
    ),
    "a disk without room": _shown(
        _DISKS + "a_ledger_whose_disk_fills_up_in_the_middle_says_what_was_paid",
        _DISKS + "a_spool_without_room_leaves_the_video_to_a_later_run",
        _DISKS + "a_store_that_fills_up_keeps_no_half_a_video",
        _DISKS + "a_backup_that_has_no_room_names_the_disk",
        _DISKS + "a_restore_that_has_no_room_names_the_disk",
        _FULL + "a_spool_that_fills_up_gives_its_room_back",
    ),
    "the bucket asks to slow down": _shown(
        _UPLOAD + "[slow down]", _S3 + "attempts_at_a_busy_store_end"
    ),
    "stored, and the answer lost": _shown(
        _UPLOAD + "[answer lost, then 412]", _S3 + "a_lost_answer_to_an_upload_is_found_out"
    ),
    "the name is taken by our own upload": _shown(_UPLOAD + "[answer lost, then 412]"),
    "the name is taken by a stranger": _shown(
        _BUCKET + "a_strangers_object_is_left_alone",
        _BUCKET + "once_the_trouble_is_over_every_video_is_there_and_paid_once",
    ),
    "the bucket ignores If-None-Match": _shown(
        _BUCKETS + "a_bucket_that_ignores_if_none_match_does_not_lose_a_strangers_object",
        _STORE + "another_file_is_left_alone",
    ),
    "the bucket refuses checksum headers": _shown(
        _BUCKETS + "a_bucket_that_refuses_checksum_headers_gets_the_video",
        _S3 + "a_store_that_refuses_checksum_headers_gets_md5",
    ),
    "the checksum does not fit": _shown(
        _UPLOAD + "[bytes changed]", _S3 + "bytes_that_change_on_the_way_are_noticed"
    ),
    "credentials expire during an upload": _shown(_SHUT + "[credentials that expire]"),
    "the bucket is gone, or denies access": _shown(
        _SHUT + "[access that is denied]",
        _SHUT + "[a bucket that is gone]",
        _ENDS + "a_missing_bucket_is_found_before_anything_is_spent",
        _BROKEN + "a_bucket_that_breaks_stops_the_spending",
        _BROKEN + "a_folder_that_breaks_stops_the_spending",
    ),
    "an upload abandoned by a kill": _shown(
        _BUCKET + "a_run_killed_in_the_middle_of_an_upload_leaves_no_part_of_it"
    ),
}

RUNNING = {
    "killed at any point": _shown(
        _CRASH + "a_kill_at_any_point_costs_nothing_but_time",
    ),
    "a signal with calls under way": _shown(
        _MORE + "a_run_ended_by_a_signal_with_calls_under_way_loses_none",
        _STOPS + "a_signal_stops_within_seconds_and_the_next_run_goes_on",
    ),
    "the Prefect server dies or restarts": _shown(
        _PREFECT + "a_prefect_server_that_dies_does_not_cost_a_video",
        _PREFECT + "a_prefect_server_that_restarts_does_not_cost_a_video",
        _PREFECT + "a_prefect_server_that_is_not_there_does_not_cost_a_video",
        _PREFECT + "a_prefect_server_that_wants_credentials_is_used_with_the_right_ones_alone",
    ),
    "a task is repeated after it succeeded": _shown(
        _CUT_OFF + "a_step_that_is_carried_out_again_after_it_succeeded_pays_nothing"
    ),
    "the ledger is locked, read-only, damaged, or of another release": _shown(
        _DISKS + "a_ledger_that_another_program_locks_for_a_while_is_waited_for",
        _DISKS + "a_ledger_that_cannot_be_written_stops_the_run_before_it_pays",
        _DISKS + "a_ledger_on_a_disk_that_is_read_only_is_named_and_goes_on_as_a_copy",
        _DISKS + "a_damaged_ledger_is_named_and_its_videos_are_not_paid_again",
        _DISKS + "a_ledger_of_another_release_is_refused",
        _ENDS + "a_locked_ledger_is_told_in_a_sentence",
        _OPENING + "a_file_damaged_while_open_is_a_sentence_too",
    ),
    "the whole process stands still": _shown(
        _PROCESS + "a_run_that_is_frozen_goes_on_where_it_was",
        _PROCESS + "a_second_process_that_hangs_keeps_no_video_from_being_delivered",
        _SLOW + "a_run_frozen_for_longer_than_its_lease_does_not_pay_for_what_another_took_over",
    ),
    "connections are used up by calls that were cut off": _shown(
        _CUT_OFF + "the_client_calls_on_after_hundreds_of_calls_were_cut_off",
        _CUT_OFF + "the_downloader_goes_on_after_hundreds_of_downloads_were_cut_off",
    ),
    "a person cancels while a video is finishing": _shown(
        _WAITING + "a_render_cancelled_from_outside_is_told_and_its_credits_are_free",
        _WAITING + "a_cancel_that_comes_too_late_changes_nothing",
    ),
}

FAULTS = {**SUBMITTING, **WAITING, **HOOKS, **DELIVERING, **RUNNING}
