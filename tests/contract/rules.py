"""What the specification says besides its tables of endpoints, and the tests that show it.

One line for each rule, under the number of its section, in words of our own.
"""

from __future__ import annotations

_CLIENT = "tests/contract/test_client_"
_DIALECTS = _CLIENT + "dialects.py::test_"
_STATES = _CLIENT + "states.py::test_"
_STATUSES = _CLIENT + "statuses.py::test_"
_SCOPES = _CLIENT + "scopes.py::test_"
_HOOKS = _CLIENT + "webhooks.py::test_"
_WHOLE = _CLIENT + "sandbox.py::test_"
_HERE = "tests/contract/sandbox/test_"
_DELIVERY = _HERE + "webhooks_delivery.py::test_"
_DISABLING = _HERE + "webhooks_disabling.py::test_"
_MONEY = _HERE + "sandbox_money.py::test_"
_CODE = _HERE + "auth_code.py::test_"
_DEVICE = _HERE + "auth_device.py::test_"
_CLAIMS = _HERE + "auth_claims.py::test_"
_KEYS = _HERE + "auth_keys.py::test_"
_DISCOVERY = _HERE + "auth_discovery.py::test_"
_REGISTRATION = _HERE + "auth_registration.py::test_"
_EXPIRY = _HERE + "auth_expiry.py::test_"
_LOGIN = "tests/contract/test_login.py::test_"

RULES: dict[int, dict[str, tuple[str, ...]]] = {
    1: {
        "a video is made from a tool": (
            _HERE + "sandbox_money.py::test_the_charge_is_the_estimate",
        ),
        "a video is made from a script": (_DIALECTS + "a_video_from_create_to_download",),
        "a quote is free": (_MONEY + "an_estimate_reserves_nothing",),
        "a clip may speak, and lasts what was asked for": (_DIALECTS + "clips",),
    },
    3: {
        "a create that does not start is a draft": (
            _STATES + "a_draft_is_generated_when_it_is_asked_to_be",
        ),
        "a create that starts is generating": (_DIALECTS + "a_video_from_create_to_download",),
        "an edit changes no state": (_STATES + "an_edited_script_is_used_by_the_next_generate",),
        "an edited script takes effect at the next generate": (
            _STATES + "an_edited_script_is_used_by_the_next_generate",
        ),
        "generate starts a draft, or a video after edits": (
            _STATES + "a_draft_is_generated_when_it_is_asked_to_be",
            _STATES + "an_edited_script_is_used_by_the_next_generate",
        ),
        "generate leaves alone what is generating": (
            _STATUSES + "409_generating_what_is_generating",
        ),
        "cancel stops a render and gives its credits back": (
            _STATES + "a_cancelled_render_gives_its_credits_back",
        ),
        "cancel leaves alone what does not run": (_STATUSES + "409_cancelling_what_does_not_run",),
        "twenty failures in a row disable a webhook": (
            _HOOKS + "after_twenty_failures_it_is_off_until_the_client_turns_it_on",
        ),
        "a disabled webhook stays so until it is enabled": (
            _HOOKS + "after_twenty_failures_it_is_off_until_the_client_turns_it_on",
        ),
    },
    4: {
        "the same key yields the same video": (_DIALECTS + "the_same_key_again",),
        "without a key a repeat is a second video": (
            _MONEY + "without_a_key_a_repeat_is_a_second_video",
        ),
        "a created video has id, status and polling hint": (
            _DIALECTS + "a_video_from_create_to_download",
        ),
        "captions are text, in the format asked for": (_DIALECTS + "captions",),
        "a regenerated scene leaves the others alone": (
            _STATES + "a_regenerated_scene_leaves_the_others_alone",
        ),
        "a webhook's secret is in the answer to its creation alone": (
            _DIALECTS + "the_life_of_a_subscription",
        ),
        "a share link needs no account": (_DIALECTS + "a_share_link_needs_no_key",),
    },
    5: {
        "every operation asks for a bearer token": (_SCOPES + "without_a_token_there_is_401",),
        "keys begin with mav_ and are shown once": (
            _DEVICE + "polling_from_pending_to_the_token_once",
        ),
        "every operation needs its scope": (
            _SCOPES + "a_key_opens_what_its_scope_covers_and_nothing_else",
        ),
        "a missing scope is 403, forbidden, not retryable": (
            _SCOPES + "a_key_opens_what_its_scope_covers_and_nothing_else",
        ),
        "a missing or malformed token is 401 for good": (
            _SCOPES + "an_unknown_key_opens_nothing",
            _SCOPES + "a_malformed_key_opens_nothing",
        ),
        "a revoked token is 401": (
            _SCOPES + "a_revoked_key_opens_nothing_any_more",
            _LOGIN + "a_revoked_key_is_told",
        ),
        "the hosted MCP server takes the same keys": (
            _DISCOVERY + "mcp_takes_the_same_keys_and_says_that_it_has_no_tools",
        ),
        "it sends a stranger to its metadata": (
            _DISCOVERY + "mcp_sends_a_stranger_to_the_metadata",
            _LOGIN + "the_mcp_server_says_where_to_log_in",
        ),
        "the authorization server describes itself": (
            _DISCOVERY + "the_authorization_server_describes_itself",
        ),
        "the protected resource is described": (
            _DISCOVERY + "the_resource_is_described_where_it_is_and_where_the_rfc_looks",
        ),
        "clients register without a secret": (_REGISTRATION + "it_registers_a_public_client",),
        "a device-only client has no redirect": (
            _REGISTRATION + "a_device_only_client_needs_no_redirect",
        ),
        "a code with PKCE becomes a token": (
            _CODE + "the_whole_way",
            _LOGIN + "through_a_browser_and_a_later_command_needs_nothing_else",
        ),
        "a device asks for a code by form or JSON": (
            _DEVICE + "a_code_is_asked_for_by_form_or_json",
        ),
        "what a device says of its program is optional": (
            _DEVICE + "everything_about_the_program_is_optional",
        ),
        "a code bound to a client is for that client": (
            _DEVICE + "a_bound_code_is_for_its_client_alone",
        ),
        "the person sees who asks and enters the code": (
            _DEVICE + "the_page_shows_who_asks_and_takes_the_code_in_any_form",
        ),
        "authorization_pending: keep polling": (
            _DEVICE + "polling_from_pending_to_the_token_once",
        ),
        "slow_down: wait longer": (_DEVICE + "polling_too_fast_slows_down_each_time",),
        "expired_token: start again": (
            _EXPIRY + "tokens_and_codes_expire_and_claims_get_fresh_ones_until_they_expire_too",
        ),
        "access_denied: the person declined": (
            _DEVICE + "a_refusal_of_the_person_stays",
            _LOGIN + "a_no_is_told_and_nothing_is_kept",
        ),
        "invalid_grant: unknown or used": (_DEVICE + "what_cannot_be_polled_for",),
        "the token comes with its type and scopes": (
            _DEVICE + "polling_from_pending_to_the_token_once",
            _LOGIN + "with_a_code_and_out_again",
            _LOGIN + "fewer_scopes_than_asked_are_told_with_what_they_lack",
        ),
        "the REST pair is the same flow": (_DEVICE + "the_rest_pair_is_the_same_flow",),
        "a claim comes with a user code": (_CLAIMS + "a_claim_comes_with_a_user_code",),
        "only the account that was named may approve it": (
            _CLAIMS + "the_account_with_that_address_approves_and_no_other",
            _LOGIN + "an_email_login_is_for_that_person_alone",
        ),
        "a claim whose code ran out gets a fresh one": (
            _EXPIRY + "tokens_and_codes_expire_and_claims_get_fresh_ones_until_they_expire_too",
            "tests/unit/login/test_claim.py::"
            "test_a_code_that_runs_out_is_replaced_while_the_claim_holds",
        ),
        "a claim that is under way gets no fresh code (409)": (
            _CLAIMS + "a_fresh_code_is_refused_while_there_is_one_or_an_answer",
        ),
        "other kinds of identity are not enabled": (_CLAIMS + "what_else_is_refused",),
        "a key made in the app is taken as it is": (
            _LOGIN + "a_key_is_read_from_standard_input_and_tried",
        ),
        "revoking always answers 200": (
            _KEYS + "revoking_always_answers_200",
            _LOGIN + "with_a_code_and_out_again",
        ),
    },
    6: {
        "a finished render is told as video.ready": (
            _HOOKS + "a_finished_video_is_told_under_the_secret_of_the_subscription",
        ),
        "the raw body is signed with the secret": (
            _HOOKS + "a_finished_video_is_told_under_the_secret_of_the_subscription",
            _DELIVERY + "a_finished_render_is_told_with_a_signature",
        ),
        "kind, id, timestamp and attempt come as headers": (
            _HOOKS + "a_finished_video_is_told_under_the_secret_of_the_subscription",
        ),
        "a retry has the id and the bytes of the first": (
            _HOOKS + "attempts_are_listed_with_the_repeated_ones",
        ),
        "any 2xx acknowledges": (_DELIVERY + "any_2xx_acknowledges",),
        "anything else is a failure": (
            _DELIVERY + "anything_else_is_a_failure_told_in_a_sentence",
        ),
        "five retries on the schedule, then none": (
            _DELIVERY + "a_failure_is_tried_again_five_times_and_then_no_more",
        ),
        "twenty failures in a row disable": (
            _DISABLING + "twenty_failures_in_a_row_disable_a_webhook",
        ),
        "a ping says data.test": (_HOOKS + "a_ping_can_be_told_from_a_real_event",),
        "the last fifty attempts are listed": (
            _DELIVERY + "the_last_fifty_attempts_are_listed_newest_first",
        ),
        "a bad address or event is 400": (
            _STATUSES + "400_a_subscription_with_a_bad_address_or_event",
        ),
    },
    7: {
        "refusals are enveloped": (
            _HERE + "sandbox_statuses.py::test_it_wants_a_good_key",
            _SCOPES + "without_a_token_there_is_401",
        ),
        "4xx is not retryable": (_STATUSES + "404_what_is_not_there",),
        "but a download that is not ready is": (
            _STATUSES + "409_a_video_that_is_not_ready_may_be_asked_for_again",
        ),
        "400": (
            _STATUSES + "400_a_brief_or_script_that_is_not_one",
            _STATUSES + "400_a_subscription_with_a_bad_address_or_event",
            _STATUSES + "400_captions_before_there_is_caption_data",
        ),
        "401": (_SCOPES + "an_unknown_key_opens_nothing",),
        "402": (
            _STATUSES + "402_a_create_without_credits",
            _STATUSES + "402_a_clip_without_credits",
        ),
        "403": (_SCOPES + "a_key_opens_what_its_scope_covers_and_nothing_else",),
        "404": (_STATUSES + "404_what_is_not_there",),
        "409": (
            _STATUSES + "409_generating_what_is_generating",
            _STATUSES + "409_cancelling_what_does_not_run",
            _STATUSES + "409_a_video_that_is_not_ready_may_be_asked_for_again",
        ),
        "429": (
            _STATUSES + "429_the_rate_limit_names_its_moment",
            _WHOLE + "a_limit_closes_the_gate_until_its_moment",
        ),
        "anonymous_not_enabled, issuer_not_enabled, invalid_claim_token": (
            _CLAIMS + "what_else_is_refused",
        ),
        "claimed_or_in_flight is 409": (
            _CLAIMS + "a_fresh_code_is_refused_while_there_is_one_or_an_answer",
        ),
        "claim_expired is 410": (
            _EXPIRY + "tokens_and_codes_expire_and_claims_get_fresh_ones_until_they_expire_too",
        ),
    },
    8: {
        "50 attempts are listed": (_DELIVERY + "the_last_fifty_attempts_are_listed_newest_first",),
        "5 retries: 30 s, 2 m, 10 m, 1 h, 6 h": (
            _DELIVERY + "a_failure_is_tried_again_five_times_and_then_no_more",
        ),
        "20 failures": (_DISABLING + "twenty_failures_in_a_row_disable_a_webhook",),
        "a download address is valid for 15 minutes": (
            _HERE + "sandbox_download.py::test_its_address_expires",
        ),
        "a clip of an image lasts 5 or 10 s, a swap 3 to 60 s": (
            _STATUSES + "a_clip_of_another_length_is_refused",
        ),
        "user codes last 600 s, polls are 5 s apart": (
            _DEVICE + "a_code_is_asked_for_by_form_or_json",
            _EXPIRY + "tokens_and_codes_expire_and_claims_get_fresh_ones_until_they_expire_too",
        ),
        "a claim token lasts 24 hours": (_CLAIMS + "a_claim_comes_with_a_user_code",),
        "webhooks are public and https": (
            _HERE + "webhooks_addresses.py::test_a_host_that_is_not_public_is_refused",
            _HERE + "webhooks_addresses.py::test_an_update_is_judged_like_a_create",
        ),
        "scenes are counted from 1": (
            _STATUSES + "a_scene_that_is_not_there",
            "tests/unit/service/test_remakes.py::test_scenes_are_counted_from_one",
        ),
        "a limit names its moment": (_STATUSES + "429_the_spend_limit_names_its_moment",),
    },
    9: {
        "the version is in the path": (
            "tests/unit/service/test_each_operation.py::"
            "test_it_sends_what_the_table_says_and_takes_the_success",
        ),
        "a machine-readable description is published": (
            "tests/contract/test_specification.py::"
            "test_the_sandbox_describes_every_operation_with_its_statuses",
        ),
    },
}
