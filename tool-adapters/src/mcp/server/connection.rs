//! What one connection is answered.

use crate::mcp::server::conversation::Conversation;
use crate::mcp::server::{Settings, Shared, confirm, is_stateless, list, spans};
use crate::providers::mcp::output_schema;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ContentBlock,
    CustomRequest, CustomResult, DiscoverResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ProgressToken, Resource, ResourceContents, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{Peer, RequestContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tool_core::call::{OutputKind, ProgressUpdate, ResultForm};
use tool_core::{Content, ErrorKind, Session, ToolCall, ToolResponse};

fn no_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None)
}

/// The handler of a connection. Over HTTP without sessions a connection is one request.
pub(crate) struct Connection {
    pub(crate) shared: Arc<Shared>,
    pub(crate) conversation: Conversation,
    /// What carries the messages, where it is not HTTP and is known.
    pub(crate) transport: Option<&'static str>,
}

impl Connection {
    pub(crate) fn new(shared: Arc<Shared>, transport: Option<&'static str>) -> Self {
        Self { conversation: Conversation::new(Arc::clone(&shared)), shared, transport }
    }

    fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    async fn instructions(&self, context: &RequestContext<RoleServer>) -> Result<Option<String>, ErrorData> {
        if let Some(told) = &self.settings().instructions {
            return Ok(Some(told.clone()));
        }
        let session = self.conversation.session(self.shared.client(context)).await?;
        Ok(list::guides(session))
    }
}

impl ServerHandler for Connection {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new(&self.settings().name, &self.settings().version);
        info
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = self.instructions(&context).await?;
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let mut info = self.get_info();
        info.instructions = self.instructions(&context).await?;
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let session = self.conversation.session(self.shared.client(&context)).await?;
        let cursor = request.and_then(|request| request.cursor);
        list::page(session, cursor.as_deref(), self.settings().page, is_stateless(&context))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.chars().take(64).collect::<String>();
        Err(no_method(&method.escape_debug().to_string()))
    }

    // What is not served is not listed as empty either.

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(no_method("prompts/list"))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(no_method("resources/list"))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(no_method("resources/templates/list"))
    }

    async fn complete(
        &self,
        _: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(no_method("completion/complete"))
    }

    /// What the headers of a request over HTTP are held against.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        list::one(&self.shared.runtime.tools(), name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let answered = async {
            if request.request_state.is_some() {
                return confirm::resume(self, request, &context).await;
            }
            run(self, request, &context).await
        };
        // In a box: what all is done here would make each connection's future as large.
        Box::pin(spans::of_call(self, &context, answered)).await
    }
}

// ---- `tools/call`: one call, through the session.

pub(crate) async fn run(
    connection: &Connection,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let session = connection.conversation.session(connection.shared.client(context)).await?;
    let _under_way = connection.conversation.begin(session).await;
    let wire = &*request.name;
    let tool = list::named(session, wire).unwrap_or_else(|| wire.to_owned());
    let arguments = serde_json::Value::Object(request.arguments.clone().unwrap_or_default());
    let call = ToolCall::new(connection.conversation.call_id(), &tool, arguments);
    let response = made(session, call, context).await;
    if is_unknown(session, &tool, &response) {
        let message = response.error().map_or_else(String::new, |error| error.message.clone());
        return Err(ErrorData::invalid_params(message, None));
    }
    match response.meta().confirmation() {
        Some(confirmation) => confirm::ask(connection, session, &request, &tool, confirmation, context).await,
        None => Ok(complete(session, &tool, &response)),
    }
}

/// The result of a call of `tool`.
pub(crate) fn complete(session: &Session, tool: &str, response: &ToolResponse) -> CallToolResponse {
    CallToolResponse::Complete(of(response, list::output(session.tools(), tool)))
}

/// Makes the call: its updates are told while it runs, and it is cancelled when the client says so.
async fn made(session: &Session, call: ToolCall, context: &RequestContext<RoleServer>) -> ToolResponse {
    let id = call.id().to_owned();
    let (call, mut teller) = Teller::of(call, context.meta.get_progress_token(), context.peer.clone());
    let mut running = pin!(session.call(call));
    let mut cancelled = false;
    let response = loop {
        tokio::select! {
            biased;
            response = &mut running => break response,
            () = context.ct.cancelled(), if !cancelled => {
                cancelled = true;
                session.cancel(&id);
            }
            () = teller.next() => {}
        }
    };
    teller.rest().await;
    response
}

/// Whether there is no such tool, which the protocol tells apart from a tool that does not find something. L19
fn is_unknown(session: &Session, tool: &str, response: &ToolResponse) -> bool {
    response.error().is_some_and(|error| error.kind == ErrorKind::NotFound)
        && !list::visible(session).iter().any(|known| known.name() == tool)
}

// ---- A response as the protocol's result. L18

/// `promised`: the schema of the tool's results, where it has one.
pub(crate) fn of(response: &ToolResponse, promised: Option<&Value>) -> CallToolResult {
    let result = response.for_model(ResultForm::Plain);
    if result.is_error {
        return CallToolResult::error(vec![ContentBlock::text(result.text)]);
    }
    let content = match result.content() {
        Some(parts) => parts.into_iter().map(block).collect(),
        None if result.text.is_empty() => Vec::new(),
        None => vec![ContentBlock::text(result.text)],
    };
    let Some(schema) = promised.filter(|_| response.form() == OutputKind::Data) else {
        return CallToolResult::success(content);
    };
    match whole(response) {
        Some(data) => {
            let mut result = CallToolResult::success(content);
            result.structured_content = Some(output_schema::structured(schema, data));
            result
        }
        // A client would refuse a result that is not what was promised; an error promises nothing.
        None => CallToolResult::error(content),
    }
}

/// The data, unless it was cut.
fn whole(response: &ToolResponse) -> Option<Value> {
    if response.meta().truncated().is_some() {
        return None;
    }
    serde_json::from_str(response.data_json()?).ok()
}

fn block(part: Content) -> ContentBlock {
    match part {
        Content::Text { text } => ContentBlock::text(text),
        Content::Image { data, mime_type } => ContentBlock::image(data, mime_type),
        Content::Audio { data, mime_type } => ContentBlock::audio(data, mime_type),
        Content::Resource { uri, mime_type, text: Some(text) } => {
            ContentBlock::resource(ResourceContents::TextResourceContents { uri, mime_type, text, meta: None })
        }
        Content::Resource { uri, mime_type, text: None } => {
            let name = uri.rsplit('/').find(|part| !part.is_empty()).unwrap_or(&uri).to_owned();
            let mut link = Resource::new(uri, name);
            link.mime_type = mime_type;
            ContentBlock::resource_link(link)
        }
        // A part of a later version: what it is in JSON.
        other => ContentBlock::text(serde_json::to_string(&other).unwrap_or_default()),
    }
}

// ---- Updates of a running call as `notifications/progress`.

/// The updates that may wait to be sent; a tool that says more meanwhile is not held up, and the rest is left out.
const WAITING: usize = 256;

/// Sends what a call says, where the client wants to know.
pub(crate) struct Teller {
    token: Option<ProgressToken>,
    peer: Peer<RoleServer>,
    updates: Receiver<ProgressUpdate>,
    last: f64,
}

impl Teller {
    /// Has the call speak to it.
    pub(crate) fn of(call: ToolCall, token: Option<ProgressToken>, peer: Peer<RoleServer>) -> (ToolCall, Self) {
        let (said, updates): (Sender<ProgressUpdate>, _) = channel(WAITING);
        let call = match token {
            Some(_) => call.on_update(move |update| _ = said.try_send(update.clone())),
            None => call,
        };
        (call, Self { token, peer, updates, last: -1.0 })
    }

    /// Tells what is said next. Never returns where nobody wants to know.
    pub(crate) async fn next(&mut self) {
        match self.updates.recv().await {
            Some(update) => self.tell(update).await,
            None => std::future::pending().await,
        }
    }

    /// Tells what was said and has not been told, before the result is.
    pub(crate) async fn rest(&mut self) {
        while let Ok(update) = self.updates.try_recv() {
            self.tell(update).await;
        }
    }

    async fn tell(&mut self, update: ProgressUpdate) {
        let Some(token) = &self.token else { return };
        // In hundredths. The protocol wants each greater than the last, also where a tool does not count.
        let reached = update.fraction.map_or(f64::MIN, |fraction| fraction * 100.0);
        let step = if self.last < 0.0 { 1.0 } else { 0.01 };
        self.last = if reached > self.last { reached } else { self.last + step };
        let mut told = ProgressNotificationParam::new(token.clone(), self.last).with_message(update.message);
        if update.fraction.is_some() {
            told = told.with_total(100.0);
        }
        if let Err(error) = self.peer.notify_progress(told).await {
            tracing::debug!(%error, "an update could not be sent");
        }
    }
}
