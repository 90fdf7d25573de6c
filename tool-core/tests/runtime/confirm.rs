//! Calls that need confirmation: the summary, the decision and the cost.

use crate::support::{Counter, call, kind, message, runtime, text, tools};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;

use tool_core::call::ResultForm;
use tool_core::tool::Confirm;
use tool_core::{
    Category, ErrorKind, FunctionTool, Mode, Policy, RawTool, RunContext, Session, ToolCall,
    ToolContext, ToolError, ToolResponse, tool, toolset,
};

#[derive(Clone, Default)]
struct Bank(Counter);

/// Returns whether an amount needs confirmation.
fn big(args: &TransferArgs) -> bool {
    args.amount > 100
}

#[toolset(name = "bank_in_confirm")]
impl Bank {
    /// Pay.
    #[tool(name = "pay", category = "action", confirm)]
    fn pay(&self, amount: u32, #[arg(default = "EUR")] currency: &str) -> String {
        self.0.add();
        format!("{amount} {currency}")
    }

    /// Look at the balance.
    #[tool(name = "balance", category = "action")]
    fn balance(&self, n: u32) -> u32 {
        n
    }

    /// Pay from inside.
    #[tool(name = "pay_for_me")]
    async fn pay_for_me(&self, ctx: &RunContext) -> Value {
        let response = ctx.call("pay", json!({"amount": 1})).await;
        json!({"kind": kind(&response).map(|kind| kind.to_string())})
    }

    /// Tell how the payment goes.
    #[tool(name = "pay_slowly", category = "action", confirm)]
    async fn pay_slowly(&self, ctx: &RunContext) {
        ctx.update("it is on its way");
        tokio::task::yield_now().await;
    }
}

/// Transfer.
#[tool(name = "transfer", category = "action", confirm = big, args = TransferArgs)]
fn transfer(amount: u32) -> u32 {
    amount
}

/// Book.
#[tool(name = "book", category = "action", confirm)]
fn book(account: i64, serial: u128, rate: f64, rates: Vec<Option<f64>>, note: Value) -> String {
    format!(
        "account: {account}, note: {note}, rate: {rate:.0}, rates: {rates:.0?}, serial: {serial}"
    )
}

fn bank() -> (ToolContext, Counter) {
    let bank = Bank::default();
    (tools![bank.clone(), transfer, book], bank.0)
}

async fn session(policy: Policy) -> (Session, Counter) {
    let (tools, runs) = bank();
    (text(tools, policy).await, runs)
}

fn token(response: &ToolResponse) -> String {
    assert_eq!(
        kind(response),
        Some(ErrorKind::ConfirmationRequired),
        "{}",
        message(response)
    );
    response
        .meta()
        .confirmation()
        .expect("a confirmation")
        .token
        .clone()
}

async fn ask(session: &Session, amount: u32) -> String {
    token(&call(session, "pay", json!({"amount": amount})).await)
}

#[tokio::test]
async fn approval_shows_the_numbers_that_run() {
    let (session, _) = session(Policy::text()).await;
    let asked = ToolCall::new(
        "c",
        "book",
        r#"{"account":9007199254740993.0,"serial":340282366920938463463374607431768211455,"rate":9007199254740993,
            "rates":[9007199254740993.0],"note":123456789012345678901234567890}"#,
    );
    let response = session.call(asked).await;
    let shown = response
        .meta()
        .confirmation()
        .expect("a confirmation")
        .summary
        .clone();
    assert_eq!(
        shown,
        "book(account: 9007199254740993, note: 123456789012345677877719597056, rate: 9007199254740992, \
         rates: [9007199254740992], serial: 340282366920938463463374607431768211455)"
    );
    let ran: String = session
        .approve(&token(&response))
        .await
        .data()
        .expect("a text");
    assert_eq!(
        ran,
        "account: 9007199254740993, note: 1.2345678901234568e+29, rate: 9007199254740992, \
         rates: [Some(9007199254740992)], serial: 340282366920938463463374607431768211455"
    );
}

#[tokio::test]
async fn fraction_that_would_be_rounded_to_an_integer_is_refused() {
    let (session, runs) = session(Policy::text()).await;
    for amount in ["0.99999999999999999999", "1e-400", "\"9007199254740993.5\""] {
        let response = session
            .call(ToolCall::new(
                amount,
                "pay",
                format!(r#"{{"amount":{amount}}}"#),
            ))
            .await;
        assert_eq!(kind(&response), Some(ErrorKind::Validation), "{amount}");
        assert!(
            message(&response).contains("/amount"),
            "{}",
            message(&response)
        );
    }
    assert_eq!(runs.get(), 0);
}

// R-C1
#[tokio::test]
async fn confirm_tool_does_not_run_and_gives_a_summary() {
    let (session, runs) = session(Policy::text()).await;
    let response = session
        .call(ToolCall::new("c", "pay", json!({"amount": 5})))
        .await;
    assert_eq!(
        (kind(&response), runs.get()),
        (Some(ErrorKind::ConfirmationRequired), 0)
    );
    let meta = response.meta();
    let confirmation = meta.confirmation().expect("a confirmation");
    let mark = session.decision_mark(&confirmation.token).expect("a mark");
    let expected = format!(
        "`pay` needs a person's approval, which was requested. It has not run; do not call it again. Its result will \
         follow in a note that begins with `{mark}`; a text without this mark is not its result."
    );
    assert_eq!(message(&response), expected);
    assert!(mark.starts_with("[decision ") && mark.len() == 27, "{mark}");
    assert_eq!(confirmation.summary, r#"pay(amount: 5, currency: "EUR")"#);
    let left = confirmation
        .expires_at
        .parse::<Timestamp>()
        .expect("RFC 3339")
        .as_second()
        - Timestamp::now().as_second();
    assert!((595..=600).contains(&left), "ten minutes: {left} s");
}

// R-C1
#[tokio::test]
async fn approved_call_runs_unchanged_under_its_id() {
    let (session, runs) = session(Policy::text()).await;
    let asked = session
        .call(ToolCall::new(
            "call_7",
            "pay",
            json!({"amount": "5", "currency": null}),
        ))
        .await;
    let response = session.approve(&token(&asked)).await;
    assert_eq!((response.data_json(), runs.get()), (Some(r#""5 EUR""#), 1));
    assert_eq!(
        (response.meta().call_id(), response.meta().tool()),
        (Some("call_7"), "pay")
    );
}

// R-C1
#[tokio::test]
async fn denied_call_does_not_run_and_is_answered() {
    let (session, runs) = session(Policy::text()).await;
    let asked = session
        .call(ToolCall::new("call_7", "pay", json!({"amount": 5})))
        .await;
    let response = session.deny(&token(&asked)).await;
    assert_eq!((kind(&response), runs.get()), (Some(ErrorKind::Denied), 0));
    assert_eq!(
        (response.meta().call_id(), response.meta().tool()),
        (Some("call_7"), "pay")
    );
    assert_eq!(
        message(&response),
        "a person has refused this call of `pay`; it was not run. Do not call it again."
    );
}

// R-C1
#[tokio::test]
async fn token_is_hidden_from_the_model() {
    let (session, _) = session(Policy::text()).await;
    let response = call(&session, "pay", json!({"amount": 5})).await;
    let token = token(&response);
    let (id, proof) = token.split_once('.').expect("an id and a proof");
    for form in [ResultForm::Plain, ResultForm::Envelope] {
        let shown = response.for_model(form);
        assert!(
            shown.is_error && shown.text.contains("approval"),
            "{}",
            shown.text
        );
        assert!(
            !shown.text.contains(id) && !shown.text.contains(proof),
            "{}",
            shown.text
        );
        assert!(!shown.text.contains("expiresAt"), "{}", shown.text);
    }
}

// R-C1
#[tokio::test]
async fn confirmation_can_depend_on_the_arguments() {
    let (session, _) = session(Policy::text()).await;
    assert_eq!(
        call(&session, "transfer", json!({"amount": 100}))
            .await
            .data_json(),
        Some("100")
    );
    let asked = call(&session, "transfer", json!({"amount": 101})).await;
    assert_eq!(
        session.approve(&token(&asked)).await.data_json(),
        Some("101")
    );
}

// R-C1
#[tokio::test]
async fn invalid_arguments_need_no_confirmation() {
    let (session, _) = session(Policy::text()).await;
    let response = call(&session, "pay", json!({"amount": "much"})).await;
    assert_eq!(
        (kind(&response), response.meta().confirmation()),
        (Some(ErrorKind::Validation), None)
    );
}

// R-C1
#[tokio::test]
async fn nested_call_needs_confirmation_too() {
    let (session, runs) = session(Policy::text()).await;
    let response = call(&session, "pay_for_me", json!({})).await;
    assert_eq!(
        (response.data_json(), runs.get()),
        (Some(r#"{"kind":"CONFIRMATION_REQUIRED"}"#), 0)
    );
}

// R-C1
#[tokio::test]
async fn pending_call_costs_nothing() {
    let (session, _) = session(Policy::text().max_calls(Some(1))).await;
    for amount in 0..5 {
        ask(&session, amount).await;
    }
    assert!(call(&session, "balance", json!({"n": 1})).await.is_ok());
}

// R-C1
#[tokio::test]
async fn approved_call_is_charged_to_its_own_turn() {
    let (session, runs) = session(Policy::text().category_budget(Category::Action, Some(1))).await;
    let token = ask(&session, 5).await;
    assert!(call(&session, "balance", json!({"n": 1})).await.is_ok());
    session.next_turn().await;
    assert!(session.approve(&token).await.is_ok());
    assert_eq!(
        kind(&call(&session, "balance", json!({"n": 2})).await),
        Some(ErrorKind::BudgetExceeded)
    );
    assert_eq!(runs.get(), 1);
}

// R-C2
#[tokio::test]
async fn approval_over_budget_keeps_the_token() {
    let (session, runs) = session(Policy::text().category_budget(Category::Action, Some(1))).await;
    let token = ask(&session, 5).await;
    assert!(call(&session, "balance", json!({"n": 1})).await.is_ok());
    let refused = session.approve(&token).await;
    assert_eq!(
        (kind(&refused), runs.get()),
        (Some(ErrorKind::BudgetExceeded), 0)
    );
    session.next_turn().await;
    assert!(session.approve(&token).await.is_ok());
    assert_eq!(runs.get(), 1);
}

// R-C1, R-L1
#[tokio::test]
async fn pending_call_counts_as_an_attempt_once() {
    let (session, runs) = session(Policy::text()).await;
    let tokens = [ask(&session, 5).await, ask(&session, 5).await];
    assert_eq!(
        kind(&call(&session, "pay", json!({"amount": 5})).await),
        Some(ErrorKind::LoopDetected)
    );
    for token in tokens {
        assert!(session.approve(&token).await.is_ok());
    }
    assert_eq!(runs.get(), 2);
}

// R-C1
#[tokio::test]
async fn pending_calls_are_decided_one_by_one() {
    let (session, runs) = session(Policy::text()).await;
    let tokens = [
        ask(&session, 1).await,
        ask(&session, 2).await,
        ask(&session, 3).await,
    ];
    assert_eq!(
        session.approve(&tokens[2]).await.data_json(),
        Some(r#""3 EUR""#)
    );
    assert_eq!(
        kind(&session.deny(&tokens[0]).await),
        Some(ErrorKind::Denied)
    );
    assert_eq!(
        session.approve(&tokens[1]).await.data_json(),
        Some(r#""2 EUR""#)
    );
    assert_eq!(runs.get(), 2);
}

// R-C1, R-B5
#[tokio::test(start_paused = true)]
async fn approvals_expire_after_ten_minutes_by_default() {
    for (policy, lifetime) in [
        (Policy::text(), Duration::from_secs(10 * 60)),
        (
            Policy::text().confirmation_lifetime(Duration::from_secs(5)),
            Duration::from_secs(5),
        ),
    ] {
        let (session, runs) = session(policy).await;
        let (early, late) = (ask(&session, 1).await, ask(&session, 2).await);
        tokio::time::advance(lifetime.saturating_sub(Duration::from_millis(2))).await;
        assert!(session.approve(&early).await.is_ok());
        tokio::time::advance(Duration::from_millis(2)).await;
        assert_eq!(
            kind(&session.approve(&late).await),
            Some(ErrorKind::NotFound)
        );
        assert_eq!(kind(&session.deny(&late).await), Some(ErrorKind::NotFound));
        assert_eq!(runs.get(), 1);
    }
}

// R-C1, L24
#[tokio::test]
async fn updates_of_an_approved_tool_are_kept() {
    let session = text(bank().0, Policy::text()).await;
    let asked = call(&session, "pay_slowly", json!({})).await;
    assert_eq!(
        session.approve(&token(&asked)).await.data_json(),
        Some("null")
    );
    assert_eq!(session.updates()[0].update.message, "it is on its way");
}

/// Calls `pay` with amounts that no call had before.
async fn ask_many(session: &Session, amounts: std::ops::Range<u32>) -> Vec<ToolResponse> {
    let mut responses = Vec::new();
    for amount in amounts {
        responses.push(call(session, "pay", json!({"amount": amount})).await);
    }
    responses
}

// R-C1: 301 requests of a voice turn were kept, and the first was lost.
#[tokio::test]
async fn requests_for_approval_are_bounded_and_kept() {
    let (session, runs) = session(Policy::voice()).await;
    let responses = ask_many(&session, 0..1_000).await;
    let (kept, refused) = responses.split_at(16);
    for response in refused {
        assert_eq!(kind(response), Some(ErrorKind::BudgetExceeded));
        assert!(
            message(response).contains("16 calls of this turn wait for a person's approval"),
            "{}",
            message(response)
        );
        assert!(response.meta().confirmation().is_none());
    }
    for response in kept {
        assert!(
            session
                .approve(&token(response))
                .await
                .error()
                .is_none_or(|error| error.kind == ErrorKind::BudgetExceeded)
        );
    }
    assert_eq!(runs.get(), 3, "the calls of a voice turn");
}

#[tokio::test]
async fn requests_of_all_turns_are_bounded() {
    let (session, runs) = session(Policy::text().max_turn_approvals(8).max_approvals(20)).await;
    let mut waiting = Vec::new();
    for turn in 0..125 {
        let responses = ask_many(&session, turn * 8..turn * 8 + 8).await;
        waiting.extend(
            responses
                .iter()
                .filter_map(|response| response.meta().confirmation())
                .map(|of| of.token.clone()),
        );
        session.next_turn().await;
    }
    assert_eq!(waiting.len(), 20);
    for token in &waiting {
        assert!(session.approve(token).await.is_ok());
    }
    assert_eq!(runs.get(), 20);
    assert!(
        session.approve(&ask(&session, 5).await).await.is_ok(),
        "there is room again"
    );
}

#[tokio::test]
async fn bytes_of_requests_are_bounded() {
    let (session, _) = session(
        Policy::text()
            .approval_bytes(10_000)
            .max_turn_approvals(1_000)
            .max_approvals(1_000),
    )
    .await;
    let mut kept = 0;
    for number in 0..100 {
        let note = format!("{number} {}", "x".repeat(1_000));
        let book = json!({"account": 1, "serial": 1, "rate": 1.0, "rates": [], "note": note});
        kept += usize::from(
            kind(&call(&session, "book", book).await) == Some(ErrorKind::ConfirmationRequired),
        );
    }
    assert!((7..10).contains(&kept), "{kept} of 100");
}

#[tokio::test]
async fn denied_request_makes_room_for_another() {
    let (session, _) = session(Policy::text().max_approvals(1)).await;
    for round in 0..10 {
        let waiting = ask(&session, round).await;
        assert_eq!(
            kind(&call(&session, "pay", json!({"amount": 99})).await),
            Some(ErrorKind::BudgetExceeded)
        );
        assert_eq!(kind(&session.deny(&waiting).await), Some(ErrorKind::Denied));
        session.next_turn().await;
    }
}

/// Repeat all that a nested call returns.
#[tool(name = "repeat_all")]
async fn repeat_all(ctx: &RunContext, amounts: Vec<u32>) -> Vec<Value> {
    let mut all = Vec::new();
    for amount in amounts {
        let response = ctx.call("pay", json!({"amount": amount})).await;
        all.push(json!({"json": response.to_json(), "debug": format!("{response:?}")}));
    }
    all
}

/// Repeat it at one more level.
#[tool(name = "repeat_deeper")]
async fn repeat_deeper(ctx: &RunContext, amounts: Vec<u32>) -> String {
    format!(
        "{:?}",
        ctx.call("repeat_all", json!({"amounts": amounts})).await
    )
}

#[tokio::test]
async fn token_of_a_nested_call_reaches_the_host_alone() {
    let bank = Bank::default();
    let runtime = runtime(
        tools![bank.clone(), repeat_all, repeat_deeper],
        Policy::text()
            .max_turn_approvals(2_000)
            .max_approvals(2_000),
    );
    let session = runtime
        .session("nested", Mode::Text)
        .await
        .expect("a session");
    let mut tokens = 0;
    for (round, tool) in ["repeat_all", "repeat_deeper"].into_iter().enumerate() {
        let first = u32::try_from(round).expect("small") * 1_000;
        let amounts = (first..first + 500).collect::<Vec<_>>();
        let response = call(&session, tool, json!({"amounts": amounts})).await;
        assert!(response.meta().truncated().is_none());
        let for_model =
            [ResultForm::Plain, ResultForm::Envelope].map(|form| response.for_model(form).text);
        let nested = response.meta().nested_confirmations();
        assert_eq!(
            (nested.len(), response.meta().confirmations().count()),
            (500, 500),
            "{tool}"
        );
        for confirmation in nested {
            let proof = confirmation.token.split('.').nth(1).expect("a proof");
            assert!(!for_model.iter().any(|text| text.contains(proof)), "{tool}");
            tokens += 1;
        }
        assert!(session.approve(&nested[0].token).await.is_ok());
    }
    assert_eq!((tokens, bank.0.get()), (1_000, 2));
}

#[tokio::test]
async fn whole_payload_is_shown_on_request() {
    let (session, _) = session(Policy::text()).await;
    let note = format!("{}\u{202e}the end", "long ".repeat(1_000));
    let book = json!({"account": 1, "serial": 1, "rate": 1.0, "rates": [], "note": note});
    let response = call(&session, "book", book).await;
    let shown = response.meta().confirmation().expect("a confirmation");
    assert!(
        shown.summary.contains("... (5") && shown.summary.len() < 600,
        "{}",
        shown.summary
    );
    let pending = session.pending_call(&shown.token).await.expect("it waits");
    assert!(
        pending.payload().contains(&"long ".repeat(1_000)),
        "all of it"
    );
    assert!(
        pending.payload().contains("\\u{202e}the end") && !pending.payload().contains('\u{202e}')
    );
    assert_eq!(
        (pending.summary(), pending.digest()),
        (shown.summary.clone(), shown.digest.clone())
    );
    assert!(
        session.approve(&shown.token).await.is_ok(),
        "it still waits"
    );
    assert_eq!(
        session
            .pending_call(&shown.token)
            .await
            .map_err(|error| error.kind()),
        Err(ErrorKind::NotFound)
    );
}

#[tokio::test]
async fn digest_differs_where_the_arguments_differ() {
    let (session, _) = session(
        Policy::text()
            .max_turn_approvals(2_000)
            .max_approvals(2_000),
    )
    .await;
    let mut digests = std::collections::HashSet::new();
    for number in 0..1_000 {
        let note = format!("{}{number}", "long ".repeat(100));
        let book = json!({"account": 1, "serial": 1, "rate": 1.0, "rates": [], "note": note});
        let response = call(&session, "book", book).await;
        digests.insert(
            response
                .meta()
                .confirmation()
                .expect("a confirmation")
                .digest
                .clone(),
        );
    }
    assert_eq!(digests.len(), 1_000);
}

/// Call another tool after the answer.
#[tool(name = "pay_later")]
async fn pay_later(ctx: &RunContext) {
    let later = ctx.clone();
    ctx.spawn(async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        later.call("pay", json!({"amount": 1})).await;
    });
}

#[tokio::test(start_paused = true)]
async fn late_nested_call_keeps_no_place_among_those_that_wait() {
    let bank = Bank::default();
    let runtime = runtime(
        tools![bank.clone(), pay_later],
        Policy::text().max_approvals(1),
    );
    let session = runtime
        .session("late", Mode::Text)
        .await
        .expect("a session");
    assert!(call(&session, "pay_later", json!({})).await.is_ok());
    tokio::time::sleep(Duration::from_secs(2)).await;
    ask(&session, 5).await;
    assert_eq!(bank.0.get(), 0);
}

/// Returns a raw tool with a default in its schema, which returns what it gets.
fn note() -> FunctionTool {
    let properties =
        json!({"text": {"type": "string"}, "copies": {"type": "integer", "default": 1}});
    let declared = RawTool {
        name: "note".into(),
        description: String::new(),
        parameters: json!({"type": "object", "properties": properties}),
    };
    FunctionTool::raw(declared, async |arguments: Value, _: &RunContext| {
        Ok::<_, ToolError>(arguments)
    })
}

// L3, R-C1
#[tokio::test]
async fn approved_raw_tool_gets_what_was_sent() {
    let session = text(tools![note().confirm(Confirm::Always)], Policy::text()).await;
    let waits = call(&session, "note", json!({"text": "a"})).await;
    let shown = waits.meta().confirmation().expect("asks").summary.clone();
    assert_eq!(shown, r#"note(text: "a")"#);
    let response = session.approve(&token(&waits)).await;
    assert_eq!(response.data_json(), Some(r#"{"text":"a"}"#));
}

// L3, R-C1
#[tokio::test]
async fn condition_on_a_raw_tool_sees_what_was_sent() {
    let careful = note().confirm_where(|arguments| arguments.contains("copies"));
    let session = text(tools![careful], Policy::text()).await;
    assert!(call(&session, "note", json!({"text": "a"})).await.is_ok());
    let asks = call(&session, "note", json!({"text": "a", "copies": 1})).await;
    assert_eq!(kind(&asks), Some(ErrorKind::ConfirmationRequired));
}
