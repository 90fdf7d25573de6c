//! `resources/list`, `resources/templates/list` and `resources/read`. Each guide of a tool is a
//! resource, too.

use crate::original;
use crate::server::pages::{CacheHints, Page, PageRequest};
use crate::server::passed_on;
use crate::server::prompts::{failure, some_text};
use crate::server::session::McpResult;
use crate::server::skills::{self, GuideSkill};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::ErrorData;
use rmcp::model::{
    Annotations, ErrorCode, ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult,
    Resource, ResourceContents, ResourceTemplate, Role,
};
use serde::Serialize;
use serde_json::json;
use tool_core::call::{self, HostHandlers};
use tool_core::tool::{self, ResourceAnnotations, ResourceData, ResourceDefinition};
use tool_core::{ErrorKind, Session, ToolContext, ToolError};

/// Returns one page of the resources that have a fixed URI. With `guides`, the guides of tools
/// follow them.
pub(crate) fn list(
    session: &Session,
    guides: bool,
    request: &PageRequest,
) -> McpResult<ListResourcesResult> {
    let mut resources = visible(session, false, |resource| {
        let mut declared = Resource::new(resource.uri.as_str(), &resource.name);
        declared.title.clone_from(&resource.title);
        declared.description = some_text(&resource.description);
        declared.mime_type.clone_from(&resource.mime_type);
        declared.size = resource.size;
        declared.annotations = resource.annotations.as_ref().map(annotations);
        declared
    });
    if guides {
        let guides = skills::all(session).map(|skill| skill.resource());
        let new = guides.filter(|guide| find(session, &guide.uri).is_none());
        resources.extend(new.map(|guide| original::declaration(None, &guide, &[])));
    }
    let page = Page::of(resources, request)?;
    Ok(ListResourcesResult {
        meta: Some(page.carried_as("resources")),
        next_cursor: page.next_cursor,
        ttl_ms: page.hints.ttl_ms,
        cache_scope: page.hints.scope,
        ..ListResourcesResult::default()
    })
}

/// Returns one page of the URI templates.
pub(crate) fn list_templates(
    session: &Session,
    request: &PageRequest,
) -> McpResult<ListResourceTemplatesResult> {
    let templates = visible(session, true, |resource| {
        let mut declared = ResourceTemplate::new(resource.uri.as_str(), &resource.name);
        declared.title.clone_from(&resource.title);
        declared.description = some_text(&resource.description);
        declared.mime_type.clone_from(&resource.mime_type);
        declared.annotations = resource.annotations.as_ref().map(annotations);
        declared
    });
    let page = Page::of(templates, request)?;
    Ok(ListResourceTemplatesResult {
        meta: Some(page.carried_as("resourceTemplates")),
        next_cursor: page.next_cursor,
        ttl_ms: page.hints.ttl_ms,
        cache_scope: page.hints.scope,
        ..ListResourceTemplatesResult::default()
    })
}

/// Reads a resource, which may ask by the handlers. The answer of another server is carried whole.
pub(crate) async fn read(
    session: &Session,
    guides: bool,
    uri: &str,
    (with_hints, handlers): (bool, HostHandlers),
) -> McpResult<ReadResourceResult> {
    let mut whole = None;
    let contents = if let Some(guide) = guide_of(session, guides, uri) {
        vec![guide.contents()]
    } else {
        let read = session
            .read_resource_with(uri, handlers)
            .await
            .map_err(|error| match error.kind() {
                ErrorKind::NotFound => unknown(uri, error.message()),
                _ => failure(&error),
            });
        let read = read?;
        whole = original::whole(read.iter().map(|part| part.original.as_ref()));
        read.into_iter().map(contents).collect()
    };
    let hints = CacheHints::new(with_hints);
    let mut result = ReadResourceResult::new(contents);
    result.ttl_ms = hints.ttl_ms;
    result.cache_scope = hints.scope;
    result.meta = whole.map(passed_on::carrying);
    Ok(result)
}

/// Begins a subscription to a resource inside the hooks of the session.
pub(crate) async fn subscribe(
    session: &Session,
    uri: &str,
    begin: impl FnOnce() -> McpResult<()> + Send,
) -> McpResult<()> {
    let mut refusal = None;
    let begin = async {
        begin().map_err(|error| {
            let message = error.message.to_string();
            let seen = match error.code {
                ErrorCode::RESOURCE_NOT_FOUND => ToolError::not_found(message),
                _ => ToolError::permanent(message),
            };
            refusal = Some(error);
            seen
        })
    };
    let subscribed = session.subscribe_with(uri, begin).await;
    match refusal {
        Some(error) => Err(error),
        None => subscribed.map_err(|error| failure(&error)),
    }
}

/// Maximum number of bytes of a URI to which a client subscribes. It is kept.
const MAX_SUBSCRIBED: usize = 2_048;

/// Returns false if no client may subscribe to a URI, whatever its session shows. With `guides`,
/// the guides of tools are resources.
pub(crate) fn may_be_known(tools: &ToolContext, guides: bool, uri: &str) -> bool {
    let is_guide = guides && uri.starts_with(skills::SCHEME);
    uri.len() <= MAX_SUBSCRIBED && (is_guide || tools.resource(uri).is_some())
}

/// Checks that a client may subscribe to a resource.
pub(crate) fn check_known(session: &Session, guides: bool, uri: &str) -> McpResult<()> {
    if uri.len() > MAX_SUBSCRIBED {
        let message = format!(
            "expected a URI of at most {MAX_SUBSCRIBED} bytes, got {}",
            uri.len()
        );
        return Err(unknown(uri, &message));
    }
    let ctx = session.context_outside_calls();
    let is_known = session
        .tools()
        .resource(uri)
        .is_some_and(|(resource, _)| resource.visible_in(&ctx))
        || guide_of(session, guides, uri).is_some();
    if is_known {
        Ok(())
    } else {
        Err(unknown(uri, "there is no resource of this URI"))
    }
}

fn unknown(uri: &str, message: &str) -> ErrorData {
    let uri = uri.chars().take(2_048).collect::<String>();
    ErrorData::resource_not_found(message.to_owned(), Some(json!({"uri": uri})))
}

/// Returns the visible resources as JSON.
fn visible<T: Serialize>(
    session: &Session,
    templates: bool,
    declare: impl Fn(&ResourceDefinition) -> T,
) -> Vec<String> {
    let ctx = session.context_outside_calls();
    let listed = session
        .tools()
        .resources()
        .iter()
        .filter(|known| known.is_listed());
    let of_kind = listed.filter(|known| known.definition().is_template() == templates);
    let visible = of_kind
        .filter(|resource| resource.visible_in(&ctx))
        .map(tool::Resource::definition);
    visible
        .map(|known| original::declaration(known.declared.as_deref(), &declare(known), &[]))
        .collect()
}

/// Returns the resource that a list has under a URI, or whose template matches it.
fn find<'a>(session: &'a Session, uri: &str) -> Option<&'a tool::Resource> {
    session
        .tools()
        .resource(uri)
        .map(|(resource, _)| resource)
        .filter(|resource| resource.is_listed())
}

/// Returns the guide that has this URI, unless another resource has it.
fn guide_of(session: &Session, guides: bool, uri: &str) -> Option<GuideSkill> {
    let is_free = guides && find(session, uri).is_none();
    is_free.then(|| skills::find(session, uri)).flatten()
}

fn annotations(hints: &ResourceAnnotations) -> Annotations {
    let mut annotations = Annotations::default();
    let audience = hints.audience.iter().map(|role| match role {
        call::Role::User => Role::User,
        call::Role::Assistant => Role::Assistant,
    });
    annotations.audience =
        Some(audience.collect::<Vec<_>>()).filter(|audience| !audience.is_empty());
    annotations.priority = hints.priority;
    annotations.last_modified.clone_from(&hints.last_modified);
    annotations
}

fn contents(contents: tool::ResourceContents) -> ResourceContents {
    let tool::ResourceContents {
        uri,
        mime_type,
        data,
        ..
    } = contents;
    match data {
        ResourceData::Text(text) => ResourceContents::TextResourceContents {
            uri,
            mime_type,
            text,
            meta: None,
        },
        ResourceData::Blob(bytes) => ResourceContents::BlobResourceContents {
            uri,
            mime_type,
            blob: STANDARD.encode(bytes),
            meta: None,
        },
    }
}
