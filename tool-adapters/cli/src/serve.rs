//! `serve`: the tools for other programs.

use crate::arguments::ServeOptions;
#[cfg(feature = "mcp")]
use crate::caller::set_up;
use crate::output::{CommandError, CommandIo, CommandResult};
use tool_core::ToolContext;

#[cfg(feature = "mcp")]
pub(crate) async fn serve(
    tools: ToolContext,
    options: &ServeOptions,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    use crate::arguments::ServeTransport;
    use crate::output::CommandStatus;
    use std::io;
    use tool_adapters_mcp::Server;

    let tools = set_up(tools, io).await;
    let mut server = Server::from_tools(tools.clone()).map_err(CommandError::failure)?;
    if !options.allow_host.is_empty() {
        server = server.allow_hosts(&options.allow_host);
    }
    if let Some(variable) = &options.token_env {
        let token = std::env::var(variable).map_err(|_| {
            CommandError::Usage(format!(
                "--token-env: expected a variable with the bearer token, got `{variable}`, which is not set"
            ))
        })?;
        server = server.bearer_token(token);
    }
    server = server.allow_anonymous(options.allow_anonymous);
    let outcome = match options.mcp {
        ServeTransport::Stdio => server.serve_stdio().await,
        ServeTransport::Http => match server.bind(options.address).await {
            Ok(bound) => {
                // A program that starts the server may wait for this line.
                io.note(&format!(
                    "listening on {}",
                    bound.url().unwrap_or_else(|_| options.address.to_string())
                ));
                bound.serve().await
            }
            Err(error) => {
                // The library names its settings.
                let flags = if error.kind() == io::ErrorKind::InvalidInput {
                    " (--allow-host NAME, --token-env VARIABLE, --allow-anonymous)"
                } else {
                    ""
                };
                return Err(CommandError::Failure(format!(
                    "{}: {error}{flags}",
                    options.address
                )));
            }
        },
    };
    tools.close().await;
    outcome.map_err(CommandError::failure)?;
    Ok(CommandStatus::Success)
}

#[cfg(not(feature = "mcp"))]
#[allow(
    clippy::unused_async,
    reason = "the signature is the same with the feature"
)]
pub(crate) async fn serve(
    _: ToolContext,
    _: &ServeOptions,
    _: &mut CommandIo<'_>,
) -> CommandResult {
    let message = "this program was built without MCP; enable the feature `mcp` of `tool-adapters` in its Cargo.toml";
    Err(CommandError::Usage(message.to_owned()))
}
