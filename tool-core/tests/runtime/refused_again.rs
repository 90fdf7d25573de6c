//! A call that has run, comes again after its process died, and would be refused now. T14

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

use crate::journal::Paper;
use crate::support::{Counter, kind, tools};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tool_core::session::{Decision, HookedCall, PlainSteps, RuntimeBuilder};
use tool_core::{
    CancellationToken, ErrorKind, FromRunContext, Mode, Policy, RunContext, Runtime, Session,
    ToolCall, ToolContext, ToolError, ToolResponse, toolset,
};

#[derive(Clone, Default)]
struct Till {
    ran: Counter,
}

#[toolset(discover = false)]
impl Till {
    /// Pay an amount.
    #[tool(category = "action", modes("text"))]
    fn pay(&self, amount: u32) -> u32 {
        self.ran.add() + amount
    }
}

/// The same tool in a later version of the program, which asks for more.
#[derive(Clone, Default)]
struct StricterTill {
    ran: Counter,
}

#[toolset(discover = false)]
impl StricterTill {
    /// Pay an amount to somebody.
    #[tool(category = "action")]
    fn pay(&self, amount: u32, to: String) -> u32 {
        self.ran.add() + amount + u32::try_from(to.len()).unwrap_or_default()
    }
}

struct SignedIn;

impl FromRunContext<'_> for SignedIn {
    fn from_run_context(_: &RunContext) -> Result<Self, ToolError> {
        Err(ToolError::auth("sign in first"))
    }
}

/// The same tool in a later version of the program, which needs a person.
#[derive(Clone, Default)]
struct PersonalTill {
    ran: Counter,
}

#[toolset(discover = false)]
impl PersonalTill {
    /// Pay an amount of the person.
    #[tool(category = "action")]
    fn pay(&self, amount: u32, #[context] _person: SignedIn) -> u32 {
        self.ran.add() + amount
    }
}

/// The same tool in a later version of the program, in which a person approves each payment.
#[derive(Clone, Default)]
struct ApprovedTill {
    ran: Counter,
}

#[toolset(discover = false)]
impl ApprovedTill {
    /// Pay an amount that a person approves.
    #[tool(category = "action", confirm)]
    fn pay(&self, amount: u32) -> u32 {
        self.ran.add() + amount
    }
}

fn process(tools: ToolContext, paper: &Paper) -> RuntimeBuilder {
    Runtime::builder(tools)
        .policy(Policy::text())
        .journal(paper.clone())
}

async fn answer(process: RuntimeBuilder, mode: Mode, call: ToolCall) -> ToolResponse {
    let runtime = process.build().expect("a runtime");
    let session = runtime.session("s-1", mode).await.expect("a session");
    session.call(call).await
}

/// Pays in a process that ends then, and returns what the next process answers to the same call. It
/// would refuse the call with an error of this kind if it had not run.
async fn answered_again(
    till: &Till,
    next: impl Fn(&Paper) -> (RuntimeBuilder, Mode, ToolCall),
    refusal: ErrorKind,
) -> ToolResponse {
    let (process_without, mode, call) = next(&Paper::default());
    let refused = answer(process_without, mode, call).await;
    assert_eq!(kind(&refused), Some(refusal), "{refused}");

    let paper = Paper::default();
    let first = process(tools![till.clone()], &paper);
    let paid = answer(first, Mode::Text, paying(r#"{"amount":5}"#)).await;
    assert_eq!(paid.data_json(), Some("6"), "{paid}");

    let (process, mode, call) = next(&paper);
    answer(process, mode, call).await
}

fn paying(arguments: &str) -> ToolCall {
    ToolCall::new("c1", "pay", arguments.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_mode_that_excludes_the_tool_does_not_hide_its_result() {
    for arguments in [r#"{"amount":5}"#, r#"{"amount":"5"}"#] {
        let till = Till::default();
        let next = |paper: &Paper| {
            let process = process(tools![till.clone()], paper);
            (process, Mode::Voice, paying(arguments))
        };
        let again = answered_again(&till, next, ErrorKind::ModeRestricted).await;
        assert_eq!(again.data_json(), Some("6"), "{arguments}: {again}");
        assert_eq!(till.ran.get(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_refuses_does_not_hide_the_result() {
    let till = Till::default();
    let refuse = async |_: HookedCall<'_>| Err(ToolError::auth("the person has signed out"));
    let next = |paper: &Paper| {
        let process = process(tools![till.clone()], paper).before(refuse);
        (process, Mode::Text, paying(r#"{"amount":5}"#))
    };
    let again = answered_again(&till, next, ErrorKind::Auth).await;
    assert_eq!(again.data_json(), Some("6"), "{again}");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_call_that_has_run_has_its_result() {
    let till = Till::default();
    let next = |paper: &Paper| {
        let token = CancellationToken::new();
        token.cancel();
        let call = paying(r#"{"amount":5}"#).with_cancellation(token);
        (process(tools![till.clone()], paper), Mode::Text, call)
    };
    let again = answered_again(&till, next, ErrorKind::Cancelled).await;
    assert_eq!(again.data_json(), Some("6"), "{again}");
}

#[tokio::test(start_paused = true)]
async fn a_stricter_tool_does_not_hide_the_result() {
    let till = Till::default();
    let stricter = StricterTill::default();
    let next = |paper: &Paper| {
        let process = process(tools![stricter.clone()], paper);
        (process, Mode::Text, paying(r#"{"amount":5}"#))
    };
    let again = answered_again(&till, next, ErrorKind::Validation).await;
    assert_eq!(again.data_json(), Some("6"), "{again}");
    assert_eq!(stricter.ran.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_missing_context_does_not_hide_the_result() {
    let personal = PersonalTill::default();
    for arguments in [r#"{"amount":5}"#, r#"{"amount":"5"}"#] {
        let next = |paper: &Paper| {
            let process = process(tools![personal.clone()], paper);
            (process, Mode::Text, paying(arguments))
        };
        let again = answered_again(&Till::default(), next, ErrorKind::Auth).await;
        assert_eq!(again.data_json(), Some("6"), "{arguments}: {again}");
    }
    assert_eq!(personal.ran.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_person_that_a_hook_asks_for_is_not_asked() {
    let till = Till::default();
    let asks = async |_: HookedCall<'_>| true;
    let next = |paper: &Paper| {
        let process = process(tools![till.clone()], paper).confirm(asks);
        (process, Mode::Text, paying(r#"{"amount":5}"#))
    };
    let again = answered_again(&till, next, ErrorKind::ConfirmationRequired).await;
    assert_eq!(again.data_json(), Some("6"), "{again}");
}

#[tokio::test(start_paused = true)]
async fn a_refused_call_with_other_arguments_is_not_the_earlier_one() {
    let till = Till::default();
    let next = |paper: &Paper| {
        let process = process(tools![till.clone()], paper);
        (process, Mode::Voice, paying(r#"{"amount":7}"#))
    };
    let again = answered_again(&till, next, ErrorKind::ModeRestricted).await;
    assert_eq!(kind(&again), Some(ErrorKind::ModeRestricted), "{again}");
}

// T14, R-C8
#[tokio::test(start_paused = true)]
async fn a_grant_that_ends_does_not_hide_the_result() {
    let paper = Paper::default();
    let first = process(tools![Till::default()], &paper);
    let paid = answer(first, Mode::Text, paying(r#"{"amount":5}"#)).await;
    assert_eq!(paid.data_json(), Some("6"), "{paid}");

    // The grant covers the call when it begins, and ends while a hook runs.
    let opened = Arc::new(OnceLock::<Session>::new());
    let of_hook = Arc::clone(&opened);
    let revoke = async move |call: HookedCall<'_>| {
        let session = of_hook.get().expect("a session");
        if call.arguments.contains('5') {
            for grant in session.grants().await.expect("the grants") {
                session.revoke(&grant.id).await.expect("a store");
            }
        }
        Ok::<(), ToolError>(())
    };
    let next = process(tools![ApprovedTill::default()], &paper).before(revoke);
    let runtime = next.build().expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    _ = opened.set(session.clone());
    let asked = session.call(ToolCall::new("c2", "pay", r#"{"amount":1}"#.to_owned()));
    let token = asked
        .await
        .meta()
        .confirmation()
        .expect("it waits")
        .token
        .clone();
    let decision = Decision::approve(token).always_for_tool(Duration::from_secs(600));
    let granted = session.decide(&decision, None).await;
    assert_eq!(granted.data_json(), Some("2"), "{granted}");

    let again = session.call(paying(r#"{"amount":5}"#)).await;
    assert_eq!(again.data_json(), Some("6"), "{again}");
}

// T14, M35
#[tokio::test(start_paused = true)]
async fn a_step_of_an_engine_that_has_run_meets_no_hook() {
    for arguments in [r#"{"amount":5}"#, r#"{"amount":"5"}"#] {
        let paper = Paper::default();
        let first = process(tools![Till::default()], &paper);
        let paid = answer(first, Mode::Text, paying(arguments)).await;
        assert_eq!(paid.data_json(), Some("6"), "{paid}");

        let hooks = Counter::default();
        let of_hook = hooks.clone();
        let count = async move |_: HookedCall<'_>| {
            of_hook.add();
            Ok::<(), ToolError>(())
        };
        let next = process(tools![Till::default()], &paper).before(count);
        let runtime = next.build().expect("a runtime");
        let session = runtime.session("s-1", Mode::Text).await.expect("a session");
        let again = session
            .call_in_step(&PlainSteps::new(), paying(arguments))
            .await;
        assert_eq!(again.data_json(), Some("6"), "{arguments}: {again}");
        assert_eq!(hooks.get(), 0, "{arguments}");
    }
}
