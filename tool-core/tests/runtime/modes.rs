//! Tools that are restricted to a mode.

use crate::support::{Counter, call, kind, message, open, runtime, text, tools, voice};
use serde_json::json;
use tool_core::{
    ErrorKind, Intent, Mode, Policy, RunContext, Runtime, ToolContext, ToolOutput, tool, toolset,
};

struct Line(Counter);

#[toolset(name = "line_in_modes")]
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
    async fn go_round(&self, ctx: &RunContext) -> String {
        let inner = ctx.call("start_voice_session", "{}").await;
        inner
            .error()
            .map_or_else(String::new, |error| error.kind.to_string())
    }
}

/// Speak no more.
#[tool(name = "hush_in_modes")]
fn hush() -> ToolOutput {
    ToolOutput::new(()).intent(Intent::SuppressAudio)
}

/// Burn the letter.
#[tool(name = "burn_in_modes", category = "action", confirm)]
fn burn() -> bool {
    true
}

/// Say the mode.
#[tool(name = "which_mode_in_modes")]
fn which_mode(ctx: &RunContext) -> &'static str {
    ctx.mode().as_str()
}

fn line() -> (ToolContext, Counter) {
    let runs = Counter::default();
    (tools![Line(runs.clone())], runs)
}

// R-B3
#[tokio::test]
async fn mode_refusal_names_the_required_mode() {
    let (tools, runs) = line();
    let spoken = call(
        &voice(tools.clone(), Policy::voice()).await,
        "start_voice_session",
        json!({}),
    )
    .await;
    assert_eq!(kind(&spoken), Some(ErrorKind::ModeRestricted));
    assert_eq!(
        message(&spoken),
        "`start_voice_session` needs text mode; this is voice mode"
    );
    let written = call(
        &text(tools, Policy::text()).await,
        "end_voice_session",
        json!({}),
    )
    .await;
    assert_eq!(
        message(&written),
        "`end_voice_session` needs voice mode; this is text mode"
    );
    assert_eq!(runs.get(), 0);
}

/// Who the session is for.
struct Staff;

/// Open the safe.
#[tool(name = "open_safe_in_modes", dynamic = is_staff)]
fn open_safe() -> bool {
    true
}

fn is_staff(ctx: &RunContext) -> bool {
    ctx.user_data::<Staff>().is_some()
}

// L19, R-B3
#[tokio::test]
async fn unknown_name_lists_only_tools_that_may_be_called() {
    let tools = tools![Line(Counter::default()), open_safe];
    let runtime = runtime(tools, Policy::voice());
    let spoken = open(&runtime, "v", Mode::Voice).await;
    let missed = call(&spoken, "start_voice_sessio", json!({})).await;
    let expected =
        "unknown tool `start_voice_sessio`; available tools: end_voice_session, kb_get, go_round";
    assert_eq!(
        (kind(&missed), message(&missed)),
        (Some(ErrorKind::NotFound), expected)
    );
    let written = open(&runtime, "t", Mode::Text).await;
    let missed = call(&written, "start_voice_sessio", json!({})).await;
    assert!(
        message(&missed).contains("did you mean `start_voice_session`?"),
        "{}",
        message(&missed)
    );
    assert!(
        !message(&missed).contains("end_voice_session"),
        "{}",
        message(&missed)
    );

    let missed = call(&written, "open_safe", json!({})).await;
    assert!(
        !message(&missed).contains("open_safe_in_modes"),
        "{}",
        message(&missed)
    );
    let staff = runtime
        .session("s", Mode::Text)
        .user_data(Staff)
        .await
        .expect("a session");
    let missed = call(&staff, "open_safe", json!({})).await;
    assert!(
        message(&missed).contains("open_safe_in_modes"),
        "{}",
        message(&missed)
    );
}

// R-B3
#[tokio::test]
async fn tool_runs_in_its_modes() {
    let (tools, runs) = line();
    let runtime = runtime(tools, Policy::voice());
    let (spoken, written) = (
        open(&runtime, "v", Mode::Voice).await,
        open(&runtime, "t", Mode::Text).await,
    );
    assert!(call(&spoken, "end_voice_session", json!({})).await.is_ok());
    assert!(
        call(&written, "start_voice_session", json!({}))
            .await
            .is_ok()
    );
    assert_eq!(runs.get(), 2);
}

// R-B3
#[tokio::test]
async fn tool_without_modes_runs_in_both() {
    let (tools, _) = line();
    let runtime = runtime(tools, Policy::text());
    for (id, mode) in [("v", Mode::Voice), ("t", Mode::Text)] {
        assert!(
            call(&open(&runtime, id, mode).await, "kb_get", json!({}))
                .await
                .is_ok()
        );
    }
}

// R-B3
#[tokio::test]
async fn mode_is_checked_before_arguments() {
    let (tools, _) = line();
    let session = voice(tools, Policy::voice()).await;
    let refused = session
        .call(tool_core::ToolCall::new(
            "c",
            "start_voice_session",
            "not JSON",
        ))
        .await;
    assert_eq!(kind(&refused), Some(ErrorKind::ModeRestricted));
}

// R-B3
#[tokio::test]
async fn mode_refusal_spends_no_budget() {
    let (tools, _) = line();
    let session = voice(tools, Policy::voice().max_calls(Some(1))).await;
    assert_eq!(
        kind(&call(&session, "start_voice_session", json!({})).await),
        Some(ErrorKind::ModeRestricted)
    );
    assert!(call(&session, "kb_get", json!({})).await.is_ok());
}

// R-B3, R-B4
#[tokio::test]
async fn nested_call_is_refused_outside_its_modes() {
    let (tools, runs) = line();
    let session = voice(tools, Policy::voice()).await;
    let response = call(&session, "go_round", json!({})).await;
    assert_eq!(
        (response.data_json(), runs.get()),
        (Some(r#""MODE_RESTRICTED""#), 0)
    );
}

// R-I2
#[tokio::test]
async fn handover_keeps_state_and_audit() {
    let session = text(tools![hush], Policy::text()).await;
    assert!(call(&session, "hush_in_modes", json!({})).await.is_ok());
    session.switch_mode(Mode::Voice).await.expect("stored");
    assert_eq!(
        (session.mode(), session.audit().await.expect("kept").len()),
        (Mode::Voice, 1)
    );
    session.next_turn().await;
    assert!(
        session.state().audio_suppressed,
        "a state of voice outlives its turn"
    );
    session.switch_mode(Mode::Text).await.expect("stored");
    session.next_turn().await;
    assert!(
        !session.state().audio_suppressed,
        "a state of text does not"
    );
}

// R-B1, R-B3
#[tokio::test]
async fn handover_brings_tools_and_budgets_of_the_mode() {
    let (tools, _) = line();
    let runtime =
        Runtime::builder(tools).policy_for(Mode::Voice, Policy::voice().max_calls(Some(3)));
    let session = open(&runtime.build().expect("builds"), "s", Mode::Text).await;
    for _ in 0..2 {
        assert!(call(&session, "kb_get", json!({})).await.is_ok());
    }
    session.switch_mode(Mode::Voice).await.expect("stored");
    let names = session
        .definitions()
        .iter()
        .map(|tool| tool.name().to_owned())
        .collect::<Vec<_>>();
    assert_eq!(names, ["end_voice_session", "kb_get", "go_round"]);
    assert!(call(&session, "end_voice_session", json!({})).await.is_ok());
    let refused = call(&session, "end_voice_session", json!({})).await;
    assert_eq!(
        kind(&refused),
        Some(ErrorKind::BudgetExceeded),
        "the calls of the turn count on"
    );
}

// R-C1
#[tokio::test]
async fn approval_is_redeemed_after_a_handover() {
    let session = text(tools![burn], Policy::text()).await;
    let asked = call(&session, "burn_in_modes", json!({})).await;
    let token = asked.meta().confirmation().expect("waits").token.clone();
    session.switch_mode(Mode::Voice).await.expect("stored");
    assert!(session.approve(&token).await.is_ok());
}

// R-I2
#[tokio::test]
async fn tools_see_the_mode_of_the_handover() {
    let session = text(tools![which_mode], Policy::text()).await;
    session.switch_mode(Mode::Voice).await.expect("stored");
    assert_eq!(
        call(&session, "which_mode_in_modes", json!({}))
            .await
            .data_json(),
        Some(r#""voice""#)
    );
}
