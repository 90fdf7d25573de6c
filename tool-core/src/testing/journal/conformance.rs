//! The macros that generate the conformance tests of a journal.

/// Generates a test for each requirement of a journal. See [`testing::journal`](crate::testing::journal).
///
/// Takes an expression that each test evaluates: `Some` of a
/// [`JournalUnderTest`](crate::testing::journal::JournalUnderTest), or `None` if there is no journal to test. The
/// test is then [skipped](crate::testing::skip), which fails where `CI=true`. The expression may
/// await. Requires `tokio` with the features `macros` and `rt-multi-thread`.
#[macro_export]
macro_rules! journal_conformance {
    ($journals:expr) => {
        $crate::journal_conformance! { @tests $journals,
            recovery::next_process_finds_calls_in_their_order,
            recovery::entry_comes_back_as_it_was,
            recovery::largest_response_comes_back,
            recovery::calls_of_this_process_are_not_recovered,
            recovery::repeated_call_id_replaces_the_earlier_call,
            recovery::approval_starts_one_call_of_a_process,
            recovery::approval_starts_one_call_of_all_processes,
            recovery::sessions_do_not_mix_whatever_their_ids_are,
            recovery::nothing_is_left_of_a_forgotten_session,
        }
    };
    (@tests $journals:expr, $($area:ident::$case:ident,)*) => {
        $(#[::tokio::test(flavor = "multi_thread", worker_threads = 4)]
        async fn $case() {
            match $journals {
                Some(journals) => $crate::testing::journal::$area::$case(&journals).await,
                None => $crate::testing::skip("there is no journal to test"),
            }
        })*
    };
}

/// Generates a test for each further requirement of a journal that processes share. See
/// [`testing::journal`](crate::testing::journal), and [`journal_conformance!`](crate::journal_conformance) for the
/// expression.
#[macro_export]
macro_rules! shared_journal_conformance {
    ($journals:expr) => {
        $crate::journal_conformance! { @tests $journals,
            sharing::running_call_of_another_process_does_not_start,
            sharing::call_runs_for_longer_than_a_lease,
            sharing::call_of_a_killed_process_is_known,
            sharing::call_of_another_process_is_found,
            sharing::ended_call_of_another_process_is_known,
            sharing::call_beyond_its_time_limit_is_known,
            sharing::known_call_is_replaced_by_its_number,
            sharing::replaced_call_is_not_ended_by_its_process,
            sharing::racing_processes_start_a_call_once,
            sharing::racing_processes_replace_a_call_once,
        }
    };
}
