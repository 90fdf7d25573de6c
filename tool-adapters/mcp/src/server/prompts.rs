//! `prompts/list`, `prompts/get` and `completion/complete`. Each guide of a tool is a prompt, too.

use crate::original;
use crate::server::pages::{Page, PageRequest};
use crate::server::passed_on;
use crate::server::session::McpResult;
use crate::server::tools::content_block;
use rmcp::ErrorData;
use rmcp::model::{
    CompleteRequestParams, CompleteResult, CompletionInfo, GetPromptRequestParams, GetPromptResult,
    ListPromptsResult, Prompt, PromptArgument, PromptMessage, Reference, Role,
};
use serde_json::Value;
use tool_core::call::{self, HostHandlers};
use tool_core::tool::{self, CompletionRequest, CompletionTarget, TextArguments};
use tool_core::{ErrorKind, Session, ToolDefinition, ToolError};

/// Returns one page of the list, which carries the prompts. With `guides`, the guides of tools
/// follow the prompts.
pub(crate) fn list(
    session: &Session,
    guides: bool,
    request: &PageRequest,
) -> McpResult<ListPromptsResult> {
    let ctx = session.context_outside_calls();
    let mut prompts = Vec::new();
    for prompt in session.tools().prompts() {
        if prompt.visible_in(&ctx) {
            let definition = prompt.definition();
            let sent = definition.declared.as_deref();
            prompts.push(original::declaration(
                sent,
                &declared(definition),
                &["name"],
            ));
        }
    }
    if guides {
        let of_guides = guided_tools(session)
            .into_iter()
            .map(|tool| guide_prompt(&tool));
        let new = of_guides.filter(|guide| session.tools().prompt(&guide.name).is_none());
        prompts.extend(new.map(|guide| original::declaration(None, &guide, &[])));
    }
    let page = Page::of(prompts, request)?;
    Ok(ListPromptsResult {
        meta: Some(page.carried_as("prompts")),
        next_cursor: page.next_cursor,
        ttl_ms: page.hints.ttl_ms,
        cache_scope: page.hints.scope,
        ..ListPromptsResult::default()
    })
}

/// Makes the messages of a prompt, which may ask by the handlers. The answer of another server is
/// carried whole.
pub(crate) async fn get(
    session: &Session,
    guides: bool,
    request: GetPromptRequestParams,
    handlers: HostHandlers,
) -> McpResult<GetPromptResult> {
    let GetPromptRequestParams {
        name, arguments, ..
    } = request;
    let known = session
        .tools()
        .prompt(&name)
        .map(|prompt| prompt.definition().description.clone());
    if known.is_none()
        && let Some(guide) = guided_tools(session)
            .into_iter()
            .find(|tool| guides && guide_name(tool.name()) == name)
    {
        let message = PromptMessage::new_text(Role::User, guide.documentation());
        return Ok(GetPromptResult::new(vec![message]).with_description(guide.summary()));
    }
    let arguments = texts(arguments.unwrap_or_default())?;
    let messages = session
        .get_prompt_with(&name, arguments, handlers)
        .await
        .map_err(|error| failure(&error))?;
    let whole = original::whole(messages.iter().map(|message| message.original.as_ref()));
    let messages = messages.into_iter().map(|message| {
        let role = match message.role {
            call::Role::User => Role::User,
            call::Role::Assistant => Role::Assistant,
        };
        PromptMessage::new(role, content_block(message.content))
    });
    let result = GetPromptResult::new(messages.collect());
    let mut result = match known.filter(|description| !description.is_empty()) {
        Some(description) => result.with_description(description),
        None => result,
    };
    result.meta = whole.map(passed_on::carrying);
    Ok(result)
}

/// Completes an argument of a prompt or a variable of a resource.
pub(crate) async fn complete(
    session: &Session,
    request: CompleteRequestParams,
) -> McpResult<CompleteResult> {
    let target = match request.r#ref {
        Reference::Prompt(prompt) => CompletionTarget::Prompt(prompt.name),
        Reference::Resource(resource) => CompletionTarget::Resource(resource.uri),
        // `Reference` is non-exhaustive.
        _ => {
            return Err(ErrorData::invalid_params(
                "expected `ref` of the type `ref/prompt` or `ref/resource`",
                None,
            ));
        }
    };
    let context = request
        .context
        .and_then(|context| context.arguments)
        .unwrap_or_default();
    let asked = CompletionRequest::new(request.argument.name, request.argument.value);
    let asked = asked.context(context.into_iter().collect());
    let found = session
        .complete(&target, asked)
        .await
        .map_err(|error| failure(&error))?;
    let total = found
        .total
        .map(|total| u32::try_from(total).unwrap_or(u32::MAX));
    let info = CompletionInfo::with_pagination(found.values, total, found.has_more);
    // The session has cut the values.
    info.map(CompleteResult::new)
        .map_err(|error| ErrorData::internal_error(error, None))
}

/// Returns the visible tools that have a guide.
pub(crate) fn guided_tools(session: &Session) -> Vec<ToolDefinition> {
    let mut tools = session.definitions();
    tools.retain(|tool| tool.guide().is_some());
    tools
}

/// Returns the name of the prompt of a tool's guide.
fn guide_name(tool: &str) -> String {
    format!("{tool}_guide")
}

/// Returns the title of a tool's guide.
pub(crate) fn guide_title(tool: &ToolDefinition) -> String {
    format!("Guide of {}", tool.title().unwrap_or(tool.name()))
}

fn guide_prompt(tool: &ToolDefinition) -> Prompt {
    Prompt::new(guide_name(tool.name()), Some(tool.summary()), None).with_title(guide_title(tool))
}

fn declared(definition: &tool::PromptDefinition) -> Prompt {
    let arguments = definition.arguments.iter().map(|argument| {
        let mut declared = PromptArgument::new(&argument.name).with_required(argument.required);
        declared.title.clone_from(&argument.title);
        declared.description = some_text(&argument.description);
        declared
    });
    let arguments = arguments.collect::<Vec<_>>();
    let arguments = (!arguments.is_empty()).then_some(arguments);
    let mut prompt = Prompt::new(
        &definition.name,
        some_text(&definition.description),
        arguments,
    );
    prompt.title.clone_from(&definition.title);
    prompt
}

/// Returns a copy of a text that is not empty.
pub(crate) fn some_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn texts(arguments: serde_json::Map<String, Value>) -> McpResult<TextArguments> {
    let texts = arguments.into_iter().map(|(name, value)| match value {
        Value::String(text) => Ok((name, text)),
        _ => Err(ErrorData::invalid_params(
            "expected the values of `arguments` to be strings",
            None,
        )),
    });
    texts.collect()
}

/// Returns the protocol's error for an error of a prompt or a resource.
pub(crate) fn failure(error: &ToolError) -> ErrorData {
    let message = error.message().to_owned();
    match error.kind() {
        ErrorKind::Validation | ErrorKind::NotFound => ErrorData::invalid_params(message, None),
        _ => ErrorData::internal_error(message, None),
    }
}
