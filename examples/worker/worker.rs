//! The worker: the agents in a database, and the drafts beside them.

use super::email::drafts::Drafts;
use super::email::server::Mailbox;
use super::home;
use super::seed::{self, Addresses};
use std::env;
use std::error::Error;
use std::path::Path;
use tool_adapters::oauth2::{OAuth2Client, OAuth2Clients};
use tool_adapters::stores::SqliteStore;
use tool_core::agents::{AgentExecutor, Agents};
use tool_core::{Mode, Session};

pub(crate) type Failure = Box<dyn Error>;

pub(crate) struct Worker {
    pub(crate) agents: Agents,
    pub(crate) store: SqliteStore,
    pub(crate) drafts: Drafts,
    pub(crate) clients: OAuth2Clients,
    /// What the mail server inside the example took, where that is the one.
    pub(crate) mailbox: Option<Mailbox>,
    pub(crate) addresses: Addresses,
}

impl Worker {
    /// Opens the database. On the first run it is made, and has a few agents.
    pub(crate) async fn open(db: &Path) -> Result<Self, Failure> {
        let store = SqliteStore::open(db).await?;
        let drafts = Drafts::open(db).await?;
        let clients = clients()?;
        let (agents, shared) = (Agents::builder(store.clone()).keys(home::keys(db)?), drafts.clone());
        let agents = agents.oauth2(clients.clone()).each_session(move |open| open.user_data(shared.clone())).build()?;
        let (addresses, mailbox) = Addresses::find().await?;
        let worker = Self { agents, store, drafts, clients, mailbox, addresses };
        if seed::plant(&worker, db).await? {
            eprintln!("made the database {}, with the agents alice, bob and carol", db.display());
        } else {
            eprintln!("the database {} is there already", db.display());
        }
        Ok(worker)
    }

    /// Sends agents that were set to a server inside this example to the one of this run.
    pub(crate) async fn point_to_stand_ins(&self) -> Result<(), Failure> {
        seed::point(self, &self.addresses).await
    }

    /// A session of an agent, with the tools that its records give now.
    pub(crate) async fn session(&self, agent: &str, id: &str) -> Result<Session, Failure> {
        Ok(self.agents.executor(agent).session(id, Mode::Text).await?.principal(agent).await?)
    }

    pub(crate) fn executor(&self, agent: &str) -> AgentExecutor {
        self.agents.executor(agent)
    }
}

/// Google's, where the environment has one: people grant the calendar through it, and their tokens stay good.
fn clients() -> Result<OAuth2Clients, Failure> {
    if env::var_os("GOOGLE_CLIENT_ID").is_none() {
        return Ok(OAuth2Clients::new());
    }
    Ok(OAuth2Clients::new().client("google", OAuth2Client::from_env("GOOGLE")?))
}
