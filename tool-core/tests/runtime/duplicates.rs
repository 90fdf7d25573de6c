//! Duplicate calls: `on_duplicate` and `duplicate_scope`. L17

use crate::support::{call, kind, message, text, tools};
use crate::support_b::{Log, answer, begin};
use serde_json::{Value, json};
use tool_core::tool::OnDuplicate;
use tool_core::{
    ErrorKind, FunctionTool, Policy, RawTool, RunContext, Session, ToolContext, ToolError,
    ToolResponse, toolset,
};

fn careful(args: &AgreedArgs) -> bool {
    args.what != "tea"
}

#[derive(Clone, Default)]
struct Desk {
    log: Log,
}

#[toolset(discover = false)]
impl Desk {
    /// Any number at once.
    #[tool(on_duplicate = "allow")]
    async fn allowing(&self, what: String) -> String {
        self.log.work(&what, 1_000).await;
        what
    }

    /// One at a time.
    #[tool(on_duplicate = "reject", category = "action")]
    async fn rejecting(&self, what: String) -> String {
        self.log.work(&what, 1_000).await;
        what
    }

    /// One of the same arguments at a time.
    #[tool(on_duplicate = "reject", duplicate_scope = "name_and_args")]
    async fn rejecting_equals(&self, what: String, #[arg(default = 1)] count: u32) -> String {
        self.log.work(&format!("{count} {what}"), 1_000).await;
        what
    }

    /// The newest wins.
    #[tool(on_duplicate = "replace", cancellable, category = "action")]
    async fn replacing(&self, what: String) -> String {
        self.log.work(&what, 1_000).await;
        what
    }

    /// The newest of the same arguments wins.
    #[tool(
        on_duplicate = "replace",
        duplicate_scope = "name_and_args",
        cancellable
    )]
    async fn replacing_equals(&self, what: String) -> String {
        self.log.work(&what, 1_000).await;
        what
    }

    /// The newest would win, if the other could be cancelled.
    #[tool(on_duplicate = "replace")]
    async fn stubborn(&self, what: String) -> String {
        self.log.work(&what, 1_000).await;
        what
    }

    /// The newest would win, if the other had not disallowed it.
    #[tool(on_duplicate = "replace", cancellable)]
    async fn committed(&self, ctx: &RunContext, what: String) -> String {
        ctx.disallow_interruptions();
        self.log.work(&what, 1_000).await;
        what
    }

    /// The newest wins, once a person has agreed to it.
    #[tool(on_duplicate = "replace", cancellable, confirm = careful, args = AgreedArgs)]
    async fn agreed(&self, what: String) -> String {
        self.log.work(&what, 1_000).await;
        what
    }

    /// The model is asked.
    #[tool(on_duplicate = "confirm")]
    async fn asking(&self, what: String) -> String {
        self.log.work(&what, 1_000).await;
        what
    }

    /// The model is asked about the same arguments.
    #[tool(on_duplicate = "confirm", duplicate_scope = "name_and_args")]
    async fn asking_equals(&self, what: String) -> String {
        self.log.work(&what, 1_000).await;
        what
    }
}

async fn desk(policy: Policy) -> (Session, Desk) {
    let desk = Desk::default();
    (text(tools![desk.clone()], policy).await, desk)
}

const TEA: &str = r#"{"what":"tea"}"#;

/// Starts one call, makes another, and returns both responses.
async fn two(tool: &str, first: &str, second: &str) -> (ToolResponse, ToolResponse, Vec<String>) {
    let (session, desk) = desk(Policy::text()).await;
    let running = begin(&session, "first", tool, first).await;
    let second = session
        .call(tool_core::ToolCall::new("second", tool, second))
        .await;
    (answer(running).await, second, desk.log.all())
}

// L17
#[tokio::test(start_paused = true)]
async fn allowed_duplicates_run_side_by_side() {
    let (first, second, log) = two("allowing", TEA, TEA).await;
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(log, ["tea begins", "tea begins", "tea ends", "tea ends"]);
}

// L17
#[tokio::test(start_paused = true)]
async fn rejected_duplicate_names_the_running_call() {
    let (first, second, log) = two("rejecting", TEA, r#"{"what":"milk"}"#).await;
    assert!(first.is_ok());
    assert_eq!(kind(&second), Some(ErrorKind::Conflict));
    assert!(message(&second).contains("`first`"), "{second}");
    assert_eq!(log, ["tea begins", "tea ends"]);
}

// L17
#[tokio::test(start_paused = true)]
async fn rejected_duplicate_costs_no_budget() {
    let (session, _desk) = desk(Policy::text().max_calls(Some(2))).await;
    let running = begin(&session, "first", "rejecting", TEA).await;
    assert_eq!(
        kind(&call(&session, "rejecting", json!({"what": "milk"})).await),
        Some(ErrorKind::Conflict)
    );
    answer(running).await;
    assert!(
        call(&session, "rejecting", json!({"what": "milk"}))
            .await
            .is_ok()
    );
}

// L17
#[tokio::test(start_paused = true)]
async fn finished_call_has_no_duplicates() {
    let (session, _desk) = desk(Policy::text()).await;
    assert!(
        call(&session, "rejecting", json!({"what": "tea"}))
            .await
            .is_ok()
    );
    assert!(
        call(&session, "rejecting", json!({"what": "tea"}))
            .await
            .is_ok()
    );
}

// L17
#[tokio::test(start_paused = true)]
async fn calls_of_other_sessions_are_not_duplicates() {
    let runtime = crate::support::runtime(tools![Desk::default()], Policy::text());
    let one = crate::support::open(&runtime, "one", tool_core::Mode::Text).await;
    let two = crate::support::open(&runtime, "two", tool_core::Mode::Text).await;
    let running = begin(&one, "first", "rejecting", TEA).await;
    assert!(
        call(&two, "rejecting", json!({"what": "tea"}))
            .await
            .is_ok()
    );
    assert!(answer(running).await.is_ok());
}

// L17
#[tokio::test(start_paused = true)]
async fn other_arguments_are_no_duplicate_by_arguments() {
    let (first, second, _) = two("rejecting_equals", TEA, r#"{"what":"milk"}"#).await;
    assert!(first.is_ok() && second.is_ok());
}

// L17
#[tokio::test(start_paused = true)]
async fn duplicate_scope_ignores_key_order_and_defaults() {
    let (_, second, _) = two(
        "rejecting_equals",
        TEA,
        r#"{"count":1.0, "what":"t\u0065a"}"#,
    )
    .await;
    assert_eq!(kind(&second), Some(ErrorKind::Conflict));
}

// L17
#[tokio::test(start_paused = true)]
async fn replaced_call_is_cancelled_and_the_new_one_runs() {
    let (first, second, log) = two("replacing", TEA, r#"{"what":"milk"}"#).await;
    assert_eq!(kind(&first), Some(ErrorKind::Cancelled));
    assert_eq!(second.data_json(), Some(r#""milk""#));
    assert_eq!(log, ["tea begins", "milk begins", "milk ends"]);
}

// L17
#[tokio::test(start_paused = true)]
async fn only_equal_calls_are_replaced_by_arguments() {
    let (first, second, _) = two("replacing_equals", TEA, r#"{"what":"milk"}"#).await;
    assert!(first.is_ok() && second.is_ok());
    let (first, second, _) = two("replacing_equals", TEA, TEA).await;
    assert!(kind(&first) == Some(ErrorKind::Cancelled) && second.is_ok());
}

// L17
#[tokio::test(start_paused = true)]
async fn uncancellable_call_is_not_replaced() {
    let (first, second, log) = two("stubborn", TEA, r#"{"what":"milk"}"#).await;
    assert!(first.is_ok());
    assert_eq!(kind(&second), Some(ErrorKind::Conflict));
    assert_eq!(log, ["tea begins", "tea ends"]);
}

// L17
#[tokio::test(start_paused = true)]
async fn uninterruptible_call_is_not_replaced() {
    let (first, second, _) = two("committed", TEA, r#"{"what":"milk"}"#).await;
    assert!(first.is_ok());
    assert_eq!(kind(&second), Some(ErrorKind::Conflict));
}

// L17, R-B2: a refused call replaces nothing
#[tokio::test(start_paused = true)]
async fn call_over_budget_replaces_nothing() {
    let (session, _desk) = desk(Policy::text().max_calls(Some(1))).await;
    let running = begin(&session, "first", "replacing", TEA).await;
    let refused = call(&session, "replacing", json!({"what": "milk"})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded));
    assert!(answer(running).await.is_ok(), "the running call goes on");
}

// L17, R-C1
#[tokio::test(start_paused = true)]
async fn pending_call_replaces_nothing_before_approval() {
    let (session, _desk) = desk(Policy::text()).await;
    let running = begin(&session, "first", "agreed", TEA).await;
    let waits = call(&session, "agreed", json!({"what": "milk"})).await;
    let token = waits.meta().confirmation().expect("a token").token.clone();
    assert!(!running.is_finished());
    assert!(session.approve(&token).await.is_ok());
    assert_eq!(kind(&answer(running).await), Some(ErrorKind::Cancelled));
}

// L17
#[tokio::test(start_paused = true)]
async fn duplicate_needs_confirmation_by_the_model() {
    let (first, second, log) = two("asking", TEA, r#"{"what":"milk"}"#).await;
    assert!(first.is_ok());
    assert_eq!(kind(&second), Some(ErrorKind::Conflict));
    assert!(message(&second).contains("`confirm_duplicate`"), "{second}");
    assert_eq!(log, ["tea begins", "tea ends"]);
}

// L17
#[tokio::test(start_paused = true)]
async fn confirmed_duplicate_runs_beside_the_other() {
    let (first, second, log) =
        two("asking", TEA, r#"{"what":"milk","confirm_duplicate":true}"#).await;
    assert!(first.is_ok() && second.is_ok(), "{second}");
    assert_eq!(log, ["tea begins", "milk begins", "tea ends", "milk ends"]);
}

// L17
#[tokio::test(start_paused = true)]
async fn duplicate_confirmed_with_false_or_null_is_refused() {
    for no in ["false", "null"] {
        let (_, second, _) = two(
            "asking",
            TEA,
            &format!(r#"{{"what":"tea","confirm_duplicate":{no}}}"#),
        )
        .await;
        assert_eq!(kind(&second), Some(ErrorKind::Conflict), "{no}");
    }
}

// L17
#[tokio::test(start_paused = true)]
async fn confirm_duplicate_is_ignored_without_a_duplicate() {
    let (session, _desk) = desk(Policy::text()).await;
    assert!(
        call(
            &session,
            "asking",
            json!({"what": "tea", "confirm_duplicate": true})
        )
        .await
        .is_ok()
    );
}

// L17
#[tokio::test(start_paused = true)]
async fn confirm_duplicate_is_not_compared() {
    let (_, second, _) = two(
        "asking_equals",
        r#"{"what":"tea","confirm_duplicate":true}"#,
        TEA,
    )
    .await;
    assert_eq!(kind(&second), Some(ErrorKind::Conflict));
    let (_, second, _) = two("asking_equals", TEA, r#"{"what":"milk"}"#).await;
    assert!(second.is_ok());
}

// L17, L22
#[tokio::test(start_paused = true)]
async fn calls_of_one_step_can_be_duplicates() {
    let (session, _desk) = desk(Policy::text()).await;
    let calls = ["a", "b"].map(|id| tool_core::ToolCall::new(id, "rejecting", TEA));
    let answers = session.call_all(calls).await;
    assert!(answers[0].is_ok());
    assert_eq!(kind(&answers[1]), Some(ErrorKind::Conflict));
}

/// Opens a session with one tool of the desk, as the host has changed it.
async fn changed(tool: &str, treatment: OnDuplicate) -> Session {
    let tools = tools![Desk::default()];
    let tool = tools.function_tool(tool).expect("a tool");
    text(tools![tool.on_duplicate(treatment)], Policy::text()).await
}

/// Returns true if the tool takes `confirm_duplicate`.
fn confirms(session: &Session) -> bool {
    let tools = session.tools();
    let definition = tools.definitions().next().expect("a tool");
    definition.parameters()["properties"]["confirm_duplicate"].is_object()
}

// L17
#[tokio::test(start_paused = true)]
async fn host_can_ask_the_model_about_duplicates() {
    let session = changed("allowing", OnDuplicate::Confirm).await;
    assert!(confirms(&session));
    let running = begin(&session, "first", "allowing", TEA).await;
    let refused = call(&session, "allowing", json!({"what": "milk"})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::Conflict));
    let confirmed = json!({"what": "milk", "confirm_duplicate": true});
    let response = call(&session, "allowing", confirmed).await;
    assert_eq!(response.data_json(), Some(r#""milk""#), "{response}");
    assert!(answer(running).await.is_ok());
}

// L17
#[tokio::test(start_paused = true)]
async fn host_can_allow_what_the_model_had_to_confirm() {
    let session = changed("asking", OnDuplicate::Allow).await;
    assert!(!confirms(&session));
    let running = begin(&session, "first", "asking", TEA).await;
    assert!(
        call(&session, "asking", json!({"what": "milk"}))
            .await
            .is_ok()
    );
    assert!(answer(running).await.is_ok());
}

// L17
#[test]
fn raw_tool_cannot_ask_the_model_about_duplicates() {
    let declared = RawTool {
        name: "raw".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let raw = FunctionTool::raw(declared, async |_: Value, _: &RunContext| {
        Ok::<_, ToolError>(Value::Null)
    });
    let builds = |tool: FunctionTool| ToolContext::builder().with(tool).build();
    let asking = raw.on_duplicate(OnDuplicate::Confirm);
    let errors = builds(asking.clone()).expect_err("refused").to_string();
    assert!(errors.contains("choose another `on_duplicate`"), "{errors}");
    assert!(builds(asking.on_duplicate(OnDuplicate::Reject)).is_ok());
}
