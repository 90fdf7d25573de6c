//! The prompts and resources of a server: their import, and their use.

use crate::mcp::client::answer;
use crate::mcp::client::error::{ImportError, describe};
use crate::mcp::client::exchange::{Asked, Exchange, RunState};
use crate::mcp::client::lists::{PageOf, ServerList};
use crate::mcp::client::offered_names::OfferedNames;
use crate::mcp::client::pins::{Declaration, Fingerprint};
use crate::mcp::client::quarantine::QuarantineReason;
use crate::mcp::client::remote::{Connection, RemoteServer};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use rmcp::model::{
    self, ClientRequest, CompleteRequestParams, ErrorCode, GetPromptRequestParams, JsonObject,
    ReadResourceRequestParams, Reference, ServerResult,
};
use rmcp::service::ServiceError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use tool_core::call::Role;
use tool_core::text::truncate;
use tool_core::tool::{
    Completion, CompletionRequest, CompletionTarget, Prompt, PromptArgument, PromptDefinition, PromptHandler,
    PromptMessage, Resource, ResourceContents, ResourceDefinition, ResourceHandler, ResourceRequest, TextArguments,
};
use tool_core::{RunContext, ToolContext, ToolError};

/// The prompts and resources of a server.
#[derive(Clone, Default)]
pub(crate) struct Catalog {
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<Resource>,
    /// The names of the prompts.
    pub(crate) names: OfferedNames,
}

/// A declaration of a server with the key of its pin, and the fingerprint of what the server sent.
type Listed<T> = (T, String, Fingerprint);

/// Maximum number of characters of a description.
const MAX_DESCRIPTION: usize = 4_000;

/// Maximum number of bytes of the messages of a prompt, or the contents of a resource.
const MAX_CONTENTS: usize = 4 << 20;

/// The code of an unknown resource before revision 2026-07-28.
const RESOURCE_NOT_FOUND: ErrorCode = ErrorCode(-32002);

impl RemoteServer {
    /// Returns true if the server declares prompts.
    pub(crate) fn has_prompts(connection: &Connection) -> bool {
        connection.peer.peer_info().is_some_and(|info| info.capabilities.prompts.is_some())
    }

    /// Returns true if the server declares resources.
    pub(crate) fn has_resources(connection: &Connection) -> bool {
        connection.peer.peer_info().is_some_and(|info| info.capabilities.resources.is_some())
    }

    fn completes(&self) -> bool {
        self.current().peer.peer_info().is_some_and(|info| info.capabilities.completions.is_some())
    }

    pub(crate) async fn list_prompts(&self, connection: &Connection) -> Vec<Listed<model::Prompt>> {
        if !Self::has_prompts(connection) {
            return Vec::new();
        }
        let list = ServerList {
            method: "prompts/list",
            member: "prompts",
            kind: Declaration::Prompt,
            request: |page| ClientRequest::ListPromptsRequest(model::ListPromptsRequest::with_param(page)),
            read: |result| match result {
                ServerResult::ListPromptsResult(page) => Ok(PageOf { items: page.prompts, next: page.next_cursor }),
                other => Err(Box::new(other)),
            },
        };
        let listed = self.pages_if_any(connection, &list).await;
        self.listed(listed, Declaration::Prompt, |prompt| &prompt.name)
    }

    pub(crate) async fn list_resources(&self, connection: &Connection) -> Vec<Listed<model::Resource>> {
        if !Self::has_resources(connection) {
            return Vec::new();
        }
        let list = ServerList {
            method: "resources/list",
            member: "resources",
            kind: Declaration::Resource,
            request: |page| ClientRequest::ListResourcesRequest(model::ListResourcesRequest::with_param(page)),
            read: |result| match result {
                ServerResult::ListResourcesResult(page) => Ok(PageOf { items: page.resources, next: page.next_cursor }),
                other => Err(Box::new(other)),
            },
        };
        let listed = self.pages_if_any(connection, &list).await;
        self.listed(listed, Declaration::Resource, |resource| &resource.uri)
    }

    pub(crate) async fn list_templates(&self, connection: &Connection) -> Vec<Listed<model::ResourceTemplate>> {
        if !Self::has_resources(connection) {
            return Vec::new();
        }
        let list = ServerList {
            method: "resources/templates/list",
            member: "resourceTemplates",
            kind: Declaration::Resource,
            request: |page| {
                ClientRequest::ListResourceTemplatesRequest(model::ListResourceTemplatesRequest::with_param(page))
            },
            read: |result| match result {
                ServerResult::ListResourceTemplatesResult(page) => {
                    Ok(PageOf { items: page.resource_templates, next: page.next_cursor })
                }
                other => Err(Box::new(other)),
            },
        };
        let listed = self.pages_if_any(connection, &list).await;
        self.listed(listed, Declaration::Resource, |template| &template.uri_template)
    }

    /// Returns the entries of a list. One that fails ends there, as the tools of its server are still of use.
    async fn pages_if_any<T: Serialize + DeserializeOwned>(
        &self,
        connection: &Connection,
        list: &ServerList<T>,
    ) -> Vec<T> {
        let mut items = Vec::new();
        let reader = self.reader(connection);
        if let Err(error) = reader.pages(list, &mut items).await {
            let (server, error) = (self.options.name.escape_debug(), reader.error_text(&error));
            tracing::warn!(%server, method = list.method, error, "failed to list all that a server has");
        }
        items
    }

    /// Returns declarations in which keys are masked. Quarantines those with a key in their name, by which the server knows them.
    fn listed<T: Serialize + DeserializeOwned + Clone>(
        &self,
        items: Vec<T>,
        kind: Declaration,
        name: impl Fn(&T) -> &String,
    ) -> Vec<Listed<T>> {
        let mut listed = Vec::new();
        for item in items {
            let (fingerprint, key) = (Fingerprint::of(&item, kind), kind.key(name(&item)));
            match self.options.credentials.redact_answer(item.clone()) {
                Ok(masked) if name(&masked) == name(&item) => listed.push((masked, key, fingerprint)),
                _ => self.quarantine(&self.options.credentials.redact(&key), QuarantineReason::HasKey),
            }
        }
        listed
    }

    /// Makes the messages of a prompt.
    pub(crate) async fn get_prompt(
        &self,
        name: &str,
        arguments: TextArguments,
        ctx: &RunContext,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        self.check_offered(&Declaration::Prompt.key(name), "prompt", name)?;
        let arguments = arguments.into_iter().map(|(name, value)| (name, value.into())).collect::<JsonObject>();
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        let request = ClientRequest::GetPromptRequest(model::GetPromptRequest::new(params));
        let ServerResult::GetPromptResult(result) = self.request(ctx, request).await? else { return Err(unreadable()) };
        let result = self.options.credentials.redact_answer(result).map_err(|_| unreadable())?;
        let messages = result.messages.into_iter().map(|message| PromptMessage {
            role: if message.role == model::Role::Assistant { Role::Assistant } else { Role::User },
            content: answer::content(message.content),
        });
        let messages = messages.collect::<Vec<_>>();
        check_size(messages.iter().map(|message| message.content.bytes()).sum())?;
        Ok(messages)
    }

    /// Reads a resource.
    pub(crate) async fn read_resource(&self, uri: &str, ctx: &RunContext) -> Result<Vec<ResourceContents>, ToolError> {
        self.check_offered(&Declaration::Resource.key(uri), "resource", uri)?;
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(model::ReadResourceRequest::new(params));
        let ServerResult::ReadResourceResult(result) = self.request(ctx, request).await? else {
            return Err(unreadable());
        };
        let result = self.options.credentials.redact_answer(result).map_err(|_| unreadable())?;
        let (mut contents, mut size) = (Vec::new(), 0);
        for part in result.contents {
            let (uri, mime_type, part) = match part {
                model::ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
                    size += text.len();
                    (uri, mime_type, ResourceContents::text(text))
                }
                model::ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                    size += blob.len();
                    (uri, mime_type, ResourceContents::blob(STANDARD.decode(blob).map_err(|_| unreadable())?))
                }
                _ => return Err(unreadable()),
            };
            check_size(size)?;
            let part = part.uri(uri);
            contents.push(match mime_type {
                Some(mime_type) => part.mime_type(mime_type),
                None => part,
            });
        }
        Ok(contents)
    }

    /// Completes an argument of a prompt, or a variable of a template.
    pub(crate) async fn complete(
        &self,
        target: &CompletionTarget,
        asked: &CompletionRequest,
        ctx: &RunContext,
    ) -> Result<Completion, ToolError> {
        let target = match target {
            CompletionTarget::Prompt(name) => Reference::for_prompt(name),
            CompletionTarget::Resource(uri) => Reference::for_resource(uri),
        };
        let argument = model::ArgumentInfo::new(asked.argument.clone(), asked.value.clone());
        let mut params = CompleteRequestParams::new(target, argument);
        if !asked.context.is_empty() {
            let known = asked.context.clone().into_iter().collect();
            params = params.with_context(model::CompletionContext::with_arguments(known));
        }
        let request = ClientRequest::CompleteRequest(model::CompleteRequest::new(params));
        let ServerResult::CompleteResult(result) = self.request(ctx, request).await? else { return Err(unreadable()) };
        let result = self.options.credentials.redact_answer(result).map_err(|_| unreadable())?.completion;
        let total = result.total.map(u64::from);
        let has_more = result.has_more == Some(true) || result.values.len() > Completion::MAX_VALUES;
        Ok(Completion::new(result.values.into_iter().take(Completion::MAX_VALUES)).of_total(total, has_more))
    }

    /// Sends a request within the limits of a run.
    async fn request(&self, ctx: &RunContext, request: ClientRequest) -> Result<ServerResult, ToolError> {
        let state = RunState::default();
        let exchange = Exchange { remote: self, ctx, state: &state };
        let exchanged = exchange.within_limits(async {
            let connection = self.connection().await?;
            exchange.converse(&connection, Asked::Other(&request)).await?.map_err(|error| self.failure(&error))
        });
        // Boxed, as what asks for it would otherwise be as large.
        Box::pin(exchanged).await
    }

    fn failure(&self, error: &ServiceError) -> ToolError {
        let credentials = &self.options.credentials;
        match error {
            ServiceError::McpError(error) => {
                let message = truncate(&credentials.redact(&error.message), answer::MAX_TEXT);
                match error.code {
                    RESOURCE_NOT_FOUND => ToolError::not_found(message),
                    _ => ToolError::permanent(message),
                }
            }
            ServiceError::TransportSend(_) | ServiceError::TransportClosed => {
                ToolError::transient("the connection to the server is lost")
            }
            error => {
                let (server, error) = (self.options.name.escape_debug(), credentials.display(&describe(error)));
                tracing::warn!(%server, error, "failed to read the answer of a server");
                unreadable()
            }
        }
    }
}

fn unreadable() -> ToolError {
    ToolError::permanent("the answer of the server cannot be read")
}

fn check_size(bytes: usize) -> Result<(), ToolError> {
    if bytes <= MAX_CONTENTS {
        return Ok(());
    }
    Err(ToolError::permanent(format!("expected at most {MAX_CONTENTS} bytes of the server, got {bytes}")))
}

/// A prompt of a server, by the name that the server gives it.
struct RemotePrompt {
    remote: Arc<RemoteServer>,
    name: String,
}

impl PromptHandler for RemotePrompt {
    fn get<'a>(
        &'a self,
        arguments: TextArguments,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<PromptMessage>, ToolError>> {
        Box::pin(self.remote.get_prompt(&self.name, arguments, ctx))
    }

    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Completion, ToolError>> {
        let target = CompletionTarget::Prompt(self.name.clone());
        Box::pin(async move { self.remote.complete(&target, &request, ctx).await })
    }
}

/// A resource of a server, or those of a template.
struct RemoteResource {
    remote: Arc<RemoteServer>,
    /// The key of the declaration, and its URI.
    key: String,
    uri: String,
}

impl ResourceHandler for RemoteResource {
    fn read<'a>(
        &'a self,
        request: ResourceRequest,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(async move {
            self.remote.check_offered(&self.key, "resource", &self.uri)?;
            self.remote.read_resource(&request.uri, ctx).await
        })
    }

    fn complete<'a>(
        &'a self,
        request: CompletionRequest,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Completion, ToolError>> {
        let target = CompletionTarget::Resource(self.uri.clone());
        Box::pin(async move { self.remote.complete(&target, &request, ctx).await })
    }
}

impl Catalog {
    /// Imports the prompts and resources of a server that agree with their pins.
    pub(crate) async fn import(remote: &Arc<RemoteServer>, prefix: Option<&str>) -> Result<Self, ImportError> {
        let connection = remote.current();
        let prompts = remote.list_prompts(&connection).await;
        let (resources, templates) =
            (remote.list_resources(&connection).await, remote.list_templates(&connection).await);
        let mut found = Vec::new();
        found.extend(prompts.iter().map(|(_, key, fingerprint)| (key.clone(), fingerprint.clone())));
        found.extend(resources.iter().map(|(_, key, fingerprint)| (key.clone(), fingerprint.clone())));
        found.extend(templates.iter().map(|(_, key, fingerprint)| (key.clone(), fingerprint.clone())));
        let names = OfferedNames::new(prefix, prompts.iter().map(|(prompt, ..)| prompt.name.as_str()));
        let mut catalog = Self { names, ..Self::default() };
        if found.is_empty() {
            return Ok(catalog);
        }
        let offered = remote.check_pins(found).await?;
        for (declared, key, _) in prompts.into_iter().filter(|(_, key, _)| offered.contains(key)) {
            let name = catalog.names.offered(&declared.name).into_owned();
            let prompt = prompt(remote, declared, name);
            match ToolContext::builder().with_prompt(prompt.clone()).build() {
                Ok(_) => catalog.prompts.push(prompt),
                Err(errors) => remote.quarantine_invalid(&key, QuarantineReason::Invalid(errors)),
            }
        }
        let described = resources.into_iter().map(|(resource, key, _)| {
            let model::Resource { uri, name, title, description, mime_type, size, .. } = resource;
            (key, uri, name, title, description, mime_type, size)
        });
        let templates = templates.into_iter().map(|(template, key, _)| {
            let model::ResourceTemplate { uri_template: uri, name, title, description, mime_type, .. } = template;
            (key, uri, name, title, description, mime_type, None)
        });
        for (key, uri, name, title, description, mime_type, size) in described.chain(templates) {
            if !offered.contains(&key) {
                continue;
            }
            let mut definition = match ResourceDefinition::new(&uri, name) {
                Ok(definition) => definition,
                Err(error) => {
                    remote.quarantine_invalid(&key, QuarantineReason::InvalidUri(error));
                    continue;
                }
            };
            (definition.title, definition.mime_type, definition.size) = (title, mime_type, size);
            definition.description = truncate(&description.unwrap_or_default(), MAX_DESCRIPTION);
            if remote.completes() {
                definition.completes = definition.uri.variables().map(str::to_owned).collect();
            }
            let is_template = definition.is_template();
            let resource = Resource::new(definition, RemoteResource { remote: Arc::clone(remote), key, uri });
            if is_template { catalog.templates.push(resource) } else { catalog.resources.push(resource) }
        }
        Ok(catalog)
    }

    /// Returns true if a URI is one of a resource that was imported, or fits a template.
    pub(crate) fn has(&self, uri: &str) -> bool {
        self.resources.iter().any(|resource| resource.uri() == uri)
            || self.templates.iter().any(|template| template.definition().uri.matches(uri).is_some())
    }
}

fn prompt(remote: &Arc<RemoteServer>, declared: model::Prompt, name: String) -> Prompt {
    let cut = |text: Option<String>| truncate(&text.unwrap_or_default(), MAX_DESCRIPTION);
    let mut definition = PromptDefinition::new(name, cut(declared.description));
    definition.title = declared.title;
    for declared in declared.arguments.unwrap_or_default() {
        let mut argument = PromptArgument::new(declared.name, cut(declared.description));
        argument.title = declared.title;
        definition =
            definition.argument(argument.required(declared.required == Some(true)).completes(remote.completes()));
    }
    Prompt::new(definition, RemotePrompt { remote: Arc::clone(remote), name: declared.name })
}
