//! A worker, which serves the conversations, and the program of a person who approves.

use crate::bank::{Bank, Clerk};
use crate::server::Failure;
use std::path::Path;
use std::time::Duration;
use tool_adapters::agent::{AgentLoop, Decision};
use tool_adapters::restate::DurableAgent;
use tool_adapters::restate::sdk::prelude::{Endpoint, HttpServer};
use tool_adapters::stores::SqliteStore;
use tool_core::session::RuntimeBuilder;
use tool_core::{Mode, Runtime, ToolContext};

/// The owner of the conversations.
const USER: &str = "user:7";

/// Serves at an address until the process is killed. All workers of a folder share its store, its journal and its key.
pub(crate) async fn serve(folder: &Path, address: &str) -> Result<(), Failure> {
    let store = SqliteStore::open(folder.join("bank.db")).await?;
    // Short, so that a killed worker is known to be gone after a second.
    let journal = store.journal().lease(Duration::from_secs(1));
    let runtime = builder(folder, &store)?.journal(journal).build()?;
    let folder = folder.to_owned();
    let agent = DurableAgent::new(move |steps, conversation: String| {
        let runtime = runtime.clone();
        let store = store.clone();
        let model = Clerk {
            folder: folder.clone(),
        };
        async move {
            let id = conversation.clone();
            let session = move || runtime.session(&*id, Mode::Text).principal(USER);
            AgentLoop::open_durable(steps, store, conversation, session, model).await
        }
    });
    let server = HttpServer::new(Endpoint::builder().bind(agent).build());
    server.listen_and_serve(address.parse()?).await;
    Ok(())
}

fn builder(folder: &Path, store: &SqliteStore) -> Result<RuntimeBuilder, Failure> {
    let bank = Bank {
        folder: folder.to_owned(),
    };
    let tools = ToolContext::builder().with(bank).build()?;
    // A real key is 32 random bytes, the same in all processes.
    Ok(Runtime::builder(tools)
        .store(store.clone())
        .signing_key([7; 32]))
}

/// Approves the first call of the user that waits for a person, and takes the decision to its conversation.
pub(crate) async fn approve(folder: &Path, ingress: &str) -> Result<(), Failure> {
    let store = SqliteStore::open(folder.join("bank.db")).await?;
    let runtime = builder(folder, &store)?.build()?;
    let waiting = loop {
        let page = runtime.pending_approvals(USER, None, 1).await?;
        if let Some(waiting) = page.calls.into_iter().next() {
            break waiting;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    };
    let decision = Decision::approve(waiting.token).by("staff:eve");
    let client = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("{ingress}/DurableAgent/{}/decide", waiting.call.session);
    let response = client.post(url).json(&decision).send().await?;
    if !response.status().is_success() {
        return Err(response.text().await?.into());
    }
    Ok(())
}
