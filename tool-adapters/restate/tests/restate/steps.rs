//! The steps of an object of one's own.

use crate::engine::Failure;
use crate::remind::remind;
use crate::server::{RestateServer, free_address};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tool_adapters::restate::sdk::prelude::{
    ContextReadState, Endpoint, HandlerResult, HttpServer, IntoServiceDefinition, Json,
    ObjectContext, ServiceOptions, TerminalError,
};
use tool_adapters::restate::{EarlierRuns, with_steps};
use tool_core::session::DurableSteps;
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
            let reminded = remind(&*steps).await;
            reminded
                .map(|text| format!("{guest} {text}"))
                .map_err(|error| error.to_string())
        };
        with_steps(&ctx, &self.earlier, remind).await
    }
}

/// An object with a step that takes longer than Restate waits.
#[derive(Default)]
struct Slow {
    earlier: EarlierRuns,
    effects: Arc<AtomicUsize>,
}

#[tool_adapters::restate::sdk::object(name = "DurableAgent")]
impl Slow {
    #[handler]
    async fn message(&self, ctx: ObjectContext<'_>, _text: String) -> HandlerResult<String> {
        let effects = Arc::clone(&self.effects);
        let work = move |steps: Arc<dyn DurableSteps>| async move {
            let effect = async {
                effects.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_secs(2)).await;
                Ok("done".to_owned())
            };
            let done = steps.step("effect", Box::pin(effect)).await;
            done.map_err(|error| error.to_string())
        };
        with_steps(&ctx, &self.earlier, work).await
    }
}

/// An object whose function ends with a terminal error.
#[derive(Default)]
struct Refusing {
    earlier: EarlierRuns,
}

#[tool_adapters::restate::sdk::object(name = "DurableAgent")]
impl Refusing {
    /// Answers whether a function is said to run.
    #[handler]
    async fn message(&self, ctx: ObjectContext<'_>, text: String) -> HandlerResult<String> {
        if text == "state" {
            return Ok(ctx
                .get::<Json<serde_json::Value>>("running")
                .await?
                .is_some()
                .to_string());
        }
        let refuse = |_| async { Err::<String, _>(TerminalError::new("refused")) };
        with_steps(&ctx, &self.earlier, refuse).await
    }
}

/// Serves an object, and returns what it answers.
async fn answer(
    server: &RestateServer,
    endpoint: Endpoint,
    text: &str,
) -> Result<serde_json::Value, Failure> {
    let address = free_address()?;
    let listener = TcpListener::bind(&address).await?;
    let serving = tokio::spawn(HttpServer::new(endpoint).serve(listener));
    server.register(&address).await?;
    let answer = server.message("own", text).await;
    serving.abort();
    answer
}

#[tokio::test]
async fn a_step_that_restate_gives_up_does_not_run_twice() {
    let program = match RestateServer::program(false) {
        Ok(program) => program,
        Err(missing) => return skip(missing),
    };
    let folder = TempDir::new().expect("a folder");
    let server = RestateServer::start(&program, folder.path()).await;
    let server = server.expect("the server starts");
    let slow = Slow::default();
    let effects = Arc::clone(&slow.effects);
    let options = ServiceOptions::new()
        .inactivity_timeout(Duration::from_millis(100))
        .abort_timeout(Duration::from_millis(100));
    let service = slow.into_service_definition().options(options);
    let endpoint = Endpoint::builder().bind(service).build();
    let answer = answer(&server, endpoint, "Go").await;
    assert_eq!(answer.expect("an answer"), "done");
    assert_eq!(effects.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_terminal_error_leaves_no_waiting_function() {
    let program = match RestateServer::program(false) {
        Ok(program) => program,
        Err(missing) => return skip(missing),
    };
    let folder = TempDir::new().expect("a folder");
    let server = RestateServer::start(&program, folder.path()).await;
    let server = server.expect("the server starts");
    let endpoint = || Endpoint::builder().bind(Refusing::default()).build();
    let refused = answer(&server, endpoint(), "Go").await;
    refused.expect_err("a terminal error");
    let is_waiting = answer(&server, endpoint(), "state").await;
    assert_eq!(is_waiting.expect("an answer"), "false");
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
    let endpoint = Endpoint::builder().bind(Reminder::default()).build();
    let answer = answer(&server, endpoint, "Ada").await;
    assert_eq!(answer.expect("an answer"), "Ada None true true");
}
