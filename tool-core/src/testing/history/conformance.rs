//! The macro that generates the conformance tests of a store of conversations.

/// Generates a test for each requirement of a store of conversations. See [`testing::history`](crate::testing::history).
///
/// Takes an expression that each test evaluates: `Some` of a
/// [`HistoryStoreUnderTest`](crate::testing::history::HistoryStoreUnderTest), or `None` if there is no store to test. The
/// test is then [skipped](crate::testing::skip), which fails where `CI=true`. The expression may
/// await. Requires `tokio` with the features `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! history_store_conformance {
    ($store:expr) => {
        $crate::history_store_conformance! { @tests $store,
            appends::messages_come_back_as_they_were,
            appends::first_append_creates_the_conversation,
            appends::empty_append_creates_the_conversation,
            appends::message_that_cannot_be_read_is_refused,
            appends::late_writer_gets_a_conflict,
            appends::racing_writers_do_not_mix_their_messages,
            appends::conversation_is_loaded_from_a_message_on,
            appends::many_messages_are_appended_at_once,
            appends::handles_see_each_others_messages,
            appends::invalid_ids_are_refused,
            lists::conversation_that_was_used_last_comes_first,
            lists::pages_list_each_conversation_once,
            lists::summary_has_the_size_and_the_times,
            lists::info_comes_back_as_it_was,
            lists::info_creates_the_conversation,
            lists::info_is_bounded,
            principals::conversations_of_another_principal_are_not_there,
            principals::principals_use_the_same_id,
            principals::ids_are_not_mistaken_for_each_other,
            branches::branch_has_the_first_messages,
            branches::call_and_its_results_stay_together,
            branches::results_behind_a_note_stay_with_their_call,
            branches::branch_goes_its_own_way,
            branches::branch_takes_no_session,
            branches::branch_of_a_missing_conversation_is_an_error,
            branches::branch_does_not_replace_a_conversation,
            branches::racing_branches_create_one_conversation,
            deletions::deleted_conversation_is_gone,
            deletions::deleted_id_begins_anew,
            deletions::unused_conversations_are_deleted,
            damage::damaged_message_is_named,
            damage::messages_beside_a_damaged_one_are_read,
            damage::damage_shows_nothing_of_the_message,
        }
    };
    (@tests $store:expr, $($area:ident::$case:ident,)*) => {
        $(#[::tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $case() {
            match $store {
                Some(store) => $crate::testing::history::$area::$case(&store).await,
                None => $crate::testing::skip("there is no store to test"),
            }
        })*
    };
}
