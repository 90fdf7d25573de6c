//! Panics of toolsets and stores: they end where they began.

use crate::support::{Plan, Probe, builder, failed, give, load, mail_and_chat, names};
use crate::support_store::Line;
use tool_core::ErrorKind;
use tool_core::agents::AgentErrorKind;
use tool_core::agents::AgentStoreError;

#[tokio::test]
async fn a_toolset_that_panics_is_left_out_and_the_others_work() {
    for plan in [Plan::PanicsWhileConfigured, Plan::PanicsWhileOpened] {
        let (_, _, agents) = mail_and_chat(plan).await;
        let loaded = load(&agents, "alice").await;
        assert_eq!(names(&loaded), ["post"]);
        let [("mail", AgentErrorKind::Failed(error))] = failed(&loaded)[..] else {
            panic!("{loaded:?}")
        };
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(
            !loaded.failures()[0].to_string().contains("boom"),
            "its text goes to the log"
        );
    }
}

#[tokio::test]
async fn a_store_that_panics_is_down_and_what_is_loaded_stays() {
    let (line, mail) = (Line::default(), Probe::new("mail", ["send"]));
    let agents = builder(line.clone(), [&mail]).build().expect("sound");
    give(&agents, "alice", "mail").await;
    load(&agents, "alice").await;
    line.panics(true);
    let error = agents
        .executor("alice")
        .load()
        .await
        .expect_err("it panics");
    assert!(
        matches!(
            error.kind,
            AgentErrorKind::Store(AgentStoreError::Down { .. })
        ),
        "{error}"
    );
    line.panics(false);
    load(&agents, "alice").await;
    assert_eq!(mail.counts(), (1, 1, 0));
}
