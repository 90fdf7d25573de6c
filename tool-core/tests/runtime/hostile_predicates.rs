//! Predicates over the permissions of a session, which can change at any time.

use crate::support::{call, kind, tools, voice};
use serde_json::json;
use tool_core::session::{History, StateChange};
use tool_core::testing::ScriptedModel;
use tool_core::{ErrorKind, Policy, RunContext, Session, ToolsetExt, toolset};

struct Admin;

#[toolset(discover = false)]
impl Admin {
    /// Delete everything, which only some may.
    #[tool(guide = "tests/runtime/wipe.md")]
    fn wipe(&self) -> u32 {
        1
    }
}

/// Opens a session that offers `wipe` while `may` is true.
async fn guarded() -> Session {
    let guarded = Admin.dynamic(|ctx: &RunContext| ctx.state()["values"]["may"] == json!(true));
    let session = voice(tools![guarded], Policy::text()).await;
    allow(&session, true).await;
    session
}

async fn allow(session: &Session, yes: bool) {
    session
        .change(&[StateChange::Value("may".into(), json!(yes))])
        .await
        .expect("a change");
}

// R-I2
#[tokio::test]
async fn revoked_permission_applies_to_the_next_call() {
    let session = guarded().await;
    assert!(call(&session, "wipe", json!({})).await.is_ok());
    allow(&session, false).await;
    assert_eq!(
        kind(&call(&session, "wipe", json!({})).await),
        Some(ErrorKind::NotFound)
    );
    allow(&session, true).await;
    assert!(call(&session, "wipe", json!({})).await.is_ok());
}

// R-I2, R-F4
#[tokio::test]
async fn instructions_contain_visible_tools_only() {
    let session = guarded().await;
    assert!(session.instructions().contains("## wipe"));
    allow(&session, false).await;
    assert!(
        !session.instructions().contains("## wipe"),
        "{}",
        session.instructions()
    );
}

// R-I2
#[tokio::test]
async fn replies_offer_visible_tools_only() {
    let session = guarded().await;
    let mut model = ScriptedModel::new().says("hello").says("hello");
    for may in [true, false] {
        allow(&session, may).await;
        let history = &mut History::new();
        assert_eq!(
            session
                .reply(&mut model, history, "hello")
                .await
                .text
                .as_deref(),
            Some("hello")
        );
    }
    let offered = model
        .requests()
        .iter()
        .map(|request| request.tools.iter().any(|tool| tool == "wipe"));
    assert_eq!(offered.collect::<Vec<_>>(), [true, false]);
}

// R-I2
#[tokio::test]
async fn predicate_sees_the_current_turn() {
    let first_turn = Admin.dynamic(|ctx: &RunContext| ctx.turn() == 0);
    let session = voice(tools![first_turn], Policy::text()).await;
    assert!(call(&session, "wipe", json!({})).await.is_ok());
    session.next_turn().await;
    assert_eq!(
        kind(&call(&session, "wipe", json!({})).await),
        Some(ErrorKind::NotFound)
    );
}
