//! What one connection is answered.

use super::conversation::Conversation;
use super::settings::{Settings, Shared, is_stateless};
use super::{call, confirm, list, spans};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use std::sync::Arc;

fn no_method(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method `{method}`"), None)
}

/// The handler of a connection. Over HTTP without sessions a connection is one request.
pub(super) struct Connection {
    pub(super) shared: Arc<Shared>,
    pub(super) conversation: Conversation,
    /// What carries the messages, where it is not HTTP and is known.
    pub(super) transport: Option<&'static str>,
}

impl Connection {
    pub(super) fn new(shared: Arc<Shared>, transport: Option<&'static str>) -> Self {
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
            call::run(self, request, &context).await
        };
        // In a box: what all is done here would make each connection's future as large.
        Box::pin(spans::of_call(self, &context, answered)).await
    }
}
