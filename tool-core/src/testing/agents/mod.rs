//! What every store of agents has to do, as tests to run against it.
//!
//! That no two writers lose each other's work, and that no reader sees half of it, holds because the store sees to it.
//! Whoever writes an [`AgentToolStore`](crate::agents::AgentToolStore) says how to come by one, and has each rule as a test of its own:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//! use tool_core::agents::{DynAgentToolStore, MemoryAgentToolStore};
//! use tool_core::testing::agents::AgentStoreUnderTest;
//!
//! struct Memory(Arc<MemoryAgentToolStore>);
//!
//! impl AgentStoreUnderTest for Memory {
//!     const TICK: Duration = Duration::from_mins(1);
//!
//!     async fn handle(&self) -> Arc<dyn DynAgentToolStore> {
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
//!     tool_core::agent_store_conformance!(Some(Memory(Arc::default())));
//! }
//! # fn main() {}
//! ```
#![allow(clippy::missing_panics_doc)]

pub mod contents;
pub mod driver;
pub mod leases;
pub mod lists;
pub mod races;
pub mod refusals;
pub mod secrets;
pub mod versions;
pub mod writes;

#[cfg(test)]
mod tests;

use crate::agents::DynAgentToolStore;
use std::sync::Arc;
use std::time::Duration;

// Each of the cases panics where the store does something else; that is what they are for.

/// A store to test, which no other test uses: it begins without records.
pub trait AgentStoreUnderTest: Send + Sync {
    /// A time that the store can tell from none, and that a test can let pass. What the tests wait for lasts a few.
    const TICK: Duration;

    /// The store as one more process would have it. All handles are of the same store.
    fn handle(&self) -> impl Future<Output = Arc<dyn DynAgentToolStore>> + Send;

    /// Lets this much of the store's time pass. Called within a current-thread runtime of tokio, so that its time can
    /// be paused.
    fn pass(&self, time: Duration) -> impl Future<Output = ()> + Send;
}

/// Writes a test for each thing that a store of agents has to do. See [`testing::agents`](crate::testing::agents).
///
/// Takes an expression that each test evaluates: `Some` of an
/// [`AgentStoreUnderTest`](crate::testing::agents::AgentStoreUnderTest), or `None` where there is no such store to test
/// here, and the test passes. The expression may await. Needs `tokio` with the features `macros` and `rt-multi-thread`
/// among the dependencies, as the tests race.
#[macro_export]
macro_rules! agent_store_conformance {
    ($store:expr) => {
        $crate::agent_store_conformance! { @tests (flavor = "multi_thread", worker_threads = 4), $store,
            writes::a_record_comes_back_as_it_was_written,
            writes::a_record_that_is_not_there_is_none,
            writes::a_record_that_is_there_is_not_written_as_a_new_one,
            writes::a_record_is_not_written_in_another_version_than_the_one_that_was_read,
            writes::a_record_that_was_removed_is_not_written_again_unawares,
            writes::a_record_is_not_removed_in_another_version,
            writes::a_removed_record_is_gone,
            writes::handles_see_one_another,
            writes::agents_know_nothing_of_one_another,
            refusals::ids_that_no_database_holds_are_refused,
            refusals::nothing_is_found_under_an_id_that_no_database_holds,
            refusals::settings_that_would_not_come_back_are_refused,
            versions::an_agent_that_never_had_a_record_has_version_zero,
            versions::each_write_and_each_removal_is_one_version_more,
            versions::what_was_refused_costs_no_version,
            versions::versions_never_come_back,
            versions::a_load_has_the_versions_of_all_its_records,
            secrets::they_are_set_kept_and_cleared,
            secrets::they_hold_any_bytes,
            secrets::they_are_replaced_without_a_new_version,
            secrets::they_are_replaced_only_where_they_are_still_there,
            secrets::what_is_kept_is_what_was_sealed_anew_meanwhile,
            secrets::they_go_with_their_record,
            lists::agents_are_listed_in_order_and_in_pages,
            lists::agents_without_records_are_not_listed,
            lists::sealed_secrets_are_listed_by_agent_and_toolset_and_in_pages,
            lists::secrets_under_the_key_are_left_out,
            lists::ids_of_any_letters_sort_by_their_bytes,
            lists::many_agents_are_all_listed_once,
            contents::settings_keep_their_order_and_every_digit,
            contents::settings_hold_every_character,
            contents::settings_of_a_mebibyte_come_back,
            contents::settings_come_back_from_the_deepest_level_that_is_taken,
            contents::disabled_actions_have_any_names,
            contents::ids_have_any_letters,
            races::of_racing_writers_one_wins_each_version,
            races::racing_writers_of_different_records_all_succeed,
            races::of_racing_insertions_one_succeeds,
            races::of_racing_removals_one_succeeds,
            races::of_racing_replacements_of_secrets_one_succeeds,
            races::of_racing_holders_one_gets_the_lease,
            races::a_load_is_of_one_moment,
            leases::one_holder_at_a_time_has_it,
            leases::the_holder_may_take_it_again,
            leases::nobody_has_it_where_there_is_no_record,
            leases::whoever_does_not_have_it_gives_nothing_back,
            leases::no_version_tells_of_it,
            leases::it_outlives_writes_and_goes_with_the_record,
            leases::it_may_last_for_ever,
        }
        $crate::agent_store_conformance! { @tests (flavor = "current_thread"), $store,
            leases::it_ends_by_itself,
            leases::taking_it_again_makes_it_last,
        }
    };
    (@tests $runtime:tt, $store:expr, $($area:ident::$case:ident,)*) => {
        $(#[::tokio::test $runtime]
        async fn $case() {
            if let Some(store) = $store {
                $crate::testing::agents::$area::$case(&store).await;
            }
        })*
    };
}
