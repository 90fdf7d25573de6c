//! A worker that is gone for good, and the message that it has left.

use crate::steps::{LIMIT, config};
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::timeout;
use tool_adapters::agent::AgentLoop;
use tool_adapters::dbos::sdk::{ClientConfig, Config, DBOS};
use tool_adapters::dbos::{Conversations, DurableAgent};
use tool_adapters::stores::PostgresStore;
use tool_core::testing::ScriptedModel;
use tool_core::{Mode, Runtime, ToolContext};

/// What a worker does with a message.
#[derive(Clone)]
enum Work {
    Answers,
    /// It tells that it has begun, and never ends.
    Begins(Arc<Notify>),
}

/// Launches a worker, which answers with its name.
async fn launch(config: Config, name: &'static str, work: Work) -> DBOS {
    let url = config.database_url.clone();
    let store = PostgresStore::connect(&url).await.expect("it connects");
    let runtime = Runtime::builder(ToolContext::builder().build().expect("no tools"))
        .store(store.clone())
        .journal(store.journal())
        .signing_key([7; 32])
        .build()
        .expect("a runtime");
    let agent = DurableAgent::new(move |steps, conversation: String| {
        let runtime = runtime.clone();
        let store = store.clone();
        let work = work.clone();
        async move {
            if let Work::Begins(begun) = work {
                begun.notify_one();
                pending::<()>().await;
            }
            let id = conversation.clone();
            let session = move || runtime.session(&*id, Mode::Text).principal("user:7");
            let model = ScriptedModel::new().says(name);
            AgentLoop::open_durable(steps, store, conversation, session, model).await
        }
    });
    let engine = DBOS::new(Config {
        executor_id: Some(name.to_owned()),
        ..config
    });
    agent.launch(&engine).await.expect("it launches");
    engine
}

/// Sends a message, and ends the threads of the worker that has begun with it, as a crash would.
async fn lose_a_worker(config: &Config) -> Conversations {
    let threads = tokio::runtime::Runtime::new().expect("threads");
    let begun = Arc::new(Notify::new());
    let worker = launch(config.clone(), "lost", Work::Begins(Arc::clone(&begun)));
    let worker = threads.spawn(worker).await.expect("it launches");

    let client = ClientConfig {
        app_name: Some(config.app_name.clone()),
        outcome_poll_interval: Some(Duration::from_millis(50)),
        ..ClientConfig::new(config.database_url.clone())
    };
    let conversations = Conversations::connect(client).await.expect("it connects");
    let sent = conversations.send("chat", "1", "Hello").await;
    sent.expect("it is sent");

    timeout(LIMIT, begun.notified()).await.expect("it begins");
    threads.shutdown_background();
    drop(worker);
    conversations
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_a_lost_worker_is_answered_by_another() {
    let Some(config) = config() else { return };
    let conversations = lose_a_worker(&config).await;

    let other = launch(config, "other", Work::Answers).await;
    let reply = conversations.reply("chat", "1");
    let early = timeout(Duration::from_secs(2), reply).await;
    early.expect_err("it stays with the worker that has begun");

    let taken = conversations.take_over("lost").await;
    assert_eq!(taken.expect("it is taken over"), 1);
    let reply = timeout(LIMIT, conversations.reply("chat", "1")).await;
    let reply = reply.expect("in time").expect("a reply");
    assert_eq!(reply.text.as_deref(), Some("other"));

    let again = conversations.take_over("lost").await;
    assert_eq!(again.expect("there is nothing left"), 0);
    other.shutdown().await;
}
