//! Calls of a session that two processes have open, with a journal that they share.

use crate::hostile_store::Odd;
use crate::shared_journal::SharedJournal;
use crate::support::{Counter, kind, tools};
use crate::support_b::{answer, begin, ms};
use std::time::Duration;
use tokio::time::timeout;
use tool_core::session::{Decision, RecoveredCall};
use tool_core::{ErrorKind, Mode, Policy, Runtime, Session, ToolCall, ToolResponse, toolset};

#[derive(Clone, Default)]
struct Bank(Counter);

#[toolset(discover = false)]
impl Bank {
    /// Pay, and return the number of the payment.
    #[tool(category = "action")]
    fn pay(&self, amount: u32) -> u32 {
        let _ = amount;
        self.0.add()
    }

    /// Take an hour to pay.
    #[tool(category = "action")]
    async fn pay_slowly(&self) -> u32 {
        let number = self.0.add();
        ms(3_600_000).await;
        number
    }

    /// Pay, once a person has approved it.
    #[tool(category = "action", confirm)]
    fn pay_approved(&self) -> u32 {
        self.0.add()
    }

    /// Pay slowly, once a person has approved it.
    #[tool(category = "action", confirm)]
    async fn pay_approved_slowly(&self, amount: u32) -> u32 {
        let number = self.0.add();
        ms(u64::from(amount)).await;
        number
    }

    /// Look at the balance.
    #[tool(category = "retrieval")]
    async fn balance(&self) -> u32 {
        let number = self.0.add();
        ms(3_600_000 * u64::from(number == 1)).await;
        number
    }
}

/// What the processes share.
#[derive(Default)]
struct Office {
    bank: Bank,
    store: Odd,
    journal: SharedJournal,
}

/// A process of the office.
struct Process {
    journal: SharedJournal,
    session: Session,
}

impl Office {
    async fn process(&self) -> Process {
        self.process_with(Some([7; 32])).await
    }

    async fn process_with(&self, key: Option<[u8; 32]>) -> Process {
        let journal = self.journal.another_process();
        let mut builder = Runtime::builder(tools![self.bank.clone()])
            .policy(Policy::text().max_calls(Some(2)))
            .store(self.store.clone())
            .journal(journal.same_process());
        if let Some(key) = key {
            builder = builder.signing_key(key);
        }
        let runtime = builder.build().expect("a runtime");
        let session = runtime.session("s-1", Mode::Text).await;
        Process {
            journal,
            session: session.expect("a session"),
        }
    }

    /// Starts a call in a process that is then killed, while another process has the session open.
    async fn killed_while(&self, tool: &str) -> Process {
        let other = self.process().await;
        let killed = self.process().await;
        let running = begin(&killed.session, "c1", tool, "{}").await;
        running.abort();
        killed.journal.die();
        other
    }

    /// Returns what a new process makes of a payment whose record was changed.
    async fn after_a_change(&self, change: impl Fn(&mut RecoveredCall)) -> ToolResponse {
        let first = self.process().await;
        assert!(first.pay().await.is_ok());
        first.journal.die();
        self.journal.change(change);
        self.process().await.pay().await
    }
}

impl Process {
    async fn call(&self, tool: &str, arguments: &str) -> ToolResponse {
        self.session
            .call(ToolCall::new("c1", tool, arguments))
            .await
    }

    async fn pay(&self) -> ToolResponse {
        self.call("pay", r#"{"amount": 5}"#).await
    }
}

// T14
#[tokio::test(start_paused = true)]
async fn call_that_another_process_runs_is_a_conflict() {
    let office = Office::default();
    let one = office.process().await;
    let other = office.process().await;
    let running = begin(&one.session, "c1", "pay_slowly", "{}").await;
    let second = other.call("pay_slowly", "{}").await;
    assert_eq!(kind(&second), Some(ErrorKind::Conflict));
    assert_eq!(office.bank.0.get(), 1);
    one.session.end().await;
    answer(running).await;
}

// T14
#[tokio::test(start_paused = true)]
async fn call_that_another_process_has_ended_gets_its_result() {
    let office = Office::default();
    let one = office.process().await;
    let other = office.process().await;
    assert_eq!(one.pay().await.data_json(), Some("1"));
    assert_eq!(other.pay().await.data_json(), Some("1"));
    // Its id may be used again.
    other.session.next_turn().await;
    assert_eq!(other.pay().await.data_json(), Some("2"));
}

// T14
#[tokio::test(start_paused = true)]
async fn action_of_a_killed_process_is_unknown_in_an_open_session() {
    let office = Office::default();
    let other = office.killed_while("pay_slowly").await;
    let response = other.call("pay_slowly", "{}").await;
    let error = response.error().expect("unknown");
    assert_eq!(
        (error.kind, error.partial_side_effects),
        (ErrorKind::Unknown, true)
    );
    assert_eq!(office.bank.0.get(), 1);
}

// T14
#[tokio::test(start_paused = true)]
async fn read_of_a_killed_process_runs_again_in_an_open_session() {
    let office = Office::default();
    let other = office.killed_while("balance").await;
    assert_eq!(other.call("balance", "{}").await.data_json(), Some("2"));
}

// T14
#[tokio::test(start_paused = true)]
async fn call_over_budget_that_has_run_is_not_said_to_be_refused() {
    let office = Office::default();
    let killed = office.process().await;
    let other = office.process().await;
    let pay =
        |id: &str, amount: u32| ToolCall::new(id, "pay", format!(r#"{{"amount": {amount}}}"#));
    assert!(killed.session.call(pay("c1", 5)).await.is_ok());
    assert!(other.session.call(pay("c2", 6)).await.is_ok());
    let refused = other.session.call(pay("c3", 7)).await;
    assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded));
    let known = other.session.call(pay("c1", 5)).await;
    assert_eq!(known.data_json(), Some("1"), "{known}");
}

// T14
#[tokio::test(start_paused = true)]
async fn approved_call_that_has_run_is_not_asked_for_again() {
    let office = Office::default();
    let one = office.process().await;
    let other = office.process().await;
    let asked = one.call("pay_approved", "{}").await;
    let token = asked.meta().confirmation().expect("a person is asked");
    assert!(one.session.approve(&token.token).await.is_ok());

    let again = other.call("pay_approved", "{}").await;
    assert_eq!(again.data_json(), Some("1"), "{again}");
}

impl Process {
    /// Asks for a payment, and returns the token under which it waits.
    async fn asks(&self, tool: &str, arguments: &str) -> String {
        let asked = self.call(tool, arguments).await;
        let confirmation = asked.meta().confirmation().expect("a person is asked");
        confirmation.token.clone()
    }
}

// T14
#[tokio::test(start_paused = true)]
async fn approval_that_its_store_forgot_runs_one_call_of_a_process() {
    let office = Office::default();
    office.store.manners.revives_approvals(true);
    let one = office.process().await;
    let token = one.asks("pay_approved", "{}").await;
    assert_eq!(one.session.approve(&token).await.data_json(), Some("1"));

    let again = one.session.approve(&token).await;
    assert_eq!(again.data_json(), Some("1"), "{again}");
    assert_eq!(office.bank.0.get(), 1);
}

// T14
#[tokio::test(start_paused = true)]
async fn approval_that_came_back_twice_runs_one_call_elsewhere() {
    let office = Office::default();
    office.store.manners.revives_approvals(true);
    let one = office.process().await;
    let other = office.process().await;
    let token = one.asks("pay_approved", "{}").await;
    for process in [&one, &other, &other, &one] {
        let response = process.session.approve(&token).await;
        assert_eq!(response.data_json(), Some("1"), "{response}");
    }
    assert_eq!(office.bank.0.get(), 1);
}

// T14
#[tokio::test(start_paused = true)]
async fn forgotten_approval_with_other_arguments_runs_no_second_call() {
    let office = Office::default();
    office.store.manners.revives_approvals(true);
    let one = office.process().await;
    let token = one.asks("pay_approved_slowly", r#"{"amount": 1}"#).await;
    assert!(one.session.approve(&token).await.is_ok());

    let decision = Decision::approve(&token).with_arguments(r#"{"amount": 2}"#);
    let again = one.session.decide(&decision, None).await;
    assert_eq!(again.data_json(), Some("1"), "{again}");
}

// T14
#[tokio::test(start_paused = true)]
async fn forgotten_approval_of_an_unended_call_is_unknown() {
    let office = Office::default();
    office.store.manners.revives_approvals(true);
    let one = office.process().await;
    let token = one
        .asks("pay_approved_slowly", r#"{"amount": 3600000}"#)
        .await;
    let abandoned = timeout(Duration::from_secs(1), one.session.approve(&token)).await;
    assert!(abandoned.is_err());

    let again = one.session.approve(&token).await;
    assert_eq!(kind(&again), Some(ErrorKind::Unknown), "{again}");
    assert_eq!(office.bank.0.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn other_call_with_a_known_id_runs() {
    let office = Office::default();
    let one = office.process().await;
    let other = office.process().await;
    assert!(one.pay().await.is_ok());
    let response = other.call("pay", r#"{"amount": 6}"#).await;
    assert_eq!(response.data_json(), Some("2"));
}

// T14
#[tokio::test(start_paused = true)]
async fn changed_response_is_refused() {
    let response = Office::default()
        .after_a_change(|call| {
            let changed = call.response.as_mut().expect("it has ended");
            *changed = changed.replace(r#""data":1"#, r#""data":9"#);
        })
        .await;
    assert_eq!(kind(&response), Some(ErrorKind::Unknown), "{response}");
}

// T14
#[tokio::test(start_paused = true)]
async fn changed_arguments_do_not_let_the_call_run() {
    let office = Office::default();
    let change = |call: &mut RecoveredCall| call.entry.arguments = "{}".to_owned();
    let response = office.after_a_change(change).await;
    assert_eq!(kind(&response), Some(ErrorKind::Unknown), "{response}");
    assert_eq!(office.bank.0.get(), 1);
}

// T14
#[tokio::test(start_paused = true)]
async fn response_of_another_call_is_refused() {
    let office = Office::default();
    let first = office.process().await;
    let elsewhere = ToolCall::new("c2", "pay", r#"{"amount": 5}"#);
    assert!(first.session.call(elsewhere).await.is_ok());
    first.journal.die();
    office
        .journal
        .change(|call| call.entry.call_id = "c1".to_owned());
    let response = office.process().await.pay().await;
    assert_eq!(kind(&response), Some(ErrorKind::Unknown), "{response}");
}

// T14
#[tokio::test(start_paused = true)]
async fn removed_seal_is_refused() {
    let response = Office::default()
        .after_a_change(|call| call.entry.seal = None)
        .await;
    assert_eq!(kind(&response), Some(ErrorKind::Unknown), "{response}");
}

#[tokio::test(start_paused = true)]
async fn record_under_another_key_is_unknown() {
    let office = Office::default();
    let first = office.process_with(Some([8; 32])).await;
    assert!(first.pay().await.is_ok());
    first.journal.die();
    let response = office.process().await.pay().await;
    assert_eq!(kind(&response), Some(ErrorKind::Unknown), "{response}");
}

#[tokio::test(start_paused = true)]
async fn records_without_a_key_are_read() {
    let office = Office::default();
    let first = office.process_with(None).await;
    assert!(first.pay().await.is_ok());
    first.journal.die();
    let response = office.process_with(None).await.pay().await;
    assert_eq!(response.data_json(), Some("1"));
}
