//! `serve`: the tools for other programs.

use super::arguments::Serve;
use super::status::Stop;
use super::{Io, Status};
use tool_core::ToolContext;

#[allow(clippy::unused_async)] // as with the feature
pub(super) async fn run(_: ToolContext, _: &Serve, _: &mut Io<'_>) -> Result<Status, Stop> {
    let message = "this binary was built without the Model Context Protocol; \
        turn on the feature `mcp` of `tool-adapters` in its Cargo.toml";
    Err(Stop::Usage(message.to_owned()))
}
