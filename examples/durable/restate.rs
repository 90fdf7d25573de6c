//! The play with Restate: its server, the worker that it calls, and the person.

use crate::engine::{DurableEngine, Failure};
use crate::server::{RestateServer, free_address};
use crate::worker::{LEASE, approval, open, runtime};
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpStream;
use tool_adapters::restate::DurableAgent;
use tool_adapters::restate::sdk::prelude::{Endpoint, HttpServer};
use tool_adapters::stores::SqliteStore;

/// The conversation. Each play has a server and a store of its own.
const CONVERSATION: &str = "chat-42";

/// The server, and the address of the worker.
pub(crate) struct Restate {
    server: RestateServer,
    worker: String,
    is_registered: bool,
}

impl DurableEngine for Restate {
    const NAME: &'static str = "restate";

    fn is_there(may_install: bool) -> Result<(), Failure> {
        RestateServer::program(may_install)?;
        Ok(())
    }

    async fn start(folder: &Path) -> Result<Self, Failure> {
        let program = RestateServer::program(false)?;
        Ok(Self {
            server: RestateServer::start(&program, folder).await?,
            worker: free_address()?,
            is_registered: false,
        })
    }

    fn worker_place(&self) -> &str {
        &self.worker
    }

    fn person_place(&self) -> &str {
        &self.server.ingress
    }

    async fn worker_serves(&mut self) -> Result<(), Failure> {
        while TcpStream::connect(&self.worker).await.is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if !self.is_registered {
            self.server.register(&self.worker).await?;
            self.is_registered = true;
        }
        Ok(())
    }

    fn message(&self, text: &str) -> impl Future<Output = Result<String, Failure>> + Send + use<> {
        let sending = self.server.message(CONVERSATION, text);
        async move {
            let reply = sending.await?;
            Ok(reply["text"].as_str().unwrap_or_default().to_owned())
        }
    }

    async fn serve(folder: &Path, place: &str) -> Result<(), Failure> {
        let store = SqliteStore::open(folder.join("bank.db")).await?;
        let journal = store.journal().lease(LEASE);
        let runtime = runtime(folder, store.clone())?.journal(journal).build()?;
        let folder = folder.to_owned();
        let agent = DurableAgent::new(move |steps, conversation| {
            let folder = folder.clone();
            let runtime = runtime.clone();
            let store = store.clone();
            async move { open(&folder, runtime, store, steps, conversation).await }
        });
        let server = HttpServer::new(Endpoint::builder().bind(agent).build());
        server.listen_and_serve(place.parse()?).await;
        Ok(())
    }

    async fn approve(folder: &Path, place: &str) -> Result<(), Failure> {
        let store = SqliteStore::open(folder.join("bank.db")).await?;
        let decision = approval(&runtime(folder, store)?.build()?, CONVERSATION).await?;
        let client = reqwest::Client::builder().no_proxy().build()?;
        let url = format!("{place}/DurableAgent/{CONVERSATION}/decide");
        let response = client.post(url).json(&decision).send().await?;
        if !response.status().is_success() {
            return Err(response.text().await?.into());
        }
        Ok(())
    }
}
