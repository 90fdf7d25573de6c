//! The play with DBOS: everything is in PostgreSQL, which `POSTGRES_URL` names.

use crate::engine::{DurableEngine, Failure};
use crate::worker::{LEASE, approval, open, runtime};
use std::path::Path;
use std::time::{Duration, Instant, UNIX_EPOCH};
use tool_adapters::dbos::sdk::{ClientConfig, Config, DBOS};
use tool_adapters::dbos::{Conversations, DurableAgent};
use tool_adapters::stores::PostgresStore;

/// The environment variable with the database.
const URL: &str = "POSTGRES_URL";
/// The time after which a first worker should have created the tables.
const LIMIT: Duration = Duration::from_secs(90);

/// The database, as a program sees it that sends messages.
pub(crate) struct Dbos {
    /// The name of the application and of its conversation, which is another one in each play.
    app: String,
    conversations: Option<Conversations>,
}

fn url() -> Result<String, Failure> {
    let given = std::env::var(URL).ok().filter(|url| !url.is_empty());
    let missing = || format!("{URL} names no database, for example postgres://localhost/bank");
    Ok(given.ok_or_else(missing)?)
}

async fn connect(app: &str) -> Result<Conversations, Failure> {
    let config = ClientConfig {
        app_name: Some(app.to_owned()),
        // Short, so that a reply is seen at once.
        outcome_poll_interval: Some(Duration::from_millis(100)),
        ..ClientConfig::new(url()?)
    };
    Ok(Conversations::connect(config).await?)
}

impl DurableEngine for Dbos {
    const NAME: &'static str = "dbos";

    fn is_there(_may_install: bool) -> Result<(), Failure> {
        url()?;
        Ok(())
    }

    async fn start(_folder: &Path) -> Result<Self, Failure> {
        let since = UNIX_EPOCH.elapsed()?;
        Ok(Self {
            app: format!("bank-{}", since.as_nanos()),
            conversations: None,
        })
    }

    fn worker_place(&self) -> &str {
        &self.app
    }

    fn person_place(&self) -> &str {
        &self.app
    }

    async fn worker_serves(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + LIMIT;
        while self.conversations.is_none() {
            match connect(&self.app).await {
                Ok(conversations) => self.conversations = Some(conversations),
                Err(failure) if Instant::now() > until => return Err(failure),
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
        Ok(())
    }

    fn message(&self, text: &str) -> impl Future<Output = Result<String, Failure>> + Send + use<> {
        let conversations = self.conversations.clone();
        let conversation = self.app.clone();
        let text = text.to_owned();
        async move {
            let conversations = conversations.ok_or("no worker serves")?;
            conversations.send(&conversation, "1", &text).await?;
            let reply = conversations.reply(&conversation, "1").await?;
            Ok(reply.text.unwrap_or_default())
        }
    }

    async fn serve(folder: &Path, place: &str) -> Result<(), Failure> {
        let store = PostgresStore::connect(&url()?).await?;
        let journal = store.journal().lease(LEASE);
        let runtime = runtime(folder, store.clone())?.journal(journal).build()?;
        let folder = folder.to_owned();
        let agent = DurableAgent::new(move |steps, conversation: String| {
            let folder = folder.clone();
            let runtime = runtime.clone();
            let store = store.clone();
            async move { open(&folder, runtime, store, steps, conversation).await }
        });
        let engine = DBOS::new(Config {
            // A worker takes up what one of the same version has left. Each application has versions of its own.
            app_version: Some(format!("{place}-1")),
            executor_id: Some("worker-1".to_owned()),
            ..Config::new(place, url()?)
        });
        agent.launch(&engine).await?;
        std::future::pending().await
    }

    async fn approve(folder: &Path, place: &str) -> Result<(), Failure> {
        let store = PostgresStore::connect(&url()?).await?;
        let decision = approval(&runtime(folder, store)?.build()?, place).await?;
        connect(place).await?.decide(place, &decision).await?;
        Ok(())
    }
}
