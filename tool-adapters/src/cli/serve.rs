//! `serve`: the tools for other programs.

use super::arguments::Serve;
use super::status::Stop;
use super::{Io, Status};
use tool_core::ToolContext;

#[cfg(feature = "mcp")]
pub(super) async fn run(tools: ToolContext, wanted: &Serve, io: &mut Io<'_>) -> Result<Status, Stop> {
    use super::arguments::Transport;
    use crate::mcp::Server;

    let tools = super::call::opened(tools, io).await;
    let mut server = Server::of_tools(tools.clone()).map_err(|problems| Stop::Refused(problems.to_string()))?;
    if !wanted.allow_host.is_empty() {
        server = server.allow_hosts(&wanted.allow_host);
    }
    let ended = match wanted.mcp {
        Transport::Stdio => server.serve_stdio().await,
        Transport::Http => match server.bind(wanted.address).await {
            Ok(bound) => {
                // Whoever started it may wait for this line; standard output stays free.
                io.remark(&format!("listening on {}", bound.url().unwrap_or_else(|_| wanted.address.to_string())));
                bound.serve().await
            }
            Err(error) => return Err(Stop::Refused(format!("{}: {error}", wanted.address))),
        },
    };
    tools.close().await;
    ended.map_err(|error| Stop::Refused(error.to_string()))?;
    Ok(Status::Done)
}

#[cfg(not(feature = "mcp"))]
#[allow(clippy::unused_async)] // as with the feature
pub(super) async fn run(_: ToolContext, _: &Serve, _: &mut Io<'_>) -> Result<Status, Stop> {
    let message = "this program was built without the Model Context Protocol; \
        turn on the feature `mcp` of `tool-adapters` in its Cargo.toml";
    Err(Stop::Usage(message.to_owned()))
}
