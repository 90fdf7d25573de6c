//! rmcp's streamable HTTP server. Usage: `http-rmcp PORT [json]`; with `json` it answers in JSON, without sessions.
use axum::{Router, serve::ListenerExt};
use harness::Calendar;
use rmcp::{
    ServerHandler,
    handler::server::{
        router::tool::ToolRouter,
        wrapper::{Json, Parameters},
    },
    tool, tool_handler, tool_router,
    transport::{
        StreamableHttpServerConfig, StreamableHttpService,
        streamable_http_server::session::local::LocalSessionManager,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{error::Error, sync::Arc};
use tokio::net::TcpListener;

#[derive(Deserialize, JsonSchema)]
struct CreateEvent {
    title: String,
    start_time: String,
    duration_minutes: u32,
    attendees: Vec<String>,
    description: Option<String>,
}
#[derive(Serialize, JsonSchema)]
struct Created {
    id: u64,
    title: String,
    end: String,
}

/// The router is built once and shared, which the default handler would not do.
#[derive(Clone)]
struct Tools {
    calendar: Arc<Calendar>,
    tool_router: ToolRouter<Self>,
}
#[tool_router]
impl Tools {
    /// Create a calendar event
    #[tool]
    async fn create_event(&self, Parameters(a): Parameters<CreateEvent>) -> Json<Created> {
        let description = a.description.as_deref();
        let (id, end) = self.calendar.create(
            &a.start_time,
            a.duration_minutes,
            a.attendees.len(),
            description,
        );
        Json(Created {
            id,
            title: a.title,
            end,
        })
    }
}
#[tool_handler(router = self.tool_router)]
impl ServerHandler for Tools {}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let port: u16 = arguments
        .next()
        .ok_or("usage: http-rmcp PORT [json]")?
        .parse()?;
    let json = arguments.next().is_some();
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(!json)
        .with_json_response(json);
    let tools = Tools {
        calendar: Arc::default(),
        tool_router: Tools::tool_router(),
    };
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
    // Without TCP_NODELAY, as rmcp's examples are, each answer in events waits 40 ms for a delayed acknowledgement.
    let listener = TcpListener::bind(("127.0.0.1", port))
        .await?
        .tap_io(|stream| stream.set_nodelay(true).unwrap());
    axum::serve(listener, Router::new().route_service("/mcp", service)).await?;
    Ok(())
}
