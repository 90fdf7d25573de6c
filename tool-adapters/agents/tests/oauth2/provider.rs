//! The authorisation server that `OIDC_ISSUER` names.

use crate::browser::Browser;
use std::env;
use tool_adapters::oauth2::{OAuth2Client, OAuth2Clients};
use tool_core::agents::{Agents, DynAgentToolStore, Keyring, MemoryAgentToolStore};
use tool_core::serde_json::{self, Value, json};
use tool_core::tool::{BoundSettings, SecretDocument};

/// The redirect target of browsers. No server listens there.
pub(crate) const REDIRECT: &str = "http://127.0.0.1:9/callback";
const SECRET: &str = "the secret of the client, 32 bytes";

/// Returns the server's address, if there is one.
pub(crate) fn address() -> Option<String> {
    env::var("OIDC_ISSUER")
        .ok()
        .filter(|issuer| !issuer.is_empty())
}

/// Returns the server's address. Skips the test without one.
pub(crate) fn issuer() -> Option<String> {
    let issuer = address();
    if issuer.is_none() {
        tool_core::testing::skip("OIDC_ISSUER names no authorisation server");
    }
    issuer
}

pub(crate) fn keys() -> Keyring {
    Keyring::parse(&format!("test:{}", "5a".repeat(32))).expect("a key")
}

/// The clients of a program that is registered under this id.
pub(crate) fn clients(id: &str) -> OAuth2Clients {
    let client = OAuth2Client::new(id, REDIRECT);
    let client = match id {
        "agents-public" => client,
        "agents-body" => client.secret(SECRET).secret_in_body(),
        _ => client.secret(SECRET),
    };
    let issuer = address().unwrap_or_default();
    OAuth2Clients::new().client("oidc-provider", client.issuer(issuer))
}

pub(crate) fn agents(store: impl DynAgentToolStore, clients: &OAuth2Clients) -> Agents {
    Agents::builder(store)
        .keys(keys())
        .oauth2(clients.clone())
        .build()
        .expect("sound")
}

/// A record that waits for its grant.
pub(crate) async fn record(agents: &Agents, agent: &str, tool: &str) {
    agents
        .add(agent, tool)
        .config(json!({}))
        .save()
        .await
        .expect("added");
}

/// The whole way, as a person goes it.
pub(crate) async fn connect(clients: &OAuth2Clients, agents: &Agents, agent: &str, tool: &str) {
    record(agents, agent, tool).await;
    let begun = clients.begin(agents, agent, tool).await.expect("begun");
    let callback = Browser::new().agree(&begun.url).await;
    let record = clients
        .complete(agents, agent, callback)
        .await
        .expect("connected");
    assert_eq!(
        (
            record.agent.as_str(),
            record.tool.as_str(),
            record.secrets.is_some()
        ),
        (agent, tool, true)
    );
}

/// A program and a record that waits for its grant; nothing where there is no server.
pub(crate) async fn recorded() -> Option<(OAuth2Clients, Agents)> {
    issuer()?;
    let clients = clients("agents");
    let agents = agents(MemoryAgentToolStore::new(), &clients);
    record(&agents, "alice", "calendar").await;
    Some((clients, agents))
}

/// A program whose tokens are short-lived, and a grant for this toolset.
pub(crate) async fn connected_shortly(tool: &str) -> (OAuth2Clients, Agents) {
    let clients = clients("agents-short");
    let agents = agents(MemoryAgentToolStore::new(), &clients);
    connect(&clients, &agents, "alice", tool).await;
    (clients, agents)
}

/// The secrets in a record.
pub(crate) async fn secrets(agents: &Agents, agent: &str, tool: &str) -> Value {
    let sealed = agents
        .record(agent, tool)
        .await
        .expect("there")
        .secrets
        .expect("connected");
    let opened: SecretDocument = keys()
        .open(agent, tool, &BoundSettings::none(), &sealed)
        .expect("opens");
    serde_json::from_str(opened.expose()).expect("JSON")
}

/// The server's counters.
pub(crate) async fn counted(what: &str) -> u64 {
    let url = format!("{}/counters", issuer().expect("the server"));
    let counters: Value = reqwest::get(url)
        .await
        .expect("answers")
        .json()
        .await
        .expect("JSON");
    counters[what].as_u64().expect("a number")
}
