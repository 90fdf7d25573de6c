//! DBOS, whose workers and clients meet in PostgreSQL.

use crate::engine::{Failure, TestedEngine, opening};
use crate::places::{SharedStore, server};
use crate::setting::Setting;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};
use tool_adapters::agent::Decision;
use tool_adapters::dbos::sdk::{ClientConfig, Config, DBOS};
use tool_adapters::dbos::{Conversations, DurableAgent};

/// The environment variable with the database, whatever the store is.
const URL: &str = "POSTGRES_URL";

pub struct Dbos {
    app: String,
    conversations: Conversations,
}

impl TestedEngine for Dbos {
    const NAME: &'static str = "dbos";

    async fn start(_folder: &Path) -> Option<Self> {
        let url = server(URL)?;
        let since = UNIX_EPOCH.elapsed().map_or(0, |since| since.as_nanos());
        let app = format!("killed-{since}");
        // It creates the tables.
        let engine = DBOS::new(config(&app, &url));
        engine.launch().await.expect("the database answers");
        engine.shutdown().await;
        let config = ClientConfig {
            app_name: Some(app.clone()),
            outcome_poll_interval: Some(Duration::from_millis(50)),
            ..ClientConfig::new(url)
        };
        let conversations = Conversations::connect(config).await;
        Some(Self {
            app,
            conversations: conversations.expect("the database answers"),
        })
    }

    fn place(&self) -> &str {
        &self.app
    }

    async fn worker_serves(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn message(
        &self,
        conversation: &str,
        turn: usize,
        text: &str,
    ) -> impl Future<Output = Result<(), Failure>> + Send + use<> {
        let conversations = self.conversations.clone();
        let conversation = conversation.to_owned();
        let id = format!("message-{turn}");
        let text = text.to_owned();
        async move {
            conversations.send(&conversation, &id, &text).await?;
            conversations.reply(&conversation, &id).await?;
            Ok(())
        }
    }

    async fn decide(&self, conversation: &str, decision: &Decision) -> Result<(), Failure> {
        Ok(self.conversations.decide(conversation, decision).await?)
    }

    async fn serve(place: &str, setting: Setting, store: impl SharedStore) -> Result<(), Failure> {
        let url = server(URL).ok_or("expected a database")?;
        let agent = DurableAgent::new(opening(setting, store));
        let engine = DBOS::new(config(place, &url));
        agent.launch(&engine).await?;
        std::future::pending().await
    }
}

fn config(app: &str, url: &str) -> Config {
    Config {
        app_version: Some(format!("{app}-1")),
        max_connections: 4,
        ..Config::new(app, url)
    }
}
