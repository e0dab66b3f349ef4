"""What happened to every row: the names other packages may use.

Each is loaded with its own file when somebody asks for it first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from callsheet.tasks.on_demand import load_on_demand

if TYPE_CHECKING:
    from callsheet.tasks.ledger.accounts import (
        Account,
        AtLimit,
        Terms,
        all_accounts,
        day_of,
        find_account,
    )
    from callsheet.tasks.ledger.acts import Act, acts_of, note_act
    from callsheet.tasks.ledger.all_of_row import (
        ShownEvent,
        ShownTake,
        WholeRow,
        events_between,
        whole_row,
    )
    from callsheet.tasks.ledger.campaigns import (
        Campaign,
        Tally,
        all_campaigns,
        check_unchanged,
        ensure_campaign,
        find_campaign,
        has_event,
        last_event,
        newest_event,
        set_budget,
        tally_of,
    )
    from callsheet.tasks.ledger.cancel import (
        CancelMark,
        CancelRequests,
        ask_to_cancel,
        cancel_mark,
        cancel_requests,
        end_cancel,
        is_paid,
        wake_stalled,
    )
    from callsheet.tasks.ledger.catalogue import catalogue_of, keep_catalogue
    from callsheet.tasks.ledger.counters import keep_counts, keeping_counts
    from callsheet.tasks.ledger.counts import Counts, counts_of, tags_of
    from callsheet.tasks.ledger.deliveries import (
        Delivered,
        RowVideo,
        add_delivery,
        deliver,
        deliveries_of,
        videos_of,
    )
    from callsheet.tasks.ledger.diff import (
        ACTIONS,
        Action,
        RowDiff,
        changed_fields,
        diff_row,
        diff_sheet,
    )
    from callsheet.tasks.ledger.filters import RowFilter
    from callsheet.tasks.ledger.gates import (
        KeptPace,
        accepted_of_late,
        close_gate,
        gate_of,
        gate_of_group,
        keep_pace,
        pace_of,
    )
    from callsheet.tasks.ledger.gathering import gathers
    from callsheet.tasks.ledger.hints import (
        Heard,
        Hint,
        TrackedVideo,
        count_hints,
        drop_old_hints,
        events_heard,
        hinted_at,
        hints_heard,
        keep_hint,
        last_heard,
        latest_hint,
        pings_heard,
        tracked_videos,
    )
    from callsheet.tasks.ledger.leases import Lease, campaign_lease, owns
    from callsheet.tasks.ledger.ledger import Ledger, open_ledger
    from callsheet.tasks.ledger.listen import listening
    from callsheet.tasks.ledger.moves import move, note, remark
    from callsheet.tasks.ledger.origins import (
        PaidElsewhere,
        campaigns_from,
        has_paid,
        is_begun,
        is_latest_from,
        origins_of,
        paid_elsewhere,
        set_apart,
    )
    from callsheet.tasks.ledger.outlines import count_wanted, endings_of, numbers_of, pages_of
    from callsheet.tasks.ledger.paid_calls import (
        NEW,
        CallOutcome,
        PaidCall,
        calls_about,
        close_call,
        drop_call,
        join_call,
        note_videos,
        open_call,
        resolve_call,
        unsettled_calls,
        videos_known,
    )
    from callsheet.tasks.ledger.plans import (
        PLAN_STATES,
        KeptPlan,
        KeptSheet,
        PlanKind,
        PlanState,
        approve_plan,
        approved_by,
        approved_since,
        begin_plan,
        find_plan,
        find_sheet,
        finish_plan,
        hold_plans,
        keep_sheet,
        latest_plan,
        plan_before,
        plans_of,
        plans_quoting,
        void_plan,
    )
    from callsheet.tasks.ledger.productions import (
        ClaimedBatch,
        Headway,
        Production,
        begin_production,
        claim_batch,
        end_batch,
        end_production,
        find_production,
        free_batches,
        headway_of,
        rely_on_hints,
        renew_batches,
        states_by_crew,
        stop_production,
    )
    from callsheet.tasks.ledger.quotes import (
        PricedRow,
        Quoted,
        approve,
        changed_since,
        hold_unpaid,
        priced_rows,
        record_quote,
        record_quotes,
        renew_quote,
        too_dear,
    )
    from callsheet.tasks.ledger.reports import Reported, note_report, rows_changed_since
    from callsheet.tasks.ledger.restore import PastTake, restore_count, restore_take
    from callsheet.tasks.ledger.retake import RETAKEABLE, adopt_video, approve_retakes, give_up
    from callsheet.tasks.ledger.reviews import (
        REASONS,
        VERDICTS,
        Review,
        Reviewed,
        ReviewStands,
        Verdict,
        kept_rows,
        last_reviews,
        review,
        review_all,
        review_of,
        reviews_of,
    )
    from callsheet.tasks.ledger.runs import (
        BoardRun,
        ask_run,
        claim_run,
        end_run,
        find_run,
        note_begun,
        open_runs,
        renew_run,
        run_again,
        run_for,
        runs_of,
        unbegun_run,
    )
    from callsheet.tasks.ledger.shown import (
        SORTS,
        Shown,
        ShownRow,
        Sort,
        count_shown,
        names_shown,
        shown_rows,
        video_of_take,
        videos_shown,
    )
    from callsheet.tasks.ledger.states import (
        NEEDS_PERSON,
        NOT_BEGUN,
        STATES,
        TRANSITIONS,
        UNDER_WAY,
        State,
    )
    from callsheet.tasks.ledger.subscriptions import (
        Subscription,
        all_subscriptions,
        name_subscription,
        plan_subscription,
        retire_subscription,
    )
    from callsheet.tasks.ledger.sync import Unsynced, sync_sheet
    from callsheet.tasks.ledger.takes import accept, correct_charge, open_take, refuse, settle
    from callsheet.tasks.ledger.urgency import rows_for_a_person, urgent_rows
    from callsheet.tasks.ledger.values import (
        CampaignRow,
        Event,
        Take,
        cells_of,
        events_of,
        lengths_of,
        rows_by_number,
        rows_of,
        takes_of,
    )
    from callsheet.tasks.ledger.variety import Variety, variety_of
    from callsheet.tasks.ledger.video_findings import (
        PictureKind,
        StoredPicture,
        VideoFindings,
        findings_in,
        findings_of,
        keep_findings,
    )
    from callsheet.tasks.ledger.videos import TakeVideo, find_take_video
    from callsheet.tasks.ledger.work import RowToCarry, names_of_rows, rows_to_carry
else:
    __getattr__ = load_on_demand(__name__, __file__)
