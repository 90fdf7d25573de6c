//! `openapi`: the tools of an OpenAPI document.

use crate::arguments::OpenApiOptions;
use crate::output::{CommandError, CommandIo, CommandResult};

#[cfg(feature = "openapi")]
pub(crate) async fn openapi(options: &OpenApiOptions, io: &mut CommandIo<'_>) -> CommandResult {
    use tool_adapters_openapi::OpenApi;

    let text = read(&options.document, io).await?;
    let failed = |error| CommandError::Usage(format!("{}: {error}", options.document));
    let mut api = OpenApi::from_text(&text).map_err(failed)?;
    if let Some(url) = &options.base_url {
        api = api.base_url(url);
    }
    if !options.only.is_empty() {
        api = api.only(&options.only);
    }
    // Nothing is sent, so hosts and credentials are no reason to refuse an operation.
    let hosts = api.hosts();
    api = hosts
        .into_iter()
        .fold(api.allow_missing_credentials(), OpenApi::allow_host);
    let toolset = api.toolset("openapi").map_err(failed)?;
    if io.json {
        print_json(&toolset, io)
    } else {
        print_text(&toolset, io)
    }
}

/// Reads a document from a file or a URL.
#[cfg(feature = "openapi")]
async fn read(document: &str, io: &mut CommandIo<'_>) -> Result<String, CommandError> {
    use std::path::Path;
    use tool_adapters_http::egress::{EgressClient, EgressPolicy};
    use tool_adapters_openapi::MAX_DOCUMENT;

    if !document.starts_with("https://") && !document.starts_with("http://") {
        let path = Path::new(document);
        return std::fs::read_to_string(path).map_err(|error| CommandError::file(path, error));
    }
    let fetch = async {
        let client = EgressClient::new(EgressPolicy::new().max_body(MAX_DOCUMENT))?;
        client
            .get(document)
            .send()
            .await?
            .error_for_status()?
            .text()
            .await
    };
    io.progress.begin();
    io.wait(fetch, || "fetching the document".to_owned())
        .await
        .map_err(CommandError::failure)
}

/// Prints the tools as `--tools` reads them, and the refused operations.
#[cfg(feature = "openapi")]
fn print_json(
    toolset: &tool_adapters_openapi::OpenApiToolset,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    use crate::output::CommandStatus;
    use serde_json::{Value, json};

    let tools = toolset.offered().iter().map(|offered| {
        let tool = offered.tool.definition();
        json!({
            "name": tool.name(),
            "description": tool.description(),
            "category": tool.category(),
            "operation": format!("{} {}", offered.method, offered.path),
            "inputSchema": tool.parameters(),
        })
    });
    let refused = toolset.refused().iter().map(|refused| {
        json!({
            "operation": format!("{} {}", refused.method, refused.path),
            "operationId": refused.id,
            "kind": refused.reason.kind(),
            "reason": refused.reason.to_string(),
        })
    });
    let tools = tools.collect::<Vec<Value>>();
    let refused = refused.collect::<Vec<Value>>();
    io.print_json(&json!({"tools": tools, "refused": refused}))?;
    Ok(CommandStatus::Success)
}

#[cfg(feature = "openapi")]
fn print_text(
    toolset: &tool_adapters_openapi::OpenApiToolset,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    use crate::output::CommandStatus;
    use crate::text::{Column, NAME};
    use tool_core::text::escape_invisible;

    let rows = toolset.offered().iter().map(|offered| {
        let tool = offered.tool.definition();
        let operation = format!("{} {}", offered.method, escape_invisible(&offered.path));
        [
            tool.name().to_owned(),
            operation,
            escape_invisible(&tool.summary()),
        ]
    });
    let columns = [
        Column::new("TOOL").style(NAME).wraps(),
        Column::new("OPERATION").wraps(),
        Column::new("DESCRIPTION").wraps(),
    ];
    let mut text = io.layout.table(columns, rows.collect());
    for refused in toolset.refused() {
        text += &io.layout.message(&format!("warning: {refused}"));
    }
    let counts = format!(
        "\n{} tools, {} refused operations\n",
        toolset.offered().len(),
        toolset.refused().len()
    );
    io.print(&(text + &counts))?;
    Ok(CommandStatus::Success)
}

#[cfg(not(feature = "openapi"))]
#[allow(
    clippy::unused_async,
    reason = "the signature is the same with the feature"
)]
pub(crate) async fn openapi(_: &OpenApiOptions, _: &mut CommandIo<'_>) -> CommandResult {
    let message = "this program was built without OpenAPI; enable the feature `openapi` of `tool-adapters` in its Cargo.toml";
    Err(CommandError::Usage(message.to_owned()))
}
