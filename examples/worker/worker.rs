//! The worker: agents and drafts in a database.

use super::database::Database;
use super::email::drafts::Drafts;
use super::email::server::Mailbox;
use super::home;
use super::seed::{self, Addresses};
use std::env;
use std::error::Error;
use std::sync::Arc;
use tool_adapters::egress::EgressClient;
use tool_adapters::oauth2::{OAuth2Client, OAuth2Clients};
use tool_adapters::stores::{PostgresStore, SqliteStore};
use tool_core::agents::{AgentExecutor, Agents, DynAgentToolStore};
use tool_core::{Mode, Runtime, Session, ToolContext};

pub(crate) type Failure = Box<dyn Error>;

pub(crate) struct Worker {
    pub(crate) agents: Agents,
    pub(crate) store: Arc<dyn DynAgentToolStore>,
    pub(crate) drafts: Drafts,
    pub(crate) clients: OAuth2Clients,
    /// The messages that the local mail server received, if it is used.
    pub(crate) mailbox: Option<Mailbox>,
    pub(crate) addresses: Addresses,
}

impl Worker {
    /// Opens the database. The first run creates it with a few agents.
    pub(crate) async fn open(db: &Database) -> Result<Self, Failure> {
        let Opened {
            store,
            drafts,
            runtime,
        } = Opened::new(db).await?;
        let clients = clients()?;
        let (addresses, mailbox) = Addresses::find(db).await?;
        let (shared, egress) = (drafts.clone(), EgressClient::new(addresses.egress.clone())?);
        let agents = Agents::builder(store.clone())
            .keys(home::keys(db)?)
            .oauth2(clients.clone());
        let agents = match runtime {
            Some(runtime) => agents.runtime(runtime),
            None => agents,
        };
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
            eprintln!("made {db}, with the agents alice, bob and carol");
        } else {
            eprintln!("{db} is there already");
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

/// What is in the database.
struct Opened {
    store: Arc<dyn DynAgentToolStore>,
    drafts: Drafts,
    /// The runtime whose sessions and journal workers share. `None` for one worker, whose sessions are in its memory.
    runtime: Option<Runtime>,
}

impl Opened {
    async fn new(db: &Database) -> Result<Self, Failure> {
        match db {
            Database::File(path) => Ok(Self {
                store: Arc::new(SqliteStore::open(path).await?),
                drafts: Drafts::open(path).await?,
                runtime: None,
            }),
            Database::Postgres(url) => {
                let signing_key = home::signing_key()?;
                let store = PostgresStore::connect(url).await?;
                let runtime = Runtime::builder(ToolContext::builder().build()?)
                    .store(store.clone())
                    .journal(store.journal())
                    .signing_key(signing_key)
                    .build()?;
                Ok(Self {
                    store: Arc::new(store),
                    drafts: Drafts::connect(url).await?,
                    runtime: Some(runtime),
                })
            }
        }
    }
}

/// Returns the OAuth client for Google, if the environment has one. It connects calendars and refreshes their tokens.
fn clients() -> Result<OAuth2Clients, Failure> {
    if env::var_os("GOOGLE_CLIENT_ID").is_none() {
        return Ok(OAuth2Clients::new());
    }
    Ok(OAuth2Clients::new().client("google", OAuth2Client::from_env("GOOGLE")?))
}
