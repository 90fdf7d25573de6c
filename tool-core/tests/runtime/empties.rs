//! Empty results.

use crate::support::{Counter, call, kind, message, open, runtime, text, tools};
use serde_json::{Value, json};
use tool_core::{
    Category, Content, ErrorKind, Intent, Mode, Policy, Session, ToolContext, ToolOutput, tool,
    toolset,
};

struct Kb(Counter);

#[toolset(name = "kb_in_empties", discover = false)]
impl Kb {
    /// Answer with what was asked.
    #[tool(name = "kb_search", category = "retrieval")]
    fn search(&self, n: u32, answer: Value) -> Value {
        self.0.add();
        if n == 1000 { json!(n) } else { answer }
    }

    /// Do the same in the name of another tool.
    #[tool(name = "kb_get", category = "retrieval")]
    fn get(&self, n: u32, answer: Value) -> Value {
        self.search(n, answer)
    }

    /// Answer with what was asked, as an action.
    #[tool(name = "act", category = "action")]
    fn act(&self, n: u32, answer: Value) -> Value {
        self.search(n, answer)
    }

    /// Say whether the answer is empty, whatever it is.
    #[tool(name = "say", category = "action")]
    fn say(&self, n: u32, answer: Value, empty: bool) -> ToolOutput {
        ToolOutput::new(self.search(n, answer)).empty(empty)
    }

    /// Say of a search whether it is empty.
    #[tool(name = "say_search", category = "retrieval")]
    fn say_search(&self, n: u32, answer: Value, empty: bool) -> ToolOutput {
        self.say(n, answer, empty)
    }

    /// Answer with what was asked, as a utility.
    #[tool(name = "convert")]
    fn convert(&self, n: u32, answer: Value) -> Value {
        self.search(n, answer)
    }

    /// Answer with nothing at all.
    #[tool(name = "tidy")]
    fn tidy(&self, n: u32) {
        self.0.add();
        let _ = n;
    }

    /// Answer with nothing at all, if all goes well.
    #[tool(name = "try_to_tidy", category = "retrieval")]
    async fn try_to_tidy(&self, n: u32) -> Result<(), String> {
        self.tidy(n);
        Ok(())
    }

    /// Do it without a word.
    #[tool(name = "beep")]
    fn beep(&self, n: u32) -> ToolOutput {
        self.tidy(n);
        ToolOutput::stop()
    }

    /// Show the place on the map.
    #[tool(name = "show")]
    fn show(&self, n: u32) -> ToolOutput {
        self.tidy(n);
        ToolOutput::new(()).intent(Intent::Navigate("/map".to_owned()))
    }

    /// Draw it.
    #[tool(name = "draw", category = "retrieval")]
    fn draw(&self, n: u32) -> ToolOutput {
        self.tidy(n);
        ToolOutput::new(()).with_content([Content::text("a drawing")])
    }

    /// Find a number, or none.
    #[tool(name = "pick")]
    fn pick(&self, n: u32) -> Option<u32> {
        self.tidy(n);
        None
    }

    /// List the parts of nothing.
    #[tool(name = "parts")]
    fn parts(&self, n: u32) -> Vec<Content> {
        self.tidy(n);
        Vec::new()
    }

    /// Find nothing, and call that an error.
    #[tool(name = "fail", category = "retrieval")]
    fn fail(&self, n: u32) -> Result<(), String> {
        self.0.add();
        Err(format!("no entry {n}"))
    }
}

fn kb() -> (ToolContext, Counter) {
    let runs = Counter::default();
    (tools![Kb(runs.clone())], runs)
}

fn policy() -> Policy {
    Policy::text().category_budget(Category::Retrieval, None)
}

async fn session() -> Session {
    text(kb().0, policy()).await
}

/// Returns whether a tool is refused after two results like this.
async fn refused_after_two(tool: &str, mut arguments: Value) -> bool {
    let session = session().await;
    for n in 0..2 {
        arguments["n"] = json!(n);
        let response = call(&session, tool, arguments.clone()).await;
        assert!(response.is_ok(), "{}", message(&response));
    }
    arguments["n"] = json!(2);
    let third = call(&session, tool, arguments).await;
    assert!(matches!(kind(&third), None | Some(ErrorKind::LoopDetected)));
    !third.is_ok()
}

async fn is_empty(answer: Value) -> bool {
    refused_after_two("kb_search", json!({"answer": answer})).await
}

// R-L2
#[tokio::test]
async fn search_is_refused_after_two_empty_results() {
    let (tools, runs) = kb();
    let session = text(tools, policy()).await;
    for n in 0..2 {
        assert!(
            call(&session, "kb_search", json!({"n": n, "answer": []}))
                .await
                .is_ok()
        );
    }
    for n in 2..4 {
        let refused = call(&session, "kb_search", json!({"n": n, "answer": []})).await;
        let expected = "kb_search returned empty results 2 times. \
                        Data may not exist. Try different search terms or a different tool.";
        assert_eq!(
            (kind(&refused), message(&refused)),
            (Some(ErrorKind::LoopDetected), expected)
        );
        let error = refused.error().expect("an error");
        assert_eq!(
            (error.retryable, error.partial_side_effects),
            (false, false)
        );
    }
    assert_eq!(runs.get(), 2);
}

// R-L2
#[tokio::test]
async fn policy_sets_the_number_of_empty_results() {
    let session = text(kb().0, policy().max_empty_results(Some(3))).await;
    for n in 0..3 {
        assert!(
            call(&session, "kb_search", json!({"n": n, "answer": []}))
                .await
                .is_ok()
        );
    }
    let refused = call(&session, "kb_search", json!({"n": 3, "answer": []})).await;
    assert!(
        message(&refused).starts_with("kb_search returned empty results 3 times. "),
        "{}",
        message(&refused)
    );
}

// R-L2
#[tokio::test]
async fn empty_results_count_per_tool_and_turn() {
    let session = session().await;
    for n in 0..2 {
        call(&session, "kb_search", json!({"n": n, "answer": null})).await;
    }
    assert!(
        call(&session, "kb_get", json!({"n": 1, "answer": null}))
            .await
            .is_ok()
    );
    session.next_turn().await;
    assert!(
        call(&session, "kb_search", json!({"n": 0, "answer": null}))
            .await
            .is_ok()
    );
}

// R-L2
#[tokio::test]
async fn results_in_between_do_not_reset_the_count() {
    let session = session().await;
    for (n, answer) in [(0, json!([])), (1, json!([1])), (2, json!([]))] {
        assert!(
            call(&session, "kb_search", json!({"n": n, "answer": answer}))
                .await
                .is_ok()
        );
    }
    assert_eq!(
        kind(&call(&session, "kb_search", json!({"n": 3, "answer": [1]})).await),
        Some(ErrorKind::LoopDetected)
    );
}

// R-L2
#[tokio::test]
async fn results_without_information_are_empty() {
    for empty in [
        json!(null),
        json!(""),
        json!(" \n\t"),
        json!([]),
        json!({}),
        json!({"results": []}),
        json!({"results": [], "total": 0}),
        json!({"results": [], "facets": {}, "next": null, "more": false, "note": " "}),
    ] {
        assert!(is_empty(empty.clone()).await, "{empty}");
    }
}

// R-L2
#[tokio::test]
async fn results_with_information_are_not_empty() {
    for full in [
        json!("none"),
        json!(0),
        json!(false),
        json!([[]]),
        json!([null]),
        json!({"available": true, "conflicts": []}),
        json!({"results": [], "total": 3}),
        json!({"results": [], "note": "try later"}),
        json!({"found": false}),
        json!({"results": [], "facets": {"kind": []}}),
    ] {
        assert!(!is_empty(full.clone()).await, "{full}");
    }
}

// R-L2
#[tokio::test]
async fn empty_results_of_an_action_do_not_count() {
    for empty in [json!([]), json!(null), json!({"results": []})] {
        assert!(!refused_after_two("act", json!({"answer": empty})).await);
    }
}

// R-L2
#[tokio::test]
async fn empty_results_of_a_utility_count() {
    for empty in [
        json!([]),
        json!(null),
        json!(" "),
        json!({"results": [], "total": 0}),
    ] {
        assert!(
            refused_after_two("convert", json!({"answer": empty})).await,
            "{empty}"
        );
    }
    assert!(
        !refused_after_two(
            "convert",
            json!({"answer": {"available": true, "conflicts": []}})
        )
        .await
    );
    assert!(refused_after_two("pick", json!({})).await);
    assert!(refused_after_two("parts", json!({})).await);
}

// R-L2
#[tokio::test]
async fn success_without_data_is_not_an_empty_result() {
    for tool in ["tidy", "try_to_tidy", "beep", "show", "draw"] {
        assert!(!refused_after_two(tool, json!({})).await, "{tool}");
    }
}

// R-L2, L16
#[tokio::test]
async fn control_tools_may_list_nothing_again_and_again() {
    let session = text(tools![wait], policy()).await;
    for _ in 0..5 {
        let listed = call(&session, "list_running_calls", json!({})).await;
        assert_eq!(listed.data_json(), Some(r#"{"calls":[]}"#));
    }
}

/// Wait until somebody says otherwise.
#[tool(cancellable)]
async fn wait() {
    std::future::pending::<()>().await;
}

// R-L2
#[tokio::test]
async fn tool_can_mark_its_result_as_empty() {
    assert!(refused_after_two("say", json!({"answer": [1], "empty": true})).await);
    assert!(refused_after_two("say_search", json!({"answer": [1], "empty": true})).await);
    assert!(!refused_after_two("say", json!({"answer": [], "empty": false})).await);
    assert!(!refused_after_two("say_search", json!({"answer": [], "empty": false})).await);
}

// R-L2
#[tokio::test]
async fn error_is_not_an_empty_result() {
    let session = session().await;
    for n in 0..4 {
        assert_eq!(
            kind(&call(&session, "fail", json!({"n": n})).await),
            Some(ErrorKind::Permanent)
        );
    }
}

// R-L2, R-L4
#[tokio::test]
async fn sessions_count_empty_results_separately() {
    let runtime = runtime(kb().0, policy());
    let (one, other) = (
        open(&runtime, "1", Mode::Text).await,
        open(&runtime, "2", Mode::Text).await,
    );
    for n in 0..2 {
        call(&one, "kb_search", json!({"n": n, "answer": []})).await;
    }
    assert!(
        call(&other, "kb_search", json!({"n": 9, "answer": []}))
            .await
            .is_ok()
    );
    assert_eq!(
        kind(&call(&one, "kb_search", json!({"n": 9, "answer": []})).await),
        Some(ErrorKind::LoopDetected)
    );
}
