//! Restate, whose server calls the worker.

use crate::engine::{Failure, TestedEngine, opening};
use crate::places::SharedStore;
use crate::restate_server::{RestateServer, free_address};
use crate::setting::Setting;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpStream;
use tool_adapters::agent::Decision;
use tool_adapters::restate::DurableAgent;
use tool_adapters::restate::sdk::prelude::{Endpoint, HttpServer};
use tool_core::testing::skip;

pub struct Restate {
    server: RestateServer,
    worker: String,
    client: reqwest::Client,
}

impl TestedEngine for Restate {
    const NAME: &'static str = "restate";

    async fn start(folder: &Path) -> Option<Self> {
        let program = match RestateServer::program(false) {
            Ok(program) => program,
            Err(missing) => {
                skip(missing);
                return None;
            }
        };
        let server = RestateServer::start(&program, folder).await;
        let client = reqwest::Client::builder().no_proxy().build();
        Some(Self {
            server: server.expect("the server starts"),
            worker: free_address().expect("an address"),
            client: client.expect("a client"),
        })
    }

    fn place(&self) -> &str {
        &self.worker
    }

    async fn worker_serves(&self) -> Result<(), Failure> {
        while TcpStream::connect(&self.worker).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        self.server.register(&self.worker).await
    }

    fn message(
        &self,
        conversation: &str,
        _turn: usize,
        text: &str,
    ) -> impl Future<Output = Result<(), Failure>> + Send + use<> {
        let sending = self.server.message(conversation, text);
        async move { sending.await.map(drop) }
    }

    async fn decide(&self, conversation: &str, decision: &Decision) -> Result<(), Failure> {
        let ingress = &self.server.ingress;
        let url = format!("{ingress}/DurableAgent/{conversation}/decide");
        let response = self.client.post(url).json(decision).send().await?;
        if !response.status().is_success() {
            return Err(response.text().await?.into());
        }
        Ok(())
    }

    async fn serve(place: &str, setting: Setting, store: impl SharedStore) -> Result<(), Failure> {
        let agent = DurableAgent::new(opening(setting, store));
        let server = HttpServer::new(Endpoint::builder().bind(agent).build());
        server.listen_and_serve(place.parse()?).await;
        Ok(())
    }
}
