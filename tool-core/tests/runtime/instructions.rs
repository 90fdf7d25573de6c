//! The instructions about tools, and reuse of results. R-F4

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "tools as their authors write them"
)]

use crate::support::{Counter, call, kind, open, text, tools, voice};
use serde_json::json;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_core::{
    Content, ErrorKind, Mode, Policy, Runtime, Session, ToolError, ToolOutput, tool, toolset,
};

#[derive(Clone, Default)]
struct Library {
    ran: Counter,
}

#[toolset(discover = false)]
impl Library {
    /// Look something up.
    ///
    /// The whole shelf is searched.
    #[tool(category = "retrieval", guide = "tests/runtime/look_up.md")]
    fn look_up(&self, word: String, #[arg(default = 3)] count: u32) -> String {
        format!("{word} {count} {}", self.ran.add())
    }

    /// Read aloud, in voice only.
    #[tool(modes("voice"), guide = "tests/runtime/read_aloud.md")]
    fn read_aloud(&self) -> u32 {
        self.ran.add()
    }

    /// Print, in text only. On paper.
    #[tool(
        modes("text"),
        category = "retrieval",
        guide = "tests/runtime/print.md"
    )]
    fn print(&self) -> u32 {
        self.ran.add()
    }

    /// Lend a book.
    #[tool(category = "action")]
    fn lend(&self) -> u32 {
        self.ran.add()
    }

    /// Fail, as often as it is asked.
    #[tool(category = "retrieval")]
    fn fail(&self) -> Result<(), ToolError> {
        self.ran.add();
        Err(ToolError::transient("not today"))
    }
}

fn library() -> tool_core::ToolContext {
    tools![Library::default()]
}

// R-F4
#[tokio::test]
async fn text_instructions_have_full_guides() {
    let told = text(library(), Policy::text()).await.instructions();
    assert!(
        told.contains("## look_up")
            && told.contains("Searches the shelf.")
            && told.contains("Watch Out"),
        "{told}"
    );
}

// R-F4
#[tokio::test]
async fn voice_instructions_have_summaries() {
    let told = voice(library(), Policy::voice()).await.instructions();
    assert!(
        told.contains("Searches the shelf.") && !told.contains("Watch Out"),
        "{told}"
    );
}

// R-F4
#[tokio::test]
async fn policy_selects_full_guides_or_summaries() {
    let policy = Policy::voice()
        .full_guides(Mode::Voice, true)
        .full_guides(Mode::Text, false);
    assert!(
        voice(library(), policy.clone())
            .await
            .instructions()
            .contains("Watch Out")
    );
    assert!(
        !text(library(), policy)
            .await
            .instructions()
            .contains("Watch Out")
    );
}

// R-F4
#[tokio::test]
async fn instructions_repeat_no_declaration() {
    for session in [
        text(library(), Policy::text()).await,
        voice(library(), Policy::voice()).await,
    ] {
        let told = session.instructions();
        for tool in session.definitions() {
            assert!(!told.contains(tool.description()), "{told}");
        }
        assert_eq!(session.guide("lend"), Some("Lend a book."));
    }
}

// R-F4
#[tokio::test]
async fn instructions_of_tools_without_guides_are_empty() {
    let session = text(tools![picture], Policy::text()).await;
    assert_eq!(session.instructions(), "");
}

// R-F4, R-B3
#[tokio::test]
async fn instructions_contain_tools_of_the_mode_only() {
    let (text, voice) = (
        text(library(), Policy::text()).await,
        voice(library(), Policy::voice()).await,
    );
    let has =
        |session: &Session, tool: &str| session.instructions().contains(&format!("## {tool}\n"));
    assert!(has(&text, "print") && !has(&text, "read_aloud"));
    assert!(has(&voice, "read_aloud") && !has(&voice, "print"));
}

// R-F4
#[tokio::test]
async fn full_guide_is_available_in_both_modes() {
    for session in [
        text(library(), Policy::text()).await,
        voice(library(), Policy::voice()).await,
    ] {
        assert_eq!(session.guide("look_up"), Some(include_str!("look_up.md")));
        assert_eq!(session.guide("nowhere"), None);
    }
}

fn names(session: &Session) -> Vec<String> {
    session
        .definitions()
        .iter()
        .map(|tool| tool.name().to_owned())
        .collect()
}

// R-F4
#[tokio::test]
async fn model_reads_a_full_guide_where_it_has_summaries() {
    let session = voice(library(), Policy::voice()).await;
    assert!(names(&session).contains(&"get_tool_guide".to_owned()));
    let guide = call(&session, "get_tool_guide", json!({"tool": "look_up"})).await;
    assert_eq!(
        guide.data::<String>().expect("a text"),
        include_str!("look_up.md")
    );
}

// R-F4
#[tokio::test]
async fn guide_of_a_hidden_tool_is_refused_with_names() {
    let session = voice(library(), Policy::voice()).await;
    let refused = call(&session, "get_tool_guide", json!({"tool": "print"})).await;
    assert_eq!(kind(&refused), Some(ErrorKind::NotFound));
    let message = &refused.error().expect("refused").message;
    assert_eq!(
        message,
        "no tool has the name `print`; there are guides for `look_up`, `read_aloud`"
    );
}

// R-F4
#[tokio::test]
async fn no_guides_are_offered_against_the_policy() {
    let full = Policy::voice().full_guides(Mode::Voice, true);
    for session in [
        text(library(), Policy::text()).await,
        voice(library(), full).await,
        voice(library(), Policy::voice().guides_on_demand(false)).await,
    ] {
        assert!(!names(&session).contains(&"get_tool_guide".to_owned()));
    }
}

// R-F4, R-I4
#[tokio::test]
async fn instructions_use_the_tools_of_the_session() {
    let runtime = crate::support::runtime(library(), Policy::text());
    let before = open(&runtime, "before", Mode::Text).await;
    runtime.update_tools(tools![]).expect("sound");
    let after = open(&runtime, "after", Mode::Text).await;
    assert!(before.instructions().contains("## look_up"));
    assert_eq!(after.instructions(), "");
}

async fn reusing(lifetime: u64) -> Session {
    text(
        library(),
        Policy::text().result_cache_ttl(Some(Duration::from_secs(lifetime))),
    )
    .await
}

#[tokio::test(start_paused = true)]
async fn results_are_reused_only_if_the_policy_says_so() {
    let session = text(library(), Policy::text()).await;
    for expected in ["1", "2"] {
        assert_eq!(
            call(&session, "print", json!({})).await.data_json(),
            Some(expected)
        );
    }
}

#[tokio::test(start_paused = true)]
async fn reused_result_names_its_original_call() {
    let session = reusing(60).await;
    let first = call(&session, "look_up", json!({"word": "a"})).await;
    let second = session
        .call(tool_core::ToolCall::new(
            "c9",
            "look_up",
            r#"{"count":3.0,"word":"\u0061"}"#,
        ))
        .await;
    assert_eq!(second.data_json(), first.data_json());
    assert_eq!(second.meta().call_id(), Some("c9"));
    let whose = format!("`{}`", first.meta().call_id().expect("an id"));
    assert!(
        second.meta().warnings().join(" ").contains(&whose),
        "{second}"
    );
}

/// Show a picture.
#[tool(category = "retrieval")]
fn picture() -> ToolOutput {
    ToolOutput::new(7).with_content([Content::text("a cat")])
}

#[tokio::test(start_paused = true)]
async fn reused_result_has_its_content_parts() {
    let session = text(
        tools![picture],
        Policy::text().result_cache_ttl(Some(Duration::from_secs(60))),
    )
    .await;
    for warnings in 0..2 {
        let response = call(&session, "picture", json!({})).await;
        assert_eq!(
            (response.data_json(), response.meta().warnings().len()),
            (Some("7"), warnings)
        );
        assert_eq!(response.into_text(), "a cat");
    }
}

#[tokio::test(start_paused = true)]
async fn results_are_reused_within_a_session_only() {
    let runtime = crate::support::runtime(
        library(),
        Policy::text().result_cache_ttl(Some(Duration::from_secs(60))),
    );
    let (one, two) = (
        open(&runtime, "one", Mode::Text).await,
        open(&runtime, "two", Mode::Text).await,
    );
    assert_eq!(call(&one, "print", json!({})).await.data_json(), Some("1"));
    assert_eq!(call(&two, "print", json!({})).await.data_json(), Some("2"));
    assert_eq!(
        call(&one, "look_up", json!({"word": "a"}))
            .await
            .data_json(),
        Some(r#""a 3 3""#)
    );
    assert_eq!(
        call(&one, "look_up", json!({"word": "b"}))
            .await
            .data_json(),
        Some(r#""b 3 4""#)
    );
}

#[tokio::test(start_paused = true)]
async fn result_reuse_ends_with_its_ttl() {
    let session = reusing(60).await;
    assert_eq!(
        call(&session, "print", json!({})).await.data_json(),
        Some("1")
    );
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(
        call(&session, "print", json!({})).await.data_json(),
        Some("2")
    );
}

#[tokio::test(start_paused = true)]
async fn reuse_does_not_extend_the_ttl() {
    let session = reusing(60).await;
    for (expected, seconds) in [("1", 40), ("1", 40), ("2", 0)] {
        assert_eq!(
            call(&session, "print", json!({})).await.data_json(),
            Some(expected)
        );
        tokio::time::advance(Duration::from_secs(seconds)).await;
        session.next_turn().await;
    }
}

#[tokio::test(start_paused = true)]
async fn failures_and_actions_are_not_reused() {
    let session = reusing(60).await;
    for expected in ["1", "2"] {
        assert_eq!(
            call(&session, "lend", json!({})).await.data_json(),
            Some(expected)
        );
    }
    for _ in 0..2 {
        assert_eq!(
            kind(&call(&session, "fail", json!({})).await),
            Some(ErrorKind::Transient)
        );
    }
}

#[derive(Clone, Default)]
struct Lamp {
    color: Arc<Mutex<String>>,
}

#[toolset(discover = false)]
impl Lamp {
    /// Set the color.
    #[tool(category = "action", idempotent)]
    fn set_color(&self, color: String) {
        *self.color.lock().expect("the color") = color;
    }
}

#[tokio::test(start_paused = true)]
async fn equal_call_of_an_idempotent_action_runs_again() {
    let lamp = Lamp::default();
    let policy = Policy::text().result_cache_ttl(Some(Duration::from_secs(60)));
    let session = text(tools![lamp.clone()], policy).await;
    for color in ["red", "blue", "red"] {
        let response = call(&session, "set_color", json!({"color": color})).await;
        assert!(response.is_ok(), "{response}");
    }
    assert_eq!(*lamp.color.lock().expect("the color"), "red");
}

// R-L5
#[tokio::test(start_paused = true)]
async fn reused_result_counts_against_the_budget() {
    let policy = Policy::text()
        .result_cache_ttl(Some(Duration::from_secs(60)))
        .max_calls(Some(2));
    let session = text(library(), policy).await;
    let mut kinds = Vec::new();
    for word in ["a", "a", "b"] {
        kinds.push(kind(
            &call(&session, "look_up", json!({ "word": word })).await,
        ));
    }
    assert_eq!(kinds, [None, None, Some(ErrorKind::BudgetExceeded)]);
}

// R-L1, R-L5
#[tokio::test(start_paused = true)]
async fn reused_result_counts_as_an_attempt() {
    let session = reusing(60).await;
    for _ in 0..2 {
        assert!(call(&session, "print", json!({})).await.is_ok());
    }
    assert_eq!(
        kind(&call(&session, "print", json!({})).await),
        Some(ErrorKind::LoopDetected)
    );
}

// R-I4
#[test]
fn runtime_returns_the_current_tools() {
    let runtime: Runtime = crate::support::runtime(library(), Policy::text());
    assert_eq!(runtime.tools().definitions().count(), 5);
    runtime.update_tools(tools![]).expect("sound");
    assert_eq!(runtime.tools().definitions().count(), 0);
}
