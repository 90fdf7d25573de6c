//! The worker: agents and drafts in a database.

use super::email::drafts::Drafts;
use super::email::server::Mailbox;
use super::home;
use super::seed::{self, Addresses};
use std::env;
use std::error::Error;
use std::path::Path;
use tool_adapters::egress::EgressClient;
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
    /// The messages that the local mail server received, if it is used.
    pub(crate) mailbox: Option<Mailbox>,
    pub(crate) addresses: Addresses,
}

impl Worker {
    /// Opens the database. The first run creates it with a few agents.
    pub(crate) async fn open(db: &Path) -> Result<Self, Failure> {
        let store = SqliteStore::open(db).await?;
        let drafts = Drafts::open(db).await?;
        let clients = clients()?;
        let (addresses, mailbox) = Addresses::find().await?;
        let (shared, egress) = (drafts.clone(), EgressClient::new(addresses.egress.clone())?);
        let agents = Agents::builder(store.clone())
            .keys(home::keys(db)?)
            .oauth2(clients.clone());
        let agents = agents
            .each_session(move |open| open.user_data(shared.clone()).user_data(egress.clone()))
            .build()?;
        let worker = Self {
            agents,
            store,
            drafts,
            clients,
            mailbox,
            addresses,
        };
        if seed::plant(&worker, db).await? {
            eprintln!(
                "made the database {}, with the agents alice, bob and carol",
                db.display()
            );
        } else {
            eprintln!("the database {} is there already", db.display());
        }
        Ok(worker)
    }

    /// Updates agents that use a local server to the servers of this run.
    pub(crate) async fn point_to_stand_ins(&self) -> Result<(), Failure> {
        seed::point(self, &self.addresses).await
    }

    /// Opens a session of an agent, with the tools of its current records.
    pub(crate) async fn session(&self, agent: &str, id: &str) -> Result<Session, Failure> {
        Ok(self
            .agents
            .executor(agent)
            .session(id, Mode::Text)
            .await?
            .principal(agent)
            .await?)
    }

    pub(crate) fn executor(&self, agent: &str) -> AgentExecutor {
        self.agents.executor(agent)
    }
}

/// Returns the OAuth client for Google, if the environment has one. It connects calendars and refreshes their tokens.
fn clients() -> Result<OAuth2Clients, Failure> {
    if env::var_os("GOOGLE_CLIENT_ID").is_none() {
        return Ok(OAuth2Clients::new());
    }
    Ok(OAuth2Clients::new().client("google", OAuth2Client::from_env("GOOGLE")?))
}
