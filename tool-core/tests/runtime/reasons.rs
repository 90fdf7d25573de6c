//! Conditions of approval compose: of the tool, of the policy, of hooks. Each gives its reason.

use crate::support::{Counter, call, kind, text, tools};
use serde_json::json;
use std::time::Duration;
use tool_core::call::{ApprovalNeed, ApprovalSource, Confirmation};
use tool_core::session::{CallOutcome, Hook, HookFuture, HookedCall, RuntimeBuilder};
use tool_core::tool::Confirm;
use tool_core::{
    Category, ErrorKind, FunctionTool, Mode, Policy, Runtime, Session, ToolCall, ToolContext,
    ToolResponse, tool,
};

/// Says why a large refund is asked about.
fn why(args: &RefundArgs) -> Option<String> {
    (args.cents > 5_000).then(|| format!("{} cents are more than 5000", args.cents))
}

/// Refund an order.
#[tool(category = "action", confirm = why, args = RefundArgs)]
fn refund(cents: u32) -> u32 {
    cents
}

/// Cancel a booking.
#[tool(category = "action", confirm)]
fn cancel(number: u32) -> u32 {
    number
}

/// Look something up.
#[tool(category = "retrieval", confirm = |args| args.word == "secret", args = LookUpArgs)]
fn look_up(word: String) -> String {
    word
}

/// Add two numbers.
#[tool(category = "utility", cancellable)]
async fn add(a: u32, b: u32) -> u32 {
    a + b
}

/// Charge a card.
#[tool(category = "utility", confirm = |args| args.cents > 5_000, args = ChargeArgs)]
fn charge(
    #[arg(default = 9_000)]
    #[serde(alias = "amount")]
    cents: u32,
) -> u32 {
    cents
}

fn all() -> ToolContext {
    tools![refund, cancel, look_up, add, charge]
}

/// All tools, each changed by the host.
fn changed(change: impl Fn(&FunctionTool) -> FunctionTool) -> ToolContext {
    let tools = all();
    let names = tools.definitions().map(|tool| tool.name().to_owned());
    let mut builder = ToolContext::builder();
    for name in names {
        builder = builder.with(change(tools.function_tool(&name).expect("there")));
    }
    builder.build().expect("sound tools")
}

async fn open(builder: RuntimeBuilder) -> Session {
    let runtime = builder.build().expect("a runtime");
    runtime
        .session("s-1", Mode::Text)
        .principal("user:7")
        .await
        .expect("a session")
}

/// The confirmation of a call that waits.
fn confirmation(response: &ToolResponse) -> &Confirmation {
    let confirmation = response.meta().confirmation();
    confirmation.unwrap_or_else(|| panic!("it waits: {}", response.to_json()))
}

/// The reasons of a call that waits, one text each.
fn reasons(response: &ToolResponse) -> Vec<String> {
    let reasons = confirmation(response).reasons.iter();
    reasons.map(ToString::to_string).collect()
}

async fn refunded(session: &Session, cents: u32) -> ToolResponse {
    call(session, "refund", json!({"cents": cents})).await
}

// R-C5
#[tokio::test]
async fn function_of_a_tool_gives_its_reason() {
    let session = text(all(), Policy::text()).await;
    assert!(refunded(&session, 900).await.is_ok());
    let asked = refunded(&session, 9_000).await;
    assert_eq!(reasons(&asked), ["tool: 9000 cents are more than 5000"]);
}

// R-C5
#[tokio::test]
async fn condition_without_a_reason_says_who_asks() {
    let session = text(all(), Policy::text()).await;
    let asked = call(&session, "cancel", json!({"number": 12})).await;
    assert_eq!(reasons(&asked), ["tool: it asks before each call"]);
    let asked = call(&session, "look_up", json!({"word": "secret"})).await;
    assert_eq!(
        reasons(&asked),
        ["tool: it asks about a call with these arguments"]
    );
}

// R-C5
#[tokio::test]
async fn every_condition_that_asks_adds_its_reason() {
    let tools = changed(|tool| match tool.name() {
        "refund" => tool
            .confirm_because("refunds cost money")
            .confirm_where(|arguments: &str| arguments.contains('9').then_some("a nine")),
        _ => tool.clone(),
    });
    let builder = Runtime::builder(tools)
        .policy(Policy::text().confirm_category(Category::Action))
        .confirm(async |_: HookedCall<'_>| Some("the hook looked"))
        .confirm(async |call: HookedCall<'_>| call.principal.is_empty())
        .confirm(async |call: HookedCall<'_>| call.tool.name() == "refund");
    let session = open(builder).await;
    let expected = [
        "tool: 9000 cents are more than 5000",
        "policy: refunds cost money",
        "policy: a nine",
        "policy: each call of the category `action`",
        "hook: the hook looked",
        "hook: it asks about this call",
    ];
    assert_eq!(reasons(&refunded(&session, 9_000).await), expected);
}

// R-C5
#[tokio::test]
async fn host_cannot_take_back_what_a_tool_asks() {
    let tools = changed(|tool| {
        let tool: FunctionTool = tool.confirm(Confirm::Never);
        tool.confirm_where(|_: &str| false)
    });
    for tool in ["cancel", "refund"] {
        let definition = tools.function_tool(tool).expect("there").definition();
        assert!(definition.confirm().label().is_some(), "{tool}");
    }
    let session = text(tools, Policy::text()).await;
    let asked = call(&session, "cancel", json!({"number": 12})).await;
    assert_eq!(reasons(&asked), ["tool: it asks before each call"]);
    assert!(refunded(&session, 900).await.is_ok());
    assert_eq!(
        kind(&refunded(&session, 9_000).await),
        Some(ErrorKind::ConfirmationRequired)
    );
}

// R-C5
#[tokio::test]
async fn strictest_condition_is_the_one_that_is_shown() {
    let refund = all().function_tool("refund").expect("there").clone();
    let add = all().function_tool("add").expect("there").clone();
    let label = |tool: &FunctionTool| tool.definition().confirm().as_str();
    assert_eq!(label(&refund), "conditional");
    assert_eq!(label(&refund.confirm(Confirm::Always)), "always");
    let twice = refund
        .confirm(Confirm::Always)
        .confirm_where(|_: &str| true);
    assert_eq!(label(&twice), "always");
    assert_eq!(label(&add.confirm_where(|_: &str| false)), "conditional");
    assert_eq!(label(&add.confirm(Confirm::Never)), "never");
}

/// The reasons for which a call of `charge` waits that is spelled like this, with a condition of the host and a hook that
/// search the text of its arguments.
async fn asked_about(arguments: &str) -> Vec<String> {
    let is_large = |arguments: &str| arguments.contains(r#""cents":9000"#);
    let tools = changed(|tool| match tool.name() {
        "charge" => tool.confirm_where(is_large),
        _ => tool.clone(),
    });
    let hook = async move |call: HookedCall<'_>| is_large(call.arguments);
    let session = open(Runtime::builder(tools).confirm(hook)).await;
    let response = session
        .call(ToolCall::new("c-1", "charge", arguments))
        .await;
    if response.is_ok() {
        return Vec::new();
    }
    reasons(&response)
}

/// What each condition of `asked_about` says.
const EACH_ASKS: [&str; 3] = [
    "tool: it asks about a call with these arguments",
    "policy: it asks about a call with these arguments",
    "hook: it asks about this call",
];

// R-C5
#[tokio::test]
async fn no_spelling_hides_arguments_from_conditions() {
    for spelled in [
        r#"{"cents": 9000}"#,
        r#"{ "\u0063ents" : 9000.0 }"#,
        r#"{"amount":9e3}"#,
        r#"{"cents":"9000"}"#,
    ] {
        assert_eq!(asked_about(spelled).await, EACH_ASKS, "{spelled}");
    }
}

// R-C5
#[tokio::test]
async fn conditions_see_the_defaults_of_a_call() {
    for left_out in ["{}", r#"{"cents": null}"#] {
        assert_eq!(asked_about(left_out).await, EACH_ASKS, "{left_out}");
    }
}

/// Book a room.
#[tool(category = "utility", confirm = |args| args.nights > 30, args = BookArgs)]
fn book(nights: u32, #[arg(default = 1)] guests: u32) -> u32 {
    nights * guests
}

// R-C5, L34
#[tokio::test]
async fn a_null_for_a_default_does_not_ask_by_itself() {
    let session = text(tools![book], Policy::text()).await;
    let booked = call(&session, "book", json!({"nights": 2, "guests": null})).await;
    assert_eq!(booked.data_json(), Some("2"));
}

/// A hook that counts its questions, waits, and panics if it is told to.
struct Asks {
    asked: Counter,
    wait: Duration,
    panics: bool,
}

impl Hook for Asks {
    fn confirm<'a>(&'a self, _call: &'a HookedCall<'a>) -> HookFuture<'a, ApprovalNeed> {
        assert!(!self.panics, "on purpose");
        self.asked.add();
        Box::pin(async move {
            tokio::time::sleep(self.wait).await;
            ApprovalNeed::because("it has to be looked at")
        })
    }
}

// R-C5
#[tokio::test]
async fn call_of_a_hook_costs_nothing_until_it_runs() {
    let asked = Counter::default();
    let hook = Asks {
        asked: asked.clone(),
        wait: Duration::ZERO,
        panics: false,
    };
    let policy = Policy::text().category_budget(Category::Action, Some(1));
    let builder = Runtime::builder(all()).policy(policy).hook(hook);
    let session = open(builder).await;
    let first = refunded(&session, 1).await;
    let second = refunded(&session, 2).await;
    assert_eq!(reasons(&second), ["hook: it has to be looked at"]);
    let ran = session.approve(&confirmation(&first).token).await;
    assert_eq!(ran.data_json(), Some("1"));
    assert_eq!(asked.get(), 2, "an approved call asks no more");
    let ran = session.approve(&confirmation(&second).token).await;
    assert_eq!(kind(&ran), Some(ErrorKind::BudgetExceeded));
}

// R-C5
#[tokio::test]
async fn person_decides_if_a_condition_panics() {
    let hook = Asks {
        asked: Counter::default(),
        wait: Duration::ZERO,
        panics: true,
    };
    let tools = changed(|tool| tool.confirm_where(|_: &str| -> bool { panic!("on purpose") }));
    let session = open(Runtime::builder(tools).hook(hook)).await;
    let asked = call(&session, "add", json!({"a": 1, "b": 2})).await;
    assert_eq!(
        reasons(&asked),
        [
            "policy: its condition failed, so a person decides",
            "hook: it failed, so a person decides"
        ]
    );
}

// R-C5
#[tokio::test(start_paused = true)]
async fn hook_that_takes_too_long_ends_the_call() {
    let hook = Asks {
        asked: Counter::default(),
        wait: Duration::from_secs(3_600),
        panics: false,
    };
    let policy = Policy::text().deadline(Duration::from_secs(2));
    let session = open(Runtime::builder(all()).policy(policy).hook(hook)).await;
    let response = refunded(&session, 1).await;
    assert_eq!(kind(&response), Some(ErrorKind::Timeout));
    assert_eq!(response.meta().confirmation(), None);
}

// R-C5
#[tokio::test]
async fn tools_of_the_session_itself_are_never_asked_about() {
    let policy = Policy::text().confirm_category(Category::Utility);
    let builder = Runtime::builder(all())
        .policy(policy)
        .confirm(async |_: HookedCall<'_>| true);
    let session = open(builder).await;
    let listed = call(&session, "list_running_calls", json!({})).await;
    assert!(listed.is_ok(), "{}", listed.to_json());
    let asked = call(&session, "add", json!({"a": 1, "b": 2})).await;
    assert_eq!(reasons(&asked).len(), 2);
}

// R-C5
#[tokio::test]
async fn reasons_are_bounded_and_show_what_is_hidden() {
    let mut builder = Runtime::builder(all());
    for n in 0..20 {
        builder = builder.confirm(async move |_: HookedCall<'_>| {
            Some(format!("{n}\u{202e}\n{}", "x".repeat(100_000)))
        });
    }
    let session = open(builder).await;
    let asked = refunded(&session, 1).await;
    let reasons = reasons(&asked);
    assert_eq!(reasons.len(), 8);
    assert!(
        reasons[0].starts_with(r"hook: 0\u{202e}\nxxx"),
        "{}",
        reasons[0]
    );
    assert!(reasons.iter().all(|reason| reason.chars().count() < 220));
    assert_eq!(reasons[7], "hook: and 13 other reasons");
}

// R-C5
#[tokio::test]
async fn person_and_audit_see_the_reasons() {
    let session = text(all(), Policy::text()).await;
    let asked = refunded(&session, 9_000).await;
    let denied = refunded(&session, 8_000).await;
    let confirmation = confirmation(&asked);
    let pending = session.pending_call(&confirmation.token).await;
    let pending = pending.expect("it waits");
    assert_eq!(pending.reasons, confirmation.reasons);
    assert_eq!(pending.question(), confirmation.question());
    assert!(
        pending.question().contains("- cents: 9000\n")
            && pending
                .question()
                .contains("- tool: 9000 cents are more than 5000\n"),
        "{}",
        pending.question()
    );

    session.approve_by(&confirmation.token, "ada").await;
    let denied = denied.meta().confirmation().expect("it waits");
    session.deny_by(&denied.token, "bob").await;
    let audit = session.audit().await.expect("the store");
    let texts = audit.iter().map(|entry| {
        let reason = entry.reasons.first().expect("a reason");
        (entry.outcome, reason.source, &*reason.text)
    });
    let asked = CallOutcome::Refused(ErrorKind::ConfirmationRequired);
    let (of_9, of_8) = (
        "9000 cents are more than 5000",
        "8000 cents are more than 5000",
    );
    let expected = [
        (asked, ApprovalSource::Tool, of_9),
        (asked, ApprovalSource::Tool, of_8),
        (CallOutcome::Succeeded, ApprovalSource::Tool, of_9),
        (
            CallOutcome::Refused(ErrorKind::Denied),
            ApprovalSource::Tool,
            of_8,
        ),
    ];
    assert_eq!(texts.collect::<Vec<_>>(), expected);
}

// R-C5
#[tokio::test]
async fn model_does_not_see_the_reasons() {
    let session = text(all(), Policy::text()).await;
    let asked = session
        .call(ToolCall::new("c", "refund", json!({"cents": 9_000})))
        .await;
    let shown = asked.for_model(tool_core::call::ResultForm::Envelope).text;
    assert!(!shown.contains("more than 5000"), "{shown}");
}
