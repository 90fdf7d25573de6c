//! Grants: calls that a person has approved before they were made.

use crate::support::{Counter, call, kind, message, runtime, text, tools};
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::Notify;
use tool_core::session::{CallGrant, Decision, GrantScope, HookedCall, MemoryStore, StoreError};
use tool_core::{
    ErrorKind, Mode, Policy, RunContext, Runtime, Session, ToolCall, ToolContext, ToolError,
    ToolResponse, toolset,
};

const MINUTE: Duration = Duration::from_secs(60);
const KEY: [u8; 32] = [3; 32];

#[derive(Clone, Default)]
struct Shop(Counter);

#[toolset(name = "shop_in_grants")]
impl Shop {
    /// Order.
    #[tool(name = "order", category = "action", confirm)]
    fn order(&self, item: String, #[arg(default = 1)] count: u32) -> String {
        self.0.add();
        format!("{count} {item}")
    }

    /// Return an order.
    #[tool(name = "return_order", category = "action", confirm)]
    fn return_order(&self, item: String) -> String {
        item
    }

    /// Pay.
    #[tool(name = "pay", category = "action", confirm, ask_each_time)]
    fn pay(&self, cents: u32) -> u32 {
        self.0.add();
        cents
    }

    /// Look into a customer's file.
    #[tool(name = "look_up", category = "retrieval", confirm)]
    fn look_up(&self, customer: u32) -> u32 {
        self.0.add();
        customer
    }

    /// Order by phone.
    #[tool(name = "phone", category = "action", confirm, modes("voice"))]
    fn phone(&self) {}

    /// Order for another tool.
    #[tool(name = "order_inside")]
    async fn order_inside(&self, ctx: &RunContext) -> Value {
        let response = ctx.call("order", json!({"item": "tea"})).await;
        json!({"kind": kind(&response).map(|kind| kind.to_string())})
    }
}

fn shop() -> (ToolContext, Counter) {
    let shop = Shop::default();
    (tools![shop.clone()], shop.0)
}

async fn session(policy: Policy) -> (Session, Counter) {
    let (tools, runs) = shop();
    (text(tools, policy).await, runs)
}

fn token(response: &ToolResponse) -> String {
    let confirmation = response.meta().confirmation();
    confirmation.expect("a confirmation").token.clone()
}

async fn decided(
    session: &Session,
    tool: &str,
    arguments: Value,
    grant: impl FnOnce(Decision) -> Decision,
) -> ToolResponse {
    let token = token(&call(session, tool, arguments).await);
    session.decide(&grant(Decision::approve(token)), None).await
}

/// Approves an order of tea, and with it all orders.
async fn grant_orders(session: &Session) -> CallGrant {
    let response = decided(session, "order", json!({"item": "tea"}), |decision| {
        decision.always_for_tool(10 * MINUTE)
    })
    .await;
    assert!(response.is_ok(), "{}", message(&response));
    let mut grants = session.grants().await.expect("the grants");
    assert_eq!(grants.len(), 1);
    grants.remove(0)
}

fn asks(response: &ToolResponse) -> bool {
    kind(response) == Some(ErrorKind::ConfirmationRequired)
}

async fn order(session: &Session, item: &str) -> ToolResponse {
    call(session, "order", json!({"item": item})).await
}

// R-C8
#[tokio::test]
async fn grant_for_a_tool_covers_its_calls_only() {
    let (session, runs) = session(Policy::text()).await;
    let grant = grant_orders(&session).await;
    assert_eq!(
        (grant.tool.as_str(), grant.scope),
        ("order", GrantScope::Tool)
    );
    assert_eq!(grant.summary, "order(count: 1, item: \"tea\")");

    assert_eq!(
        order(&session, "cake").await.data_json(),
        Some("\"1 cake\"")
    );
    assert_eq!(runs.get(), 2);
    assert!(asks(
        &call(&session, "return_order", json!({"item": "tea"})).await
    ));
}

// R-C8
#[tokio::test]
async fn grant_for_arguments_covers_equal_arguments_only() {
    let (session, runs) = session(Policy::text().repeated_calls(None)).await;
    let response = decided(
        &session,
        "order",
        json!({"item": "tea", "count": 2}),
        |decision| decision.always_for_these_arguments(10 * MINUTE),
    )
    .await;
    assert!(response.is_ok());

    let spelled = ToolCall::new("c1", "order", r#"{"count": 2.0, "item": "te\u0061"}"#);
    assert!(session.call(spelled).await.is_ok());
    assert_eq!(runs.get(), 2);
    assert!(asks(
        &call(&session, "order", json!({"item": "tea", "count": 3})).await
    ));
    assert!(asks(&order(&session, "tea").await));
}

// R-C8
#[tokio::test]
async fn default_counts_as_an_argument_of_a_grant() {
    let (session, _) = session(Policy::text().repeated_calls(None)).await;
    decided(&session, "order", json!({"item": "tea"}), |decision| {
        decision.always_for_these_arguments(10 * MINUTE)
    })
    .await;
    let response = call(&session, "order", json!({"item": "tea", "count": 1})).await;
    assert!(response.is_ok(), "{}", message(&response));
}

// R-C8
#[tokio::test(start_paused = true)]
async fn grant_ends_after_its_time() {
    let (session, _) = session(Policy::text()).await;
    grant_orders(&session).await;
    tokio::time::advance(9 * MINUTE).await;
    assert!(order(&session, "cake").await.is_ok());
    tokio::time::advance(2 * MINUTE).await;
    assert!(asks(&order(&session, "bread").await));
    assert!(session.grants().await.expect("the grants").is_empty());
}

// R-C8
#[tokio::test(start_paused = true)]
async fn grant_is_shortened_to_the_time_of_the_policy() {
    let (session, _) = session(Policy::text().max_grant_lifetime(MINUTE)).await;
    let grant = grant_orders(&session).await;
    let time = grant.ends_at.duration_since(*grant.given_at);
    assert_eq!(time.as_secs(), 60);
    tokio::time::advance(2 * MINUTE).await;
    assert!(asks(&order(&session, "cake").await));
}

// R-C9
#[tokio::test]
async fn tool_that_asks_each_time_refuses_a_grant() {
    let (session, runs) = session(Policy::text()).await;
    assert!(!session.may_grant("pay") && session.may_grant("order"));
    let token = token(&call(&session, "pay", json!({"cents": 5})).await);
    for decision in [
        Decision::approve(&token).always_for_tool(MINUTE),
        Decision::approve(&token).always_for_these_arguments(MINUTE),
    ] {
        let response = session.decide(&decision, None).await;
        assert_eq!(kind(&response), Some(ErrorKind::Conflict));
        assert!(message(&response).contains("asks a person each time"));
    }
    assert_eq!(runs.get(), 0);
    assert!(session.grants().await.expect("the grants").is_empty());

    // The call still waits.
    assert!(session.approve(&token).await.is_ok());
}

// R-C9
#[tokio::test]
async fn policy_without_grants_ignores_those_that_exist() {
    let store = Arc::new(MemoryStore::new());
    let first = opened(&store, KEY, Policy::text()).await;
    grant_orders(&first).await;
    let strict = Policy::text().max_grant_lifetime(Duration::ZERO);
    let second = opened(&store, KEY, strict).await;
    assert!(asks(&order(&second, "cake").await));
    assert!(order(&first, "bread").await.is_ok());
}

// R-C9
#[tokio::test]
async fn policy_without_grants_refuses_them() {
    for policy in [
        Policy::text().max_grant_lifetime(Duration::ZERO),
        Policy::text().max_grants(0),
    ] {
        let (session, runs) = session(policy).await;
        let response = decided(&session, "order", json!({"item": "tea"}), |decision| {
            decision.always_for_tool(MINUTE)
        })
        .await;
        assert_eq!(kind(&response), Some(ErrorKind::Conflict));
        assert_eq!(runs.get(), 0);
        assert!(!session.may_grant("order"));
    }
}

// R-C8
#[tokio::test]
async fn too_many_grants_leave_the_call_waiting() {
    let (session, runs) = session(Policy::text().max_grants(1)).await;
    let grant = grant_orders(&session).await;
    let token = token(&call(&session, "return_order", json!({"item": "tea"})).await);
    let decision = Decision::approve(&token).always_for_tool(MINUTE);
    let response = session.decide(&decision, None).await;
    assert_eq!(kind(&response), Some(ErrorKind::BudgetExceeded));
    assert!(message(&response).contains("1 grants are in force"));
    assert_eq!(runs.get(), 1);

    assert_eq!(session.revoke(&grant.id).await, Ok(true));
    assert!(session.decide(&decision, None).await.is_ok());
    let grants = session.grants().await.expect("the grants");
    assert_eq!(grants[0].tool, "return_order");
}

// R-C8
#[tokio::test]
async fn revoked_grant_covers_nothing() {
    let (session, _) = session(Policy::text()).await;
    let grant = grant_orders(&session).await;
    assert_eq!(session.revoke(&grant.id).await, Ok(true));
    assert_eq!(session.revoke(&grant.id).await, Ok(false));
    assert!(asks(&order(&session, "cake").await));
}

// R-C8
#[tokio::test]
async fn grant_that_ends_while_a_hook_waits_covers_nothing() {
    let (tools, runs) = shop();
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let hook_reached = Arc::clone(&reached);
    let hook_go = Arc::clone(&go);
    let runtime = Runtime::builder(tools)
        .policy(Policy::text().max_calls(Some(2)))
        .before(async move |call: HookedCall<'_>| {
            if call.arguments.contains("cake") {
                hook_reached.notify_one();
                hook_go.notified().await;
            }
            Ok::<(), ToolError>(())
        });
    let runtime = runtime.build().expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    let grant = grant_orders(&session).await;

    let caller = session.clone();
    let ordered = tokio::spawn(async move { order(&caller, "cake").await });
    reached.notified().await;
    assert_eq!(session.revoke(&grant.id).await, Ok(true));
    go.notify_one();
    let response = ordered.await.expect("a response");
    assert!(asks(&response), "{}", message(&response));
    assert_eq!(runs.get(), 1);

    // Its charge is given back, and the person may still approve it.
    go.notify_one();
    let response = session.approve(&token(&response)).await;
    assert_eq!(response.data_json(), Some("\"1 cake\""));
    let entry = session.audit().await.expect("the log").remove(2);
    assert_eq!(entry.decision, None, "no grant has approved it");
}

fn caching() -> Policy {
    Policy::text()
        .result_cache_ttl(Some(MINUTE))
        .repeated_calls(None)
}

async fn look_up(session: &Session) -> ToolResponse {
    call(session, "look_up", json!({"customer": 7})).await
}

// R-C1
#[tokio::test]
async fn answer_from_the_cache_uses_the_approval() {
    let (session, runs) = session(caching()).await;
    let tokens = [
        token(&look_up(&session).await),
        token(&look_up(&session).await),
    ];
    for token in &tokens {
        let response = session.approve(token).await;
        assert_eq!(response.data_json(), Some("7"));
    }
    assert_eq!(runs.get(), 1, "the second answer is the first one's");

    let again = session.approve(&tokens[1]).await;
    assert_eq!(kind(&again), Some(ErrorKind::NotFound));
}

// R-C8
#[tokio::test]
async fn approval_of_a_cached_call_gives_its_grant() {
    let (session, runs) = session(caching()).await;
    let first = token(&look_up(&session).await);
    session.approve(&first).await;
    let response = decided(&session, "look_up", json!({"customer": 7}), |decision| {
        decision.always_for_tool(MINUTE)
    })
    .await;
    assert_eq!((response.data_json(), runs.get()), (Some("7"), 1));
    assert_eq!(session.grants().await.expect("the grants").len(), 1);
}

// R-C8
#[tokio::test]
async fn audit_log_names_the_grant_of_a_cached_call() {
    let (session, runs) = session(caching()).await;
    decided(&session, "look_up", json!({"customer": 7}), |decision| {
        decision.always_for_tool(MINUTE)
    })
    .await;
    assert!(look_up(&session).await.is_ok());
    assert_eq!(runs.get(), 1);
    let audit = session.audit().await.expect("the log");
    let decision = audit[2].decision.as_ref().expect("a decision");
    assert!(decision.grant.as_ref().is_some_and(|grant| !grant.is_new));
}

// R-C8
#[tokio::test]
async fn grant_revoked_in_a_hook_covers_no_cached_call() {
    let (tools, runs) = shop();
    let revoked = Arc::new(OnceLock::<Session>::new());
    let hook_revoked = Arc::clone(&revoked);
    let runtime =
        Runtime::builder(tools)
            .policy(caching())
            .before(async move |call: HookedCall<'_>| {
                if let Some(session) = hook_revoked.get().filter(|_| call.call_id == "last") {
                    for grant in session.grants().await.expect("the grants") {
                        session.revoke(&grant.id).await.expect("revokes");
                    }
                }
                Ok::<(), ToolError>(())
            });
    let runtime = runtime.build().expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    decided(&session, "look_up", json!({"customer": 7}), |decision| {
        decision.always_for_tool(MINUTE)
    })
    .await;

    assert!(revoked.set(session.clone()).is_ok());
    let last = ToolCall::new("last", "look_up", json!({"customer": 7}));
    let response = session.call(last).await;
    assert!(asks(&response), "{}", message(&response));
    assert_eq!(runs.get(), 1);
}

// R-C8
#[tokio::test]
async fn grant_lifts_no_budget() {
    let (session, runs) = session(Policy::text().max_calls(Some(2))).await;
    grant_orders(&session).await;
    assert!(order(&session, "cake").await.is_ok());
    let refused = order(&session, "bread").await;
    assert_eq!(kind(&refused), Some(ErrorKind::BudgetExceeded));
    assert_eq!(runs.get(), 2);
}

// R-C8
#[tokio::test]
async fn grant_lifts_no_loop_detection() {
    let (session, runs) = session(Policy::text()).await;
    grant_orders(&session).await;
    assert!(order(&session, "tea").await.is_ok());
    let refused = order(&session, "tea").await;
    assert_eq!(kind(&refused), Some(ErrorKind::LoopDetected));
    assert_eq!(runs.get(), 2);
}

// R-C8
#[tokio::test]
async fn grant_lifts_no_mode() {
    let (session, _) = session(Policy::text()).await;
    session.switch_mode(Mode::Voice).await.expect("the mode");
    let response = decided(&session, "phone", json!({}), |decision| {
        decision.always_for_tool(MINUTE)
    })
    .await;
    assert!(response.is_ok());
    session.switch_mode(Mode::Text).await.expect("the mode");
    let refused = call(&session, "phone", json!({})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::ModeRestricted));
}

// R-C8
#[tokio::test]
async fn grant_lifts_no_refusal_of_a_hook() {
    let (tools, runs) = shop();
    let runtime = Runtime::builder(tools)
        .before(async |call: HookedCall<'_>| {
            if call.arguments.contains("cake") {
                return Err(ToolError::auth("no cake"));
            }
            Ok(())
        })
        .build()
        .expect("a runtime");
    let session = runtime.session("s-1", Mode::Text).await.expect("a session");
    grant_orders(&session).await;
    let refused = order(&session, "cake").await;
    assert_eq!(kind(&refused), Some(ErrorKind::Auth));
    assert_eq!(runs.get(), 1);
}

// R-C8
#[tokio::test]
async fn grant_covers_calls_that_tools_make() {
    let (session, _) = session(Policy::text()).await;
    grant_orders(&session).await;
    let response = call(&session, "order_inside", json!({})).await;
    assert_eq!(response.data_json(), Some(r#"{"kind":null}"#));
}

// R-C8
#[tokio::test]
async fn denial_gives_no_grant() {
    let (session, _) = session(Policy::text()).await;
    let token = token(&order(&session, "tea").await);
    let decision = Decision::deny(token).always_for_tool(MINUTE);
    assert_eq!(decision.grant_scope(), None);
    let response = session.decide(&decision, None).await;
    assert_eq!(kind(&response), Some(ErrorKind::Denied));
    assert!(asks(&order(&session, "cake").await));
}

// R-C8
#[tokio::test]
async fn used_token_gives_no_grant() {
    let (session, _) = session(Policy::text()).await;
    let token = token(&order(&session, "tea").await);
    assert!(session.approve(&token).await.is_ok());
    let decision = Decision::approve(token).always_for_tool(MINUTE);
    let response = session.decide(&decision, None).await;
    assert_eq!(kind(&response), Some(ErrorKind::NotFound));
    assert!(session.grants().await.expect("the grants").is_empty());
}

// R-C8
#[tokio::test]
async fn grant_is_for_its_session_only() {
    let (tools, _) = shop();
    let runtime = runtime(tools, Policy::text());
    let of = |id: &str, principal: &str| runtime.session(id, Mode::Text).principal(principal);
    let session = of("s-1", "ada").await.expect("a session");
    grant_orders(&session).await;
    let other = of("s-2", "ada").await.expect("a session");
    assert!(asks(&order(&other, "cake").await));

    session.end().await;
    let later = of("s-1", "ada").await.expect("a session");
    assert!(asks(&order(&later, "cake").await));
}

/// Opens the same session in another process, whose runtime has this key.
async fn elsewhere(store: &Arc<MemoryStore>, key: [u8; 32]) -> Session {
    opened(store, key, Policy::text()).await
}

/// Opens the same session in another process, whose runtime has this key and this policy.
async fn opened(store: &Arc<MemoryStore>, key: [u8; 32], policy: Policy) -> Session {
    let (tools, _) = shop();
    let runtime = Runtime::builder(tools).store(Arc::clone(store));
    let runtime = runtime.policy(policy).signing_key(key).build();
    let session = runtime.expect("a runtime").session("s-1", Mode::Text);
    session.principal("ada").await.expect("a session")
}

// R-C8
#[tokio::test]
async fn grant_holds_in_processes_with_its_key_only() {
    let store = Arc::new(MemoryStore::new());
    grant_orders(&elsewhere(&store, KEY).await).await;
    let same_key = elsewhere(&store, KEY).await;
    assert!(order(&same_key, "cake").await.is_ok());
    let other_key = elsewhere(&store, [4; 32]).await;
    assert!(other_key.grants().await.expect("the grants").is_empty());
    assert!(asks(&order(&other_key, "bread").await));
}

// R-C8
#[tokio::test]
async fn audit_log_names_the_grant_of_a_call() {
    let (session, _) = session(Policy::text()).await;
    let token = token(&order(&session, "tea").await);
    let decision = Decision::approve(token).by("operator:ada");
    session
        .decide(&decision.always_for_tool(MINUTE), None)
        .await;
    order(&session, "cake").await;

    let grant = session.grants().await.expect("the grants").remove(0);
    let audit = session.audit().await.expect("the log");
    let decisions = audit.iter().map(|entry| entry.decision.as_ref());
    let decisions = decisions.collect::<Vec<_>>();
    assert_eq!(decisions.len(), 3);
    assert_eq!(decisions[0], None);
    for (at, is_new) in [(1, true), (2, false)] {
        let decision = decisions[at].expect("a decision");
        let of = decision.grant.as_ref().expect("a grant");
        assert!(decision.approved);
        assert_eq!(decision.by, "operator:ada");
        assert_eq!((&of.id, of.given_at), (&grant.id, grant.given_at));
        assert_eq!(of.is_new, is_new);
    }
}

// R-C10
#[tokio::test]
async fn pending_approvals_are_those_of_the_principal() {
    let (tools, _) = shop();
    let runtime = runtime(tools, Policy::text());
    for (id, principal) in [("s-1", "ada"), ("s-2", "ada"), ("s-3", "bob"), ("s-4", "")] {
        let session = runtime.session(id, Mode::Text).principal(principal).await;
        let session = session.expect("a session");
        order(&session, id).await;
    }
    let page = runtime.pending_approvals("ada", None, 20).await;
    let page = page.expect("the calls");
    let shown = page.calls.iter().map(|waiting| waiting.call.payload());
    let mut shown = shown.collect::<Vec<_>>();
    shown.sort();
    assert_eq!(
        shown,
        [
            r#"order({"count":1,"item":"s-1"})"#,
            r#"order({"count":1,"item":"s-2"})"#
        ]
    );
    assert_eq!(page.next, None);
}

// R-C10
#[tokio::test]
async fn token_of_a_pending_approval_runs_its_call() {
    let (tools, runs) = shop();
    let runtime = runtime(tools, Policy::text());
    let open = || runtime.session("s-1", Mode::Text).principal("ada");
    order(&open().await.expect("a session"), "tea").await;
    let page = runtime.pending_approvals("ada", None, 20).await;
    let waiting = page.expect("the calls").calls.remove(0);
    assert!(!format!("{waiting:?}").contains(&waiting.token));

    let session = open().await.expect("a session");
    assert!(session.approve(&waiting.token).await.is_ok());
    assert_eq!(runs.get(), 1);
    let page = runtime.pending_approvals("ada", None, 20).await;
    assert!(page.expect("the calls").calls.is_empty());
}

// R-C10
#[tokio::test]
async fn pending_approvals_of_another_key_are_left_out() {
    let store = Arc::new(MemoryStore::new());
    order(&elsewhere(&store, KEY).await, "tea").await;
    let listed = async |key| {
        let (tools, _) = shop();
        let runtime = Runtime::builder(tools).store(Arc::clone(&store));
        let runtime = runtime.signing_key(key).build().expect("a runtime");
        let page = runtime.pending_approvals("ada", None, 20).await;
        page.expect("the calls").calls.len()
    };
    assert_eq!(listed(KEY).await, 1);
    assert_eq!(listed([4; 32]).await, 0);
}

// R-C10
#[tokio::test]
async fn pending_approvals_need_a_principal() {
    let (tools, _) = shop();
    let answer = runtime(tools, Policy::text())
        .pending_approvals("", None, 20)
        .await;
    let error: StoreError = answer.expect_err("no principal");
    assert!(error.to_string().contains("expected a principal"));
}
