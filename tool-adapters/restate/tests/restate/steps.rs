//! The steps of an object of one's own.

use crate::server::{RestateServer, free_address};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tool_adapters::restate::sdk::prelude::{Endpoint, HandlerResult, HttpServer, ObjectContext};
use tool_adapters::restate::{EarlierRuns, with_steps};
use tool_core::ToolError;
use tool_core::session::{DurableSteps, record};
use tool_core::testing::skip;

#[derive(Default)]
struct Reminder {
    earlier: EarlierRuns,
}

#[tool_adapters::restate::sdk::object(name = "DurableAgent")]
impl Reminder {
    #[handler]
    async fn message(&self, ctx: ObjectContext<'_>, guest: String) -> HandlerResult<String> {
        let remind = move |steps: Arc<dyn DurableSteps>| async move {
            remind(&*steps, &guest)
                .await
                .map_err(|error| error.to_string())
        };
        with_steps(&ctx, &self.earlier, remind).await
    }
}

/// Waits for an answer that does not come.
async fn remind(steps: &dyn DurableSteps, guest: &str) -> Result<String, ToolError> {
    let asked = steps.now().await?;
    let answer = steps.signal("answer", Duration::from_millis(50)).await?;
    steps.sleep(Duration::from_millis(50)).await?;
    let now = steps.now().await?;
    let waited = now.duration_since(asked).unwrap_or_default() >= Duration::from_millis(100);
    let id = steps.random_id().await?;
    let length = record(steps, "length", async { Ok(id.len()) }).await?;
    Ok(format!("{guest} {answer:?} {waited} {}", length > 8))
}

#[tokio::test]
async fn a_signal_a_sleep_the_time_and_an_id_come_from_the_engine() {
    let program = match RestateServer::program(false) {
        Ok(program) => program,
        Err(missing) => return skip(missing),
    };
    let folder = TempDir::new().expect("a folder");
    let server = RestateServer::start(&program, folder.path()).await;
    let server = server.expect("the server starts");
    let address = free_address().expect("an address");
    let listener = TcpListener::bind(&address).await.expect("it is free");
    let endpoint = Endpoint::builder().bind(Reminder::default()).build();
    let serving = tokio::spawn(HttpServer::new(endpoint).serve(listener));
    server.register(&address).await.expect("it is registered");
    let answer = server.message("reminder", "Ada").await.expect("an answer");
    assert_eq!(answer, "Ada None true true");
    serving.abort();
}
