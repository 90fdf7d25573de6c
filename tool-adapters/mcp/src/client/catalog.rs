//! The prompts and resources of a server: their import, and their use.

use crate::client::answer;
use crate::client::declared::Declared;
use crate::client::error::{ImportError, describe, has_expired};
use crate::client::exchange::{Asked, Exchange, RunState};
use crate::client::lists::{ListError, ServerList};
use crate::client::offered_names::OfferedNames;
use crate::client::pins::{Declaration, Fingerprint};
use crate::client::quarantine::QuarantineReason;
use crate::client::remote::{ListedPins, RemoteServer, ServerConnection};
use crate::original;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::BoxFuture;
use rmcp::model::{
    self, ClientRequest, CompleteRequestParams, ErrorCode, GetPromptRequestParams, JsonObject,
    ReadResourceRequestParams, Reference, ServerResult,
};
use rmcp::service::ServiceError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::sync::Arc;
use tool_core::call::{OriginalPart, Role};
use tool_core::text::truncate;
use tool_core::tool::{
    Completion, CompletionRequest, CompletionTarget, Prompt, PromptArgument, PromptDefinition,
    PromptHandler, PromptMessage, Resource, ResourceContents, ResourceDefinition, ResourceHandler,
    ResourceRequest, TextArguments,
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

/// A prompt, a resource, or a template of resources, as a server declares it.
trait Listable: Serialize + DeserializeOwned {
    const LIST: ServerList;

    /// Returns the name by which the server knows it.
    fn own_name(&self) -> &str;
}

impl Listable for model::Prompt {
    const LIST: ServerList = ServerList {
        method: "prompts/list",
        member: "prompts",
        kind: Declaration::Prompt,
        request: |page| {
            ClientRequest::ListPromptsRequest(model::ListPromptsRequest::with_param(page))
        },
    };

    fn own_name(&self) -> &str {
        &self.name
    }
}

impl Listable for model::Resource {
    const LIST: ServerList = ServerList {
        method: "resources/list",
        member: "resources",
        kind: Declaration::Resource,
        request: |page| {
            ClientRequest::ListResourcesRequest(model::ListResourcesRequest::with_param(page))
        },
    };

    fn own_name(&self) -> &str {
        &self.uri
    }
}

impl Listable for model::ResourceTemplate {
    const LIST: ServerList = ServerList {
        method: "resources/templates/list",
        member: "resourceTemplates",
        kind: Declaration::Resource,
        request: |page| {
            let list = model::ListResourceTemplatesRequest::with_param(page);
            ClientRequest::ListResourceTemplatesRequest(list)
        },
    };

    fn own_name(&self) -> &str {
        &self.uri_template
    }
}

/// A declaration of a server.
struct Listed<T> {
    /// The declaration, in which keys are masked.
    declared: Declared<T>,
    /// The key of its pin.
    key: String,
    /// The fingerprint of what the server sent.
    fingerprint: Fingerprint,
}

/// The declarations of a list, as far as they could be had.
struct ListedEntries<T> {
    entries: Vec<Listed<T>>,
    /// True if the rest of the list could not be had.
    has_failed: bool,
}

/// The lists of prompts and resources of a server.
struct CatalogLists {
    prompts: ListedEntries<model::Prompt>,
    resources: ListedEntries<model::Resource>,
    templates: ListedEntries<model::ResourceTemplate>,
}

impl CatalogLists {
    async fn request(remote: &RemoteServer) -> Self {
        let connection = remote.current();
        Self {
            prompts: remote.listed(&connection).await,
            resources: remote.listed(&connection).await,
            templates: remote.listed(&connection).await,
        }
    }

    /// Returns the kinds of the lists that failed.
    fn failed_kinds(&self) -> Vec<Declaration> {
        let mut failed = Vec::new();
        if self.prompts.has_failed {
            failed.push(Declaration::Prompt);
        }
        if self.resources.has_failed || self.templates.has_failed {
            failed.push(Declaration::Resource);
        }
        failed
    }

    /// Returns the keys and fingerprints of all entries.
    fn pinned(&self) -> Vec<(String, Fingerprint)> {
        let mut found = Vec::new();
        found.extend(self.prompts.entries.iter().map(Listed::pinned));
        found.extend(self.resources.entries.iter().map(Listed::pinned));
        found.extend(self.templates.entries.iter().map(Listed::pinned));
        found
    }
}

/// Maximum number of characters of a description.
const MAX_DESCRIPTION: usize = 4_000;

/// Maximum number of bytes of the messages of a prompt, or the contents of a resource.
const MAX_CONTENTS: usize = 4 << 20;

/// The code of an unknown resource before revision 2026-07-28.
const RESOURCE_NOT_FOUND: ErrorCode = ErrorCode(-32002);

impl RemoteServer {
    /// Returns true if the server declares prompts.
    pub(crate) fn has_prompts(connection: &ServerConnection) -> bool {
        connection
            .peer
            .peer_info()
            .is_some_and(|info| info.capabilities.prompts.is_some())
    }

    /// Returns true if the server declares resources.
    pub(crate) fn has_resources(connection: &ServerConnection) -> bool {
        connection
            .peer
            .peer_info()
            .is_some_and(|info| info.capabilities.resources.is_some())
    }

    fn completes(&self) -> bool {
        self.current()
            .peer
            .peer_info()
            .is_some_and(|info| info.capabilities.completions.is_some())
    }

    /// Returns the declarations of a list. One that fails is returned as far as it was read.
    async fn listed<T: Listable>(&self, connection: &ServerConnection) -> ListedEntries<T> {
        let has_list = match T::LIST.kind {
            Declaration::Prompt => Self::has_prompts(connection),
            _ => Self::has_resources(connection),
        };
        let mut listed = ListedEntries {
            entries: Vec::new(),
            has_failed: false,
        };
        if !has_list {
            return listed;
        }
        let mut declared = Vec::new();
        let reader = self.reader(connection);
        match reader.pages(&T::LIST, &mut declared).await {
            Ok(()) => {}
            // A server with resources need not know the method for their templates.
            Err(ListError::Failed(ServiceError::McpError(error)))
                if error.code == ErrorCode::METHOD_NOT_FOUND => {}
            Err(error) => {
                let server = self.options.name.escape_debug();
                let error = reader.error_text(&error);
                tracing::warn!(%server, method = T::LIST.method, error, "failed to list all that a server has");
                listed.has_failed = true;
            }
        }
        for declared in declared {
            listed.entries.extend(self.masked(declared));
        }
        listed
    }

    /// Returns a declaration in which keys are masked. Quarantines one with a key in its name, by
    /// which the server knows it.
    fn masked<T: Listable>(&self, declared: Declared<T>) -> Option<Listed<T>> {
        let credentials = &self.options.credentials;
        let fingerprint = Fingerprint::of_declared(&declared, T::LIST.kind);
        let own_name = declared.item.own_name().to_owned();
        let key = T::LIST.kind.key(&own_name);
        match credentials.redact_declared(declared) {
            Ok(declared) if declared.item.own_name() == own_name => Some(Listed {
                declared,
                key,
                fingerprint,
            }),
            _ => {
                self.quarantine(&credentials.redact(&key), QuarantineReason::HasKey);
                None
            }
        }
    }

    /// Returns the keys and fingerprints of the prompts.
    pub(crate) async fn pinned_prompts(&self, connection: &ServerConnection) -> ListedPins {
        let prompts = self.listed::<model::Prompt>(connection).await;
        ListedPins {
            found: prompts.entries.iter().map(Listed::pinned).collect(),
            has_failed: prompts.has_failed,
        }
    }

    /// Returns the keys and fingerprints of the resources and the templates.
    pub(crate) async fn pinned_resources(&self, connection: &ServerConnection) -> ListedPins {
        let resources = self.listed::<model::Resource>(connection).await;
        let templates = self.listed::<model::ResourceTemplate>(connection).await;
        let mut found = Vec::new();
        found.extend(resources.entries.iter().map(Listed::pinned));
        found.extend(templates.entries.iter().map(Listed::pinned));
        ListedPins {
            found,
            has_failed: resources.has_failed || templates.has_failed,
        }
    }

    /// Makes the messages of a prompt.
    pub(crate) async fn get_prompt(
        &self,
        name: &str,
        arguments: TextArguments,
        ctx: &RunContext,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        self.check_offered(&Declaration::Prompt.key(name), "prompt", name)?;
        let arguments = arguments
            .into_iter()
            .map(|(name, value)| (name, value.into()))
            .collect::<JsonObject>();
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        let request = ClientRequest::GetPromptRequest(model::GetPromptRequest::new(params));
        let answer = self.answer(ctx, request).await?;
        let result = serde_json::from_str::<PromptAnswer>(&answer).map_err(|_| unreadable())?;
        let of = result.messages.len();
        let mut messages = Vec::with_capacity(of);
        let mut size = 0;
        for (at, message) in result.messages.into_iter().enumerate() {
            let sent = message.content.get().len();
            let content = answer::part(&message.content);
            size += sent;
            check_size(size)?;
            let further_bytes = sent.saturating_sub(content.bytes());
            let original = Some(OriginalPart {
                answer: Arc::clone(&answer),
                at,
                of,
                further_bytes,
            });
            messages.push(PromptMessage {
                role: message.role,
                content,
                original,
            });
        }
        Ok(messages)
    }

    /// Reads a resource.
    pub(crate) async fn read_resource(
        &self,
        uri: &str,
        ctx: &RunContext,
    ) -> Result<Vec<ResourceContents>, ToolError> {
        self.check_offered(&Declaration::Resource.key(uri), "resource", uri)?;
        let params = ReadResourceRequestParams::new(uri);
        let request = ClientRequest::ReadResourceRequest(model::ReadResourceRequest::new(params));
        let answer = self.answer(ctx, request).await?;
        let result =
            serde_json::from_str::<ResourceAnswer<'_>>(&answer).map_err(|_| unreadable())?;
        let of = result.contents.len();
        let mut contents = Vec::with_capacity(of);
        let mut size = 0;
        for (at, sent) in result.contents.into_iter().enumerate() {
            let part = serde_json::from_str(sent.get()).map_err(|_| unreadable())?;
            let (uri, mime_type, bytes, part) = match part {
                model::ResourceContents::TextResourceContents {
                    uri,
                    mime_type,
                    text,
                    ..
                } => (uri, mime_type, text.len(), ResourceContents::text(text)),
                model::ResourceContents::BlobResourceContents {
                    uri,
                    mime_type,
                    blob,
                    ..
                } => {
                    let data = STANDARD.decode(&blob).map_err(|_| unreadable())?;
                    (uri, mime_type, blob.len(), ResourceContents::blob(data))
                }
                _ => return Err(unreadable()),
            };
            size += bytes;
            check_size(size)?;
            // Escapes of a text take a few bytes, and count for little.
            let further_bytes = sent.get().len().saturating_sub(2 * bytes);
            let mut part = part.uri(uri);
            part.mime_type = mime_type;
            part.original = Some(OriginalPart {
                answer: Arc::clone(&answer),
                at,
                of,
                further_bytes,
            });
            contents.push(part);
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
        let ServerResult::CompleteResult(result) = self.request(ctx, request).await? else {
            return Err(unreadable());
        };
        let result = self
            .options
            .credentials
            .redact_answer(result)
            .map_err(|_| unreadable())?
            .completion;
        let total = result.total.map(u64::from);
        let has_more =
            result.has_more == Some(true) || result.values.len() > Completion::MAX_VALUES;
        Ok(
            Completion::new(result.values.into_iter().take(Completion::MAX_VALUES))
                .of_total(total, has_more),
        )
    }

    /// Sends a request within the limits of a run. Returns the text of the answer as it is passed
    /// on, with keys masked.
    async fn answer(
        &self,
        ctx: &RunContext,
        request: ClientRequest,
    ) -> Result<Arc<str>, ToolError> {
        let result = original::text_of(self.request(ctx, request).await?).ok_or_else(unreadable)?;
        let (result, removed) = self
            .options
            .credentials
            .redact_result(&result)
            .map_err(|_| unreadable())?;
        Ok(original::passed_on(&result, &removed).into())
    }

    /// Sends a request within the limits of a run.
    async fn request(
        &self,
        ctx: &RunContext,
        request: ClientRequest,
    ) -> Result<ServerResult, ToolError> {
        let state = RunState::default();
        let exchange = Exchange {
            remote: self,
            ctx,
            state: &state,
        };
        let exchanged = exchange.within_limits(async {
            let mut may_send_again = true;
            loop {
                let connection = self.connection().await?;
                let asked = Asked::Other(&request);
                let answer = exchange.converse(&connection, asked).await?;
                let was_lost = answer.as_ref().is_err_and(has_expired);
                if !was_lost || !std::mem::take(&mut may_send_again) {
                    return answer.map_err(|error| self.failure(&error));
                }
            }
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
                let server = self.options.name.escape_debug();
                let error = credentials.display(&describe(error));
                tracing::warn!(%server, error, "failed to read the answer of a server");
                unreadable()
            }
        }
    }
}

/// The messages of a prompt.
#[derive(Deserialize)]
struct PromptAnswer {
    messages: Vec<SentMessage>,
}

#[derive(Deserialize)]
struct SentMessage {
    role: Role,
    content: Box<RawValue>,
}

/// The contents of a resource.
#[derive(Deserialize)]
struct ResourceAnswer<'a> {
    #[serde(borrow)]
    contents: Vec<&'a RawValue>,
}

fn unreadable() -> ToolError {
    ToolError::permanent("the answer of the server cannot be read")
}

fn check_size(bytes: usize) -> Result<(), ToolError> {
    if bytes <= MAX_CONTENTS {
        return Ok(());
    }
    Err(ToolError::permanent(format!(
        "expected at most {MAX_CONTENTS} bytes of the server, got {bytes}"
    )))
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
            self.remote
                .check_offered(&self.key, "resource", &self.uri)?;
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
    /// Imports the prompts and resources of a server that agree with their pins. A list that fails
    /// ends there, as the rest of the server is still of use, and is requested again later.
    pub(crate) async fn import(
        remote: &Arc<RemoteServer>,
        prefix: Option<&str>,
    ) -> Result<Self, ImportError> {
        let lists = CatalogLists::request(remote).await;
        remote.note_changed(lists.failed_kinds());
        Self::of_lists(remote, prefix, lists).await
    }

    /// Imports the prompts and resources again. Those of a list that fails stay as they are.
    pub(crate) async fn import_again(
        remote: &Arc<RemoteServer>,
        prefix: Option<&str>,
        earlier: &Self,
    ) -> Result<Self, ImportError> {
        let mut lists = CatalogLists::request(remote).await;
        remote.note_changed(lists.failed_kinds());
        let mut kept = Self::default();
        if lists.prompts.has_failed {
            lists.prompts.entries.clear();
            kept.prompts.clone_from(&earlier.prompts);
        }
        if lists.resources.has_failed {
            lists.resources.entries.clear();
            kept.resources.clone_from(&earlier.resources);
        }
        if lists.templates.has_failed {
            lists.templates.entries.clear();
            kept.templates.clone_from(&earlier.templates);
        }

        let have_prompts_failed = lists.prompts.has_failed;
        let mut catalog = Self::of_lists(remote, prefix, lists).await?;
        if have_prompts_failed {
            catalog.names = earlier.names.clone();
        }
        catalog.prompts.extend(kept.prompts);
        catalog.resources.extend(kept.resources);
        catalog.templates.extend(kept.templates);
        Ok(catalog)
    }

    /// Imports the entries of lists that agree with their pins.
    async fn of_lists(
        remote: &Arc<RemoteServer>,
        prefix: Option<&str>,
        lists: CatalogLists,
    ) -> Result<Self, ImportError> {
        let found = lists.pinned();
        let prompts = lists.prompts.entries;
        let names = OfferedNames::new(
            prefix,
            prompts
                .iter()
                .map(|prompt| prompt.declared.item.name.as_str()),
        );
        let mut catalog = Self {
            names,
            ..Self::default()
        };
        if found.is_empty() {
            return Ok(catalog);
        }
        let offered = remote.check_pins(found).await?;
        for Listed { declared, key, .. } in prompts
            .into_iter()
            .filter(|prompt| offered.contains(&prompt.key))
        {
            let name = catalog.names.offered(&declared.item.name).into_owned();
            let prompt = prompt(remote, declared, name);
            match ToolContext::builder().with_prompt(prompt.clone()).build() {
                Ok(_) => catalog.prompts.push(prompt),
                Err(errors) => remote.quarantine_invalid(&key, QuarantineReason::Invalid(errors)),
            }
        }
        let resources = lists.resources.entries.into_iter();
        let resources = resources.map(DescribedResource::from);
        let templates = lists.templates.entries.into_iter();
        let templates = templates.map(DescribedResource::from);
        for resource in resources
            .chain(templates)
            .filter(|resource| offered.contains(&resource.key))
        {
            let DescribedResource {
                key,
                uri,
                name,
                title,
                description,
                mime_type,
                size,
                sent,
            } = resource;
            let mut definition = match ResourceDefinition::new(&uri, name) {
                Ok(definition) => definition,
                Err(error) => {
                    remote.quarantine_invalid(&key, QuarantineReason::InvalidUri(error));
                    continue;
                }
            };
            definition.title = title;
            definition.mime_type = mime_type;
            definition.size = size;
            definition.description = truncate(&description.unwrap_or_default(), MAX_DESCRIPTION);
            definition.declared = Some(Arc::new(sent));
            if remote.completes() {
                definition.completes = definition.uri.variables().map(str::to_owned).collect();
            }
            let is_template = definition.is_template();
            let resource = Resource::new(
                definition,
                RemoteResource {
                    remote: Arc::clone(remote),
                    key,
                    uri,
                },
            );
            if is_template {
                catalog.templates.push(resource);
            } else {
                catalog.resources.push(resource);
            }
        }
        Ok(catalog)
    }

    /// Returns the imported resource with a URI, and the templates that it fits.
    pub(crate) fn matching<'a>(&'a self, uri: &'a str) -> impl Iterator<Item = &'a Resource> {
        let is_named = move |resource: &&Resource| resource.uri() == uri;
        let fits = move |template: &&Resource| template.definition().uri.matches(uri).is_some();
        let named = self.resources.iter().filter(is_named);
        named.chain(self.templates.iter().filter(fits))
    }
}

impl<T> Listed<T> {
    fn pinned(&self) -> (String, Fingerprint) {
        (self.key.clone(), self.fingerprint.clone())
    }
}

/// The common members of a resource and a template.
struct DescribedResource {
    key: String,
    uri: String,
    name: String,
    title: Option<String>,
    description: Option<String>,
    mime_type: Option<String>,
    size: Option<u64>,
    sent: Map<String, Value>,
}

impl From<Listed<model::Resource>> for DescribedResource {
    fn from(listed: Listed<model::Resource>) -> Self {
        let Declared { item, sent } = listed.declared;
        Self {
            key: listed.key,
            uri: item.uri,
            name: item.name,
            title: item.title,
            description: item.description,
            mime_type: item.mime_type,
            size: item.size,
            sent,
        }
    }
}

impl From<Listed<model::ResourceTemplate>> for DescribedResource {
    fn from(listed: Listed<model::ResourceTemplate>) -> Self {
        let Declared { item, sent } = listed.declared;
        Self {
            key: listed.key,
            uri: item.uri_template,
            name: item.name,
            title: item.title,
            description: item.description,
            mime_type: item.mime_type,
            size: None,
            sent,
        }
    }
}

fn prompt(remote: &Arc<RemoteServer>, declared: Declared<model::Prompt>, name: String) -> Prompt {
    let Declared {
        item: declared,
        sent,
    } = declared;
    let cut = |text: Option<String>| truncate(&text.unwrap_or_default(), MAX_DESCRIPTION);
    let mut definition = PromptDefinition::new(name, cut(declared.description));
    definition.title = declared.title;
    definition.declared = Some(Arc::new(sent));
    for declared in declared.arguments.unwrap_or_default() {
        let mut argument = PromptArgument::new(declared.name, cut(declared.description));
        argument.title = declared.title;
        definition = definition.argument(
            argument
                .required(declared.required == Some(true))
                .completes(remote.completes()),
        );
    }
    Prompt::new(
        definition,
        RemotePrompt {
            remote: Arc::clone(remote),
            name: declared.name,
        },
    )
}
