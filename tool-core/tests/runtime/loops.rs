//! Loop detection: repeated calls and empty results.

use crate::support::{Counter, asked, call, kind, message, open, runtime, text, tools};
use serde_json::{Value, json};
use tool_core::{ErrorKind, Mode, Policy, Session, ToolCall, ToolContext, tool, toolset};

struct Kb(Counter);

#[toolset(name = "kb_in_loops", discover = false)]
impl Kb {
    /// Find articles.
    #[tool(name = "kb_search", category = "retrieval")]
    fn search(&self, query: &str, #[arg(default = 10)] limit: u64, note: Option<&str>) -> String {
        self.0.add();
        format!("{query} {limit} {note:?}")
    }

    /// Take a number.
    #[tool(name = "number")]
    fn number(&self, n: f64) -> f64 {
        self.0.add();
        n
    }

    /// Take any value.
    #[tool(name = "whatever")]
    fn whatever(&self, value: Value) -> Value {
        self.0.add();
        value
    }

    /// Take a whole number.
    #[tool(name = "integer")]
    fn integer(&self, n: u64) -> u64 {
        self.0.add();
        n
    }

    /// Take a word under one of two names.
    #[tool(name = "aliased")]
    fn aliased(&self, #[serde(alias = "q")] query: &str) -> String {
        self.0.add();
        query.to_owned()
    }
}

fn kb() -> (ToolContext, Counter) {
    let runs = Counter::default();
    (tools![Kb(runs.clone())], runs)
}

/// Opens text sessions without a budget, in which only loops are refused.
fn policy() -> Policy {
    Policy::text().category_budget(tool_core::Category::Retrieval, None)
}

async fn session() -> (Session, Counter) {
    let (tools, runs) = kb();
    (text(tools, policy()).await, runs)
}

async fn kinds(session: &Session, tool: &str, arguments: &[&str]) -> Vec<Option<ErrorKind>> {
    let mut kinds = Vec::new();
    for text in arguments {
        kinds.push(kind(&session.call(ToolCall::new("c", tool, *text)).await));
    }
    kinds
}

const LOOP: Option<ErrorKind> = Some(ErrorKind::LoopDetected);
const VALIDATION: Option<ErrorKind> = Some(ErrorKind::Validation);

// R-L1
#[tokio::test]
async fn third_attempt_is_refused_with_the_count() {
    let (session, runs) = session().await;
    for _ in 0..2 {
        assert!(
            call(&session, "kb_search", json!({"query": "refunds"}))
                .await
                .is_ok()
        );
    }
    for count in 3..=5 {
        let response = call(&session, "kb_search", json!({"query": "refunds"})).await;
        let expected = format!(
            "Loop detected: kb_search called {count} times with identical arguments. \
             Try a different approach or rephrase your query."
        );
        assert_eq!(
            (kind(&response), message(&response)),
            (LOOP, expected.as_str())
        );
    }
    assert_eq!(runs.get(), 2);
}

// R-L1
#[tokio::test]
async fn other_arguments_or_tool_are_another_call() {
    let (session, runs) = session().await;
    assert_eq!(
        kinds(
            &session,
            "integer",
            &[r#"{"n":1}"#, r#"{"n":1}"#, r#"{"n":2}"#]
        )
        .await,
        [None; 3]
    );
    assert_eq!(
        kinds(&session, "number", &[r#"{"n":1}"#, r#"{"n":1}"#]).await,
        [None; 2]
    );
    assert_eq!(runs.get(), 5);
}

// R-L1
#[tokio::test]
async fn next_turn_has_no_attempts() {
    let (session, _) = session().await;
    for _ in 0..3 {
        assert_eq!(
            kinds(
                &session,
                "integer",
                &[r#"{"n":1}"#, r#"{"n":1}"#, r#"{"n":1}"#]
            )
            .await,
            [None, None, LOOP]
        );
        session.next_turn().await;
    }
}

// R-L1
#[tokio::test]
async fn policy_sets_the_refused_attempt() {
    let session = text(kb().0, policy().repeated_calls(Some(2))).await;
    assert_eq!(
        kinds(&session, "integer", &[r#"{"n":1}"#, r#"{"n":1}"#]).await,
        [None, LOOP]
    );
    let session = text(kb().0, policy().repeated_calls(None)).await;
    assert_eq!(
        kinds(&session, "integer", &[r#"{"n":1}"#; 50]).await,
        [None; 50]
    );
}

// R-L1
#[tokio::test]
async fn attempts_within_one_step_count() {
    let (session, runs) = session().await;
    let responses = session
        .call_all((0..5).map(|_| asked("kb_search", json!({"query": "refunds"}))))
        .await;
    assert_eq!(
        responses.iter().map(kind).collect::<Vec<_>>(),
        [None, None, LOOP, LOOP, LOOP]
    );
    let counts = responses
        .iter()
        .map(|response| message(response).split(' ').nth(4).unwrap_or_default());
    assert_eq!(counts.collect::<Vec<_>>(), ["", "", "3", "4", "5"]);
    assert_eq!(runs.get(), 2);
}

// R-L1
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_of_100_racing_attempts_run() {
    let (session, runs) = session().await;
    let tasks = (0..100).map(|_| {
        let session = session.clone();
        tokio::spawn(async move { kind(&call(&session, "integer", json!({"n": 1})).await) })
    });
    let refused = futures_util::future::join_all(tasks).await;
    assert_eq!(
        refused
            .iter()
            .filter(|joined| matches!(joined, Ok(LOOP)))
            .count(),
        98
    );
    assert_eq!(runs.get(), 2);
}

// R-L1
#[tokio::test]
async fn third_invalid_attempt_is_a_loop() {
    let (session, _) = session().await;
    for wrong in [r#"{"n":"many"}"#, "{}", "not JSON", "", r#"{"n":1"#] {
        assert_eq!(
            kinds(&session, "integer", &[wrong; 3]).await,
            [VALIDATION, VALIDATION, LOOP],
            "{wrong}"
        );
    }
    let said = session.call(ToolCall::new("c", "integer", "{}")).await;
    assert!(
        message(&said).starts_with("Loop detected: integer called 4 times"),
        "{}",
        message(&said)
    );
}

// R-L1
#[tokio::test]
async fn third_oversized_attempt_is_a_loop() {
    let tools = ToolContext::builder()
        .with(Kb(Counter::default()))
        .max_argument_bytes(64)
        .build()
        .expect("sound tools");
    let session = text(tools, policy()).await;
    let long = json!({"query": "x".repeat(100)}).to_string();
    assert_eq!(
        kinds(&session, "kb_search", &[long.as_str(); 3]).await,
        [VALIDATION, VALIDATION, LOOP]
    );
}

/// Returns whether two texts are the same arguments: then the third attempt is refused.
async fn same(tool: &str, one: &str, other: &str) -> bool {
    let (session, _) = session().await;
    let kinds = kinds(&session, tool, &[one, one, other]).await;
    assert_eq!(kinds[..2], [None, None], "{one}");
    assert!(matches!(kinds[2], None | LOOP), "{other}: {:?}", kinds[2]);
    kinds[2] == LOOP
}

// R-L3
#[tokio::test]
async fn key_order_white_space_and_escapes_do_not_matter() {
    let one = r#"{"query":"refunds","limit":5}"#;
    for other in [
        r#"{"limit":5,"query":"refunds"}"#,
        "{ \"query\" : \"refunds\",\n\t\"limit\" : 5 }",
        r#"{"query":"re\u0066unds","limit":5}"#,
        r#"{"qu\u0065ry":"refunds","limit":5}"#,
    ] {
        assert!(same("kb_search", one, other).await, "{other}");
    }
    assert!(
        same(
            "whatever",
            r#"{"value":{"a":[1,{"b":2,"c":3}]}}"#,
            r#"{"value":{"a":[1.0,{"c":3,"b":2e0}]}}"#
        )
        .await
    );
    assert!(!same("whatever", r#"{"value":[1,2]}"#, r#"{"value":[2,1]}"#).await);
}

// R-L3
#[tokio::test]
async fn equal_numbers_match_in_any_spelling() {
    for other in [
        r#"{"n":1.0}"#,
        r#"{"n":1e0}"#,
        r#"{"n":10e-1}"#,
        r#"{"n":1.00}"#,
        r#"{"n":"1"}"#,
    ] {
        assert!(same("number", r#"{"n":1}"#, other).await, "{other}");
        assert!(same("integer", r#"{"n":1}"#, other).await, "{other}");
    }
    assert!(same("number", r#"{"n":0}"#, r#"{"n":-0.0}"#).await);
    assert!(!same("number", r#"{"n":0.1}"#, r#"{"n":0.2}"#).await);
}

// R-L3
#[tokio::test]
async fn whole_numbers_are_compared_exactly() {
    assert!(
        !same(
            "integer",
            r#"{"n":9007199254740992}"#,
            r#"{"n":9007199254740993}"#
        )
        .await
    );
    assert!(
        !same(
            "integer",
            r#"{"n":18446744073709551615}"#,
            r#"{"n":18446744073709551614}"#
        )
        .await
    );
    assert!(
        same(
            "integer",
            r#"{"n":9007199254740992}"#,
            r#"{"n":9007199254740992.0}"#
        )
        .await
    );
}

// R-L3
#[tokio::test]
async fn omitted_default_equals_the_given_one() {
    let bare = r#"{"query":"refunds"}"#;
    for other in [
        r#"{"query":"refunds","limit":10}"#,
        r#"{"limit":10.0,"query":"refunds"}"#,
        r#"{"query":"refunds","limit":null}"#,
        r#"{"query":"refunds","note":null}"#,
    ] {
        assert!(same("kb_search", bare, other).await, "{other}");
        assert!(same("kb_search", other, bare).await, "{other}");
    }
    assert!(!same("kb_search", bare, r#"{"query":"refunds","limit":11}"#).await);
    assert!(!same("kb_search", bare, r#"{"query":"refunds","note":""}"#).await);
}

// R-L3
#[tokio::test]
async fn alias_equals_the_parameter_name() {
    assert!(same("aliased", r#"{"query":"refunds"}"#, r#"{"q":"refunds"}"#).await);
}

/// Go on and on.
#[tool(name = "limited", max_calls = 1)]
fn limited(n: u32) -> u32 {
    n
}

// R-L3
#[tokio::test]
async fn refused_attempts_count() {
    let session = text(tools![limited], policy()).await;
    let all = kinds(&session, "limited", &[r#"{"n":1}"#; 4]).await;
    assert_eq!(all, [None, Some(ErrorKind::BudgetExceeded), LOOP, LOOP]);
}

// R-L4
#[tokio::test]
async fn sessions_count_attempts_separately() {
    let runtime = runtime(kb().0, policy());
    let (one, other) = (
        open(&runtime, "1", Mode::Text).await,
        open(&runtime, "2", Mode::Text).await,
    );
    for session in [&one, &other] {
        assert_eq!(
            kinds(session, "integer", &[r#"{"n":1}"#; 3]).await,
            [None, None, LOOP]
        );
    }
}

#[tokio::test]
async fn report_of_a_turn_counts_calls_and_equal_attempts() {
    let session = text(tools![Kb(Counter::default()), limited], policy()).await;
    kinds(
        &session,
        "limited",
        &[r#"{"n":1}"#, r#"{"n": 1}"#, r#"{"n":2}"#],
    )
    .await;
    kinds(&session, "integer", &[r#"{"n":1}"#, r#"{"n":2}"#]).await;
    let report = session.turn_report().expect("the store is in memory");
    assert_eq!(
        (report.turn, report.calls, report.categories["utility"]),
        (0, 3, 3)
    );
    let of = |tool: &str| {
        (
            report.tools[tool].calls,
            report.tools[tool].most_equal_attempts,
        )
    };
    assert_eq!((of("limited"), of("integer")), ((1, 2), (2, 1)));
    session.next_turn().await;
    let next = session.turn_report().expect("the store is in memory");
    assert_eq!((next.turn, next.calls, next.tools.len()), (1, 0, 0));
}

#[tokio::test]
async fn report_of_a_turn_counts_attempts_that_do_not_decode() {
    let (session, _) = session().await;
    kinds(&session, "integer", &["{", "{", "{\"n\":1}"]).await;
    let report = session.turn_report().expect("the store is in memory");
    assert_eq!(report.tools["integer"].most_equal_attempts, 2);
}
