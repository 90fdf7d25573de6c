//! The macro that generates the conformance tests of a session store.

/// Generates a test for each requirement of a session store. See [`testing::store`](crate::testing::store).
///
/// Takes an expression that each test evaluates: `Some` of a [`StoreUnderTest`](crate::testing::store::StoreUnderTest), or `None` if
/// there is no store to test. The test is then [skipped](crate::testing::skip), which fails where `CI=true`. The expression may
/// await. Requires `tokio` with the features `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! store_conformance {
    ($store:expr) => {
        $crate::store_conformance! { @tests (flavor = "multi_thread", worker_threads = 4), $store,
            budgets::racing_calls_pass_up_to_the_limit_of_a_turn,
            budgets::racing_calls_pass_up_to_the_limit_of_a_category,
            budgets::racing_calls_pass_up_to_the_limit_of_a_tool,
            budgets::racing_refunds_never_exceed_the_limit,
            budgets::without_limits_every_call_passes,
            budgets::limit_of_zero_admits_nothing,
            budgets::refusal_names_the_budget_and_its_use,
            budgets::narrowest_budget_is_reported_first,
            budgets::categories_and_tools_have_separate_budgets,
            charges::waiting_call_counts_an_attempt_and_no_budget,
            charges::waiting_call_is_refused_when_the_budget_is_spent,
            charges::approved_call_is_charged_and_counts_no_attempt,
            charges::approved_call_is_refused_when_the_budget_is_spent,
            charges::invalid_arguments_count_an_attempt_and_no_budget,
            charges::control_tools_count_nothing,
            charges::refund_restores_one_call,
            charges::refunds_never_exceed_the_charges,
            charges::refund_for_an_earlier_turn_changes_nothing,
            loops::third_identical_attempt_is_refused,
            loops::racing_identical_attempts_pass_exactly_twice,
            loops::other_arguments_and_other_tools_count_apart,
            loops::attempts_refused_by_the_budget_count,
            loops::latest_attempts_of_a_long_turn_are_known,
            loops::empty_results_are_counted_by_tool,
            loops::empty_result_of_an_earlier_turn_does_not_count,
            loops::loop_is_reported_before_the_budget,
            turns::counters_begin_again_with_the_next_turn,
            turns::loop_detection_begins_again_with_the_next_turn,
            turns::turns_are_counted,
            turns::one_of_racing_turns_gets_the_pending_message,
            turns::pending_message_is_delivered_once,
            turns::racing_calls_and_turns_never_exceed_the_limit,
            state::changes_are_applied_in_order,
            state::values_come_back_as_they_were,
            state::late_call_changes_the_state,
            state::text_state_ends_with_its_turn,
            state::voice_state_outlives_its_turn,
            state::audit_log_is_in_order_and_outlives_the_turn,
            state::audit_log_keeps_the_last_thousand_entries,
            state::racing_entries_are_all_in_the_audit_log,
            state::handles_see_each_others_changes,
            calls::calls_come_back_as_they_were,
            calls::latest_calls_are_kept,
            calls::calls_belong_to_their_session,
            sessions::open_session_is_joined,
            sessions::session_is_not_joined_in_another_mode,
            sessions::ending_session_is_over_at_the_next_turn,
            sessions::ended_session_is_inactive_over_all_handles,
            sessions::ending_twice_succeeds,
            sessions::ended_session_does_not_change,
            sessions::id_of_an_ended_session_opens_a_new_one,
            sessions::sessions_are_isolated,
            sessions::full_store_opens_no_session_and_closes_none,
            sessions::ended_sessions_make_room,
            sessions::racing_openings_pass_up_to_the_limit,
            sessions::racing_openings_of_one_id_share_one_session,
            owners::session_is_joined_by_its_owner_only,
            owners::another_principal_learns_nothing_else,
            owners::owner_outlives_the_handles,
            owners::racing_principals_share_no_session,
            owners::next_owner_gets_nothing_of_an_ended_session,
            owners::late_handle_does_not_reach_the_next_session,
            owners::incarnations_distinguish_sessions,
            approvals::pending_call_comes_back_as_it_was,
            approvals::pending_call_is_consumed_once,
            approvals::pending_call_outlives_its_handle_and_its_turn,
            approvals::pending_call_belongs_to_its_session,
            approvals::pending_call_ends_with_its_session,
            approvals::unknown_ids_find_no_pending_call,
            approvals::pending_calls_are_bounded,
            approvals::bytes_of_pending_calls_are_bounded,
        }
        $crate::store_conformance! { @tests (flavor = "current_thread"), $store,
            time::unused_session_expires,
            time::used_session_does_not_expire,
            time::expired_sessions_make_room_and_live_ones_stay,
            time::id_of_an_expired_session_opens_a_new_one,
            time::pending_call_expires,
            owners::next_owner_gets_nothing_of_an_expired_session,
            owners::refused_openings_do_not_use_a_session,
            calls::calls_outlive_their_session_for_a_while,
            calls::calls_outlive_an_expired_session,
        }
    };
    (@tests $runtime:tt, $store:expr, $($area:ident::$case:ident,)*) => {
        $(#[::tokio::test $runtime]
        async fn $case() {
            match $store {
                Some(store) => $crate::testing::store::$area::$case(&store).await,
                None => $crate::testing::skip("there is no store to test"),
            }
        })*
    };
}
