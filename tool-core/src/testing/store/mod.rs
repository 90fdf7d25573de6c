//! What every session store has to do, as tests to run against it.
//!
//! Limits, loops, approvals and sessions hold because the store decides them. Whoever writes a
//! [`SessionStore`] says how to come by one, and has each rule as a test of its own:
//!
//! ```
//! //! use std::time::Duration;
//! use tool_core::session::MemoryStore;
//! use tool_core::testing::store::StoreUnderTest;
//!
//! struct Memory(Arc<MemoryStore>);
//!
//! impl StoreUnderTest for Memory {
//!     const TICK: Duration = Duration::from_mins(1);
//!
//!     type Store = Arc<MemoryStore>;
//!
//!     async fn handle(&self) -> Arc<MemoryStore> {
//!         self.0.clone()
//!     }
//!
//!     async fn pass(&self, time: Duration) {
//!         tokio::time::pause();
//!         tokio::time::advance(time).await;
//!         tokio::time::resume();
//!     }
//! }
//!
//! mod memory {
//!     # use super::*;
//!     tool_core::store_conformance!(Some(Memory(Arc::default())));
//! }
//! # fn main() {}
//! ```
#![allow(clippy::missing_panics_doc)]

pub mod approvals;
pub mod budgets;
pub mod charges;
pub mod driver;
pub mod loops;
pub mod sessions;
pub mod state;
pub mod time;
pub mod turns;

#[cfg(test)]
mod tests;

use crate::session::store::SessionStore;
use std::time::Duration;

// Each of the cases panics where the store does something else; that is what they are for.

/// A store to test, which no other test uses: it begins without sessions.
pub trait StoreUnderTest: Send + Sync {
    /// A time that the store can tell from none, and that a test can let pass. What the tests wait for lasts a few.
    const TICK: Duration;

    /// The store.
    type Store: SessionStore;

    /// The store as one more process would have it. All handles are of the same store.
    fn handle(&self) -> impl Future<Output = Self::Store> + Send;

    /// Lets this much of the store's time pass. Called within a current-thread runtime of tokio, so that its time can
    /// be paused.
    fn pass(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// Writes a test for each thing that a session store has to do. See [`testing::store`](crate::testing::store).
///
/// Takes an expression that each test evaluates: `Some` of a [`StoreUnderTest`](crate::testing::store::StoreUnderTest),
/// or `None` where there is no such store to test here, and the test passes. Needs `tokio` with the features `macros` and
/// `rt-multi-thread` among the dependencies, as the tests race.
#[macro_export]
macro_rules! store_conformance {
    ($store:expr) => {
        $crate::store_conformance! { @tests (flavor = "multi_thread", worker_threads = 4), $store,
            budgets::exactly_as_many_of_racing_calls_pass_as_a_turn_may_make,
            budgets::exactly_as_many_of_racing_calls_pass_as_a_category_may_make,
            budgets::exactly_as_many_of_racing_calls_pass_as_a_tool_may_make,
            budgets::racing_calls_and_refunds_never_have_more_running_than_the_limit,
            budgets::without_limits_every_call_passes,
            budgets::a_limit_of_zero_admits_nothing,
            budgets::a_refusal_says_which_budget_and_how_much_was_used,
            budgets::the_narrowest_budget_is_the_one_that_is_told,
            budgets::categories_and_tools_have_budgets_of_their_own,
            charges::a_call_that_waits_for_a_person_counts_its_attempt_and_spends_no_budget,
            charges::a_call_that_waits_for_a_person_is_refused_when_the_budget_is_spent,
            charges::an_approved_call_counts_no_attempt_and_is_charged,
            charges::an_approved_call_is_refused_when_the_budget_is_spent,
            charges::arguments_that_do_not_decode_count_an_attempt_and_are_charged_nothing,
            charges::a_tool_of_the_runtimes_own_counts_nothing,
            charges::a_refund_gives_one_call_back,
            charges::refunds_give_back_no_more_than_was_charged,
            charges::a_refund_for_a_turn_that_is_over_gives_nothing_back,
            loops::the_third_identical_attempt_is_refused_and_the_fourth_says_four,
            loops::racing_identical_attempts_pass_exactly_twice,
            loops::attempts_with_other_arguments_or_of_other_tools_count_apart,
            loops::attempts_that_the_budget_refuses_count_as_attempts,
            loops::a_turn_of_many_different_attempts_still_knows_the_last_ones,
            loops::empty_results_are_counted_by_tool,
            loops::an_empty_result_of_a_turn_that_is_over_does_not_count,
            loops::the_loop_is_told_before_the_budget,
            turns::counters_begin_anew_with_the_next_turn,
            turns::attempts_and_empty_results_begin_anew_with_the_next_turn,
            turns::turns_are_counted,
            turns::racing_calls_and_turns_never_pass_more_than_the_limit_in_a_turn,
            state::changes_are_made_in_order,
            state::values_come_back_as_they_were,
            state::what_a_late_call_changes_is_changed,
            state::in_text_a_turn_leaves_nothing_of_the_state,
            state::in_voice_the_state_outlives_the_turn,
            state::the_audit_log_is_in_order_and_outlives_the_turn,
            state::the_audit_log_keeps_the_last_thousand_entries,
            state::racing_entries_are_all_in_the_audit_log,
            state::two_handles_see_one_another,
            sessions::a_session_that_is_open_is_joined,
            sessions::a_session_is_not_joined_in_the_other_mode,
            sessions::a_session_that_is_ending_is_over_at_the_next_turn,
            sessions::an_ended_session_is_inactive_everywhere,
            sessions::ending_twice_is_fine,
            sessions::an_ended_session_changes_no_more,
            sessions::the_id_of_an_ended_session_opens_a_new_one,
            sessions::sessions_know_nothing_of_one_another,
            sessions::at_the_cap_none_is_opened_and_none_is_put_out,
            sessions::ended_sessions_make_room,
            sessions::exactly_as_many_of_racing_openings_pass_as_there_is_room,
            sessions::racing_openings_of_one_id_share_one_session,
            approvals::a_pending_call_comes_back_as_it_was,
            approvals::one_of_many_who_take_a_pending_call_gets_it,
            approvals::a_pending_call_outlives_the_handle_and_the_turn_in_which_it_was_made,
            approvals::a_pending_call_is_taken_from_its_own_session_only,
            approvals::a_pending_call_ends_with_its_session,
            approvals::what_was_never_minted_is_not_there,
            approvals::so_many_pending_calls_are_kept_and_the_latest_is_among_them,
        }
        $crate::store_conformance! { @tests (flavor = "current_thread"), $store,
            time::a_session_that_nobody_uses_is_over,
            time::a_session_that_is_used_lives_on,
            time::expired_sessions_make_room_and_live_ones_keep_theirs,
            time::the_id_of_an_expired_session_opens_a_new_one,
            time::a_pending_call_expires,
        }
    };
    (@tests $runtime:tt, $store:expr, $($area:ident::$case:ident,)*) => {
        $(#[::tokio::test $runtime]
        async fn $case() {
            if let Some(store) = $store {
                $crate::testing::store::$area::$case(&store).await;
            }
        })*
    };
}
