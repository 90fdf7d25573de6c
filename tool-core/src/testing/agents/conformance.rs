//! The macro that generates the conformance tests of a store of agents.

/// Generates a test for each requirement of a store of agents. See [`testing::agents`](crate::testing::agents).
///
/// Takes an expression that each test evaluates: `Some` of an [`AgentStoreUnderTest`](crate::testing::agents::AgentStoreUnderTest), or `None` if
/// there is no store to test. The test is then [skipped](crate::testing::skip), which fails where `CI=true`. The expression may
/// await. Requires `tokio` with the features `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! agent_store_conformance {
    ($store:expr) => {
        $crate::agent_store_conformance! { @tests (flavor = "multi_thread", worker_threads = 4), $store,
            writes::record_comes_back_as_it_was_written,
            writes::missing_record_is_none,
            writes::existing_record_is_not_written_as_a_new_one,
            writes::record_is_written_only_in_its_current_version,
            writes::removed_record_is_not_written_as_a_change,
            writes::record_is_removed_only_in_its_current_version,
            writes::removed_record_is_gone,
            writes::handles_see_each_others_writes,
            writes::agents_are_isolated,
            refusals::invalid_ids_are_refused,
            refusals::invalid_ids_find_nothing,
            refusals::settings_that_are_no_object_or_too_deep_are_refused,
            versions::unknown_agent_has_version_zero,
            versions::each_write_and_each_removal_adds_one_version,
            versions::refused_writes_add_no_version,
            versions::versions_are_never_used_again,
            versions::load_has_the_versions_of_all_its_records,
            secrets::secrets_are_set_kept_and_cleared,
            secrets::secrets_hold_any_bytes,
            secrets::replaced_secrets_change_no_version,
            secrets::secrets_are_replaced_only_if_unchanged,
            secrets::kept_secrets_are_the_current_ones,
            secrets::secrets_are_removed_with_their_record,
            lists::agents_are_listed_in_order_and_in_pages,
            lists::agents_without_records_are_not_listed,
            lists::sealed_secrets_are_listed_in_order_and_in_pages,
            lists::secrets_under_the_key_are_left_out,
            lists::ids_of_any_letters_sort_by_their_bytes,
            lists::many_agents_are_all_listed_once,
            contents::settings_keep_their_order_and_every_digit,
            contents::settings_hold_every_character,
            contents::settings_of_a_mebibyte_come_back,
            contents::settings_of_the_greatest_depth_come_back,
            contents::disabled_actions_have_any_names,
            contents::ids_have_any_letters,
            races::of_racing_writers_one_wins_each_version,
            races::racing_writers_of_different_records_all_succeed,
            races::of_racing_insertions_one_succeeds,
            races::of_racing_removals_one_succeeds,
            races::of_racing_replacements_of_secrets_one_succeeds,
            races::of_racing_holders_one_gets_the_lease,
            races::load_is_of_one_moment,
            leases::lease_has_one_holder_at_a_time,
            leases::holder_may_acquire_its_lease_again,
            leases::record_that_does_not_exist_has_no_lease,
            leases::lease_is_released_by_its_holder_only,
            leases::lease_changes_no_version,
            leases::lease_outlives_writes_and_ends_with_the_record,
            leases::lease_has_any_duration,
            actions::action_comes_back_as_it_was,
            actions::action_belongs_to_its_agent,
            actions::action_is_taken_once,
            actions::actions_are_bounded,
            actions::bytes_of_actions_are_bounded,
        }
        $crate::agent_store_conformance! { @tests (flavor = "current_thread"), $store,
            leases::lease_expires,
            actions::action_expires,
            actions::taken_action_has_the_time_that_is_left,
            leases::acquiring_a_lease_again_extends_it,
        }
    };
    (@tests $runtime:tt, $store:expr, $($area:ident::$case:ident,)*) => {
        $(#[::tokio::test $runtime]
        async fn $case() {
            match $store {
                Some(store) => $crate::testing::agents::$area::$case(&store).await,
                None => $crate::testing::skip("there is no store to test"),
            }
        })*
    };
}
