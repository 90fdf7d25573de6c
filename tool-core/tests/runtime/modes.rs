//! Tools that are restricted to a mode.

use crate::support::{Counter, call, kind, message, open, runtime, text, tools, voice};
use serde_json::json;
use tool_core::{ErrorKind, Mode, Policy, ToolContext, toolset};

struct Line(Counter);

#[toolset(name = "line_in_modes", discover = false)]
impl Line {
    /// Begin to speak.
    #[tool(name = "start_voice_session", modes("text"))]
    fn start(&self) -> u32 {
        self.0.add()
    }

    /// Stop speaking.
    #[tool(name = "end_voice_session", modes("voice"))]
    fn end(&self) -> u32 {
        self.0.add()
    }

    /// Look something up.
    #[tool(name = "kb_get", category = "retrieval")]
    fn get(&self) -> u32 {
        self.0.add()
    }

    /// Call the text-only tool from inside.
    #[tool(name = "go_round")]
    async fn go_round(&self, ctx: &tool_core::RunContext) -> String {
        let inner = ctx.call("start_voice_session", "{}").await;
        inner.error().map_or_else(String::new, |error| error.kind.to_string())
    }
}

fn line() -> (ToolContext, Counter) {
    let runs = Counter::default();
    (tools![Line(runs.clone())], runs)
}

// R-B3
#[tokio::test]
async fn mode_refusal_names_the_required_mode() {
    let (tools, runs) = line();
    let spoken = call(&voice(tools.clone(), Policy::voice()).await, "start_voice_session", json!({})).await;
    assert_eq!(kind(&spoken), Some(ErrorKind::ModeRestricted));
    assert_eq!(message(&spoken), "`start_voice_session` needs text mode; this is voice mode");
    let written = call(&text(tools, Policy::text()).await, "end_voice_session", json!({})).await;
    assert_eq!(message(&written), "`end_voice_session` needs voice mode; this is text mode");
    assert_eq!(runs.get(), 0);
}

// R-B3
#[tokio::test]
async fn tool_runs_in_its_modes() {
    let (tools, runs) = line();
    let runtime = runtime(tools, Policy::voice());
    let (spoken, written) = (open(&runtime, "v", Mode::Voice).await, open(&runtime, "t", Mode::Text).await);
    assert!(call(&spoken, "end_voice_session", json!({})).await.is_ok());
    assert!(call(&written, "start_voice_session", json!({})).await.is_ok());
    assert_eq!(runs.get(), 2);
}

// R-B3
#[tokio::test]
async fn tool_without_modes_runs_in_both() {
    let (tools, _) = line();
    let runtime = runtime(tools, Policy::text());
    for (id, mode) in [("v", Mode::Voice), ("t", Mode::Text)] {
        assert!(call(&open(&runtime, id, mode).await, "kb_get", json!({})).await.is_ok());
    }
}

// R-B3
#[tokio::test]
async fn mode_is_checked_before_arguments() {
    let (tools, _) = line();
    let session = voice(tools, Policy::voice()).await;
    let refused = session.call(tool_core::ToolCall::new("c", "start_voice_session", "not JSON")).await;
    assert_eq!(kind(&refused), Some(ErrorKind::ModeRestricted));
}

// R-B3
#[tokio::test]
async fn mode_refusal_spends_no_budget() {
    let (tools, _) = line();
    let session = voice(tools, Policy::voice().max_calls(Some(1))).await;
    assert_eq!(kind(&call(&session, "start_voice_session", json!({})).await), Some(ErrorKind::ModeRestricted));
    assert!(call(&session, "kb_get", json!({})).await.is_ok());
}

// R-B3, R-B4
#[tokio::test]
async fn nested_call_is_refused_outside_its_modes() {
    let (tools, runs) = line();
    let session = voice(tools, Policy::voice()).await;
    let response = call(&session, "go_round", json!({})).await;
    assert_eq!((response.data_json(), runs.get()), (Some(r#""MODE_RESTRICTED""#), 0));
}
