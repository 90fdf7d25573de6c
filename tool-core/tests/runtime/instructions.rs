//! What the model is told of the tools beside their declarations; results that answer equal calls. R-F4

#![allow(clippy::unused_self, clippy::needless_pass_by_value, reason = "tools as their authors write them")]

use crate::support::{Counter, call, kind, open, text, tools, voice};
use serde_json::json;
use std::time::Duration;
use tool_core::{ErrorKind, Mode, Policy, Runtime, Session, ToolError, toolset};

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
    #[tool(modes("voice"))]
    fn read_aloud(&self) -> u32 {
        self.ran.add()
    }

    /// Print, in text only. On paper.
    #[tool(modes("text"), idempotent)]
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
async fn in_text_the_guides_stand_in_full() {
    let told = text(library(), Policy::text()).await.instructions();
    assert!(
        told.contains("## look_up") && told.contains("Searches the shelf.") && told.contains("Watch Out"),
        "{told}"
    );
}

// R-F4
#[tokio::test]
async fn in_voice_only_the_summaries_stand() {
    let told = voice(library(), Policy::voice()).await.instructions();
    assert!(told.contains("Searches the shelf.") && !told.contains("Watch Out"), "{told}");
}

// R-F4
#[tokio::test]
async fn the_policy_turns_it_round() {
    let policy = Policy::voice().full_guides(Mode::Voice, true).full_guides(Mode::Text, false);
    assert!(voice(library(), policy.clone()).await.instructions().contains("Watch Out"));
    assert!(!text(library(), policy).await.instructions().contains("Watch Out"));
}

// R-F4
#[tokio::test]
async fn a_tool_without_a_guide_is_told_of_by_its_description() {
    let told = text(library(), Policy::text()).await.instructions();
    assert!(told.contains("## lend\n\nLend a book."), "{told}");
}

// R-F4, R-B3
#[tokio::test]
async fn only_the_tools_of_the_mode_are_told_of() {
    let (text, voice) = (text(library(), Policy::text()).await, voice(library(), Policy::voice()).await);
    let has = |session: &Session, tool: &str| session.instructions().contains(&format!("## {tool}\n"));
    assert!(has(&text, "print") && !has(&text, "read_aloud"));
    assert!(has(&voice, "read_aloud") && !has(&voice, "print"));
}

// R-F4
#[tokio::test]
async fn the_full_guide_is_there_on_demand_in_both_modes() {
    for session in [text(library(), Policy::text()).await, voice(library(), Policy::voice()).await] {
        assert_eq!(session.guide("look_up"), Some(include_str!("look_up.md")));
        assert_eq!(session.guide("nowhere"), None);
    }
}

// R-F4, R-I4
#[tokio::test]
async fn a_session_is_told_of_the_tools_that_it_began_with() {
    let runtime = crate::support::runtime(library(), Policy::text());
    let before = open(&runtime, "before", Mode::Text).await;
    runtime.update_tools(tools![]).expect("sound");
    let after = open(&runtime, "after", Mode::Text).await;
    assert!(before.instructions().contains("## lend") && !after.instructions().contains("## lend"));
}

async fn reusing(lifetime: u64) -> Session {
    text(library(), Policy::text().result_cache_ttl(Some(Duration::from_secs(lifetime)))).await
}

#[tokio::test(start_paused = true)]
async fn results_are_not_reused_unless_the_policy_says_so() {
    let session = text(library(), Policy::text()).await;
    for expected in ["1", "2"] {
        assert_eq!(call(&session, "print", json!({})).await.data_json(), Some(expected));
    }
}

#[tokio::test(start_paused = true)]
async fn the_result_of_an_idempotent_tool_answers_equal_calls_and_says_whose_it_was() {
    let session = reusing(60).await;
    let first = call(&session, "look_up", json!({"word": "a"})).await;
    let second = session.call(tool_core::ToolCall::new("c9", "look_up", r#"{"count":3.0,"word":"\u0061"}"#)).await;
    assert_eq!(second.data_json(), first.data_json());
    assert_eq!(second.meta().call_id(), Some("c9"));
    let whose = format!("`{}`", first.meta().call_id().expect("an id"));
    assert!(second.meta().warnings().join(" ").contains(&whose), "{second}");
}

#[tokio::test(start_paused = true)]
async fn other_arguments_and_other_sessions_get_results_of_their_own() {
    let runtime = crate::support::runtime(library(), Policy::text().result_cache_ttl(Some(Duration::from_mins(1))));
    let (one, two) = (open(&runtime, "one", Mode::Text).await, open(&runtime, "two", Mode::Text).await);
    assert_eq!(call(&one, "print", json!({})).await.data_json(), Some("1"));
    assert_eq!(call(&two, "print", json!({})).await.data_json(), Some("2"));
    assert_eq!(call(&one, "look_up", json!({"word": "a"})).await.data_json(), Some(r#""a 3 3""#));
    assert_eq!(call(&one, "look_up", json!({"word": "b"})).await.data_json(), Some(r#""b 3 4""#));
}

#[tokio::test(start_paused = true)]
async fn a_result_is_reused_no_longer_than_the_policy_says() {
    let session = reusing(60).await;
    assert_eq!(call(&session, "print", json!({})).await.data_json(), Some("1"));
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(call(&session, "print", json!({})).await.data_json(), Some("2"));
}

#[tokio::test(start_paused = true)]
async fn a_reused_result_is_not_renewed_by_its_reuse() {
    let session = reusing(60).await;
    for (expected, seconds) in [("1", 40), ("1", 40), ("2", 0)] {
        assert_eq!(call(&session, "print", json!({})).await.data_json(), Some(expected));
        tokio::time::advance(Duration::from_secs(seconds)).await;
        session.next_turn().await;
    }
}

#[tokio::test(start_paused = true)]
async fn neither_failures_nor_actions_are_reused() {
    let session = reusing(60).await;
    for expected in ["1", "2"] {
        assert_eq!(call(&session, "lend", json!({})).await.data_json(), Some(expected));
    }
    for _ in 0..2 {
        assert_eq!(kind(&call(&session, "fail", json!({})).await), Some(ErrorKind::Transient));
    }
}

// R-L1
#[tokio::test(start_paused = true)]
async fn a_reused_result_is_an_attempt_all_the_same() {
    let session = reusing(60).await;
    for _ in 0..2 {
        assert!(call(&session, "print", json!({})).await.is_ok());
    }
    assert_eq!(kind(&call(&session, "print", json!({})).await), Some(ErrorKind::LoopDetected));
}

// R-I4
#[test]
fn the_runtime_shows_the_tools_of_this_moment() {
    let runtime: Runtime = crate::support::runtime(library(), Policy::text());
    assert_eq!(runtime.tools().definitions().count(), 5);
    runtime.update_tools(tools![]).expect("sound");
    assert_eq!(runtime.tools().definitions().count(), 0);
}
