//! A session with tools that the test releases, and the events of its conversation.

use crate::peer::{Peer, Server};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tool_adapters::Provider;
use tool_adapters::agent::RetryPolicy;
use tool_adapters::transport::websocket::{LiveEvent, LiveLoop, LiveModel};
use tool_core::session::{History, StateChange};
use tool_core::{
    Intent, Mode, Policy, RunContext, Runtime, Session, ToolContext, ToolError, ToolOutput,
    ToolsetExt, tool, toolset,
};

/// State that the tools share with the test.
pub(crate) struct Desk {
    pub(crate) runs: AtomicU32,
    /// A permit releases one slow call.
    pub(crate) gate: Semaphore,
}

/// Add two numbers.
#[tool]
fn add(ctx: &RunContext, a: i64, b: i64) -> i64 {
    if let Some(desk) = ctx.user_data::<Desk>() {
        desk.runs.fetch_add(1, Ordering::Relaxed);
    }
    a + b
}

/// Look something up slowly.
#[tool]
async fn look_up(ctx: &RunContext, subject: String) -> String {
    if let Some(desk) = ctx.user_data::<Desk>() {
        desk.runs.fetch_add(1, Ordering::Relaxed);
        if let Ok(permit) = desk.gate.acquire().await {
            permit.forget();
        }
    }
    format!("all about {subject}")
}

/// Order a taxi, with updates.
#[tool(ignore_on_enter)]
async fn order_taxi(ctx: &RunContext) -> String {
    ctx.update("a taxi is being looked for");
    ctx.update("one is on its way");
    "it is here".to_owned()
}

/// Cancel the booking.
#[tool(category = "action", confirm)]
async fn cancel_booking(number: u32) -> String {
    format!("booking {number} is cancelled")
}

/// Watch the door, with updates.
#[tool]
async fn watch(ctx: &RunContext, rounds: u32, updates: u32) -> String {
    ctx.update("the door is watched");
    for round in 0..rounds {
        wait(ctx).await;
        for number in 0..updates {
            ctx.update(format!("round {round}: visitor {number}"));
        }
    }
    "nobody is left".to_owned()
}

/// Fetch the mail, from a server that is busy at first.
#[tool(category = "retrieval", retries = 1)]
async fn fetch(ctx: &RunContext) -> Result<String, ToolError> {
    ctx.update("the mail is being fetched");
    wait(ctx).await;
    let desk = ctx.user_data::<Desk>();
    if desk.is_some_and(|desk| desk.runs() == 1) {
        return Err(ToolError::transient("the server is busy"));
    }
    Ok("there is no mail".to_owned())
}

/// Close the account.
#[tool(category = "action", confirm)]
async fn close_account(ctx: &RunContext, quietly: bool) -> ToolOutput {
    if quietly {
        return ToolOutput::stop();
    }
    wait(ctx).await;
    ToolOutput::new("the account is closed")
}

/// Waits until the test releases the call.
async fn wait(ctx: &RunContext) {
    let Some(desk) = ctx.user_data::<Desk>() else {
        return;
    };
    desk.runs.fetch_add(1, Ordering::Relaxed);
    if let Ok(permit) = desk.gate.acquire().await {
        permit.forget();
    }
}

/// Return an intent beside the result.
#[tool]
fn intend(name: &str) -> ToolOutput {
    let intent = match name {
        "stop" => return ToolOutput::stop(),
        "hush" => Intent::SuppressAudio,
        "voice" => Intent::StartVoiceSession,
        place => Intent::Navigate(place.to_owned()),
    };
    ToolOutput::new(()).intent(intent)
}

struct Office(&'static str);

#[toolset]
impl Office {
    /// Close the office, while it is open.
    #[tool]
    fn close_office(&self) -> String {
        format!("{} is closed", self.0)
    }
}

pub(crate) struct Talk {
    pub(crate) live: LiveLoop,
    pub(crate) desk: Arc<Desk>,
    pub(crate) session: Session,
}

impl Desk {
    pub(crate) fn runs(&self) -> u32 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Waits until so many calls have begun to wait.
    pub(crate) async fn begun(&self, runs: u32) {
        let begun = async {
            while self.runs() < runs {
                tokio::task::yield_now().await;
            }
        };
        timeout(Duration::from_secs(5), begun)
            .await
            .expect("the calls have begun");
    }
}

pub(crate) fn model(provider: Provider, server: &Server) -> LiveModel {
    let retry = RetryPolicy {
        initial: Duration::from_millis(1),
        max: Duration::from_millis(2),
        attempts: 3,
        ..RetryPolicy::default()
    };
    LiveModel::new(provider, "the-model")
        .base_url(server.url())
        .api_key("sk-canary")
        .retry(retry)
}

pub(crate) async fn talk_with(model: LiveModel) -> Talk {
    talk_under(Policy::text(), model, History::new()).await
}

pub(crate) async fn talk_under(policy: Policy, model: LiveModel, history: History) -> Talk {
    let office =
        Office("the desk").dynamic(|ctx: &RunContext| ctx.state()["values"]["open"] == true);
    let tools = ToolContext::builder()
        .with(add)
        .with(look_up)
        .with(order_taxi)
        .with(cancel_booking)
        .with(intend)
        .with(watch)
        .with(fetch)
        .with(close_account);
    let tools = tools.with(office);
    let runtime = Runtime::builder(tools.build().expect("builds"))
        .policy(policy)
        .build()
        .expect("builds");
    let desk = Arc::new(Desk {
        runs: AtomicU32::new(0),
        gate: Semaphore::new(0),
    });
    let session = runtime
        .session("s-1", Mode::Voice)
        .user_data_shared(Arc::clone(&desk))
        .background_answers();
    let session = session.await.expect("opens");
    let live = LiveLoop::with_history(session.clone(), model, history);
    Talk {
        live,
        desk,
        session,
    }
}

/// Starts a conversation with Gemini Live.
pub(crate) async fn gemini(server: &Server) -> (Talk, Peer) {
    let talk = talk_with(model(Provider::GeminiLive, server)).await;
    let peer = set_up(server).await.0;
    (talk, peer)
}

/// Accepts the next connection. Returns it with its setup.
pub(crate) async fn set_up(server: &Server) -> (Peer, Value) {
    let mut peer = server.peer().await;
    let setup = peer.receive().await;
    peer.send(json!({"setupComplete": {}})).await;
    (peer, setup)
}

impl Talk {
    /// Shows the tools of the office to the model.
    pub(crate) async fn open_office(&self) {
        let open = StateChange::Value("open".into(), json!(true));
        self.session.change(&[open]).await.expect("stored");
    }

    pub(crate) async fn next(&mut self) -> Option<LiveEvent> {
        timeout(Duration::from_secs(5), self.live.next())
            .await
            .expect("an event")
    }

    /// Waits for the first event that `what` accepts.
    pub(crate) async fn until<T>(&mut self, what: impl Fn(&LiveEvent) -> Option<T>) -> T {
        loop {
            let event = self.next().await.expect("the conversation goes on");
            if let Some(found) = what(&event) {
                return found;
            }
        }
    }

    pub(crate) async fn failure(&mut self) -> ToolError {
        self.until(|event| {
            if let LiveEvent::Failed(error) = event {
                Some(error.clone())
            } else {
                None
            }
        })
        .await
    }
}

pub(crate) fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"toolCall": {"functionCalls": [{"id": id, "name": name, "args": arguments}]}})
}

pub(crate) fn text_message(text: &str) -> Value {
    json!({"serverContent": {"modelTurn": {"role": "model", "parts": [{"text": text}]}}})
}

pub(crate) fn resumable(handle: &str) -> Value {
    json!({"sessionResumptionUpdate": {"newHandle": handle, "resumable": true}})
}

pub(crate) fn turn_complete() -> Value {
    json!({"serverContent": {"turnComplete": true}})
}

/// Returns the id and the response of the function that a message answers.
pub(crate) fn answer(message: &Value) -> (String, String) {
    let response = &message["toolResponse"]["functionResponses"][0];
    (
        response["id"].as_str().unwrap_or_default().to_owned(),
        response["response"].to_string(),
    )
}
