//! The import of a server's tools as a toolset.

use crate::mcp::client::pins::Pins;
use crate::mcp::client::remote::{
    ImportError, QuarantineReason, QuarantinedTool, RemoteOptions, RemoteServer, ServerAddress,
};
use crate::mcp::client::tool::import_tool;
use std::fmt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tool_core::tool::LifecycleFuture;
use tool_core::{FunctionTool, Tool, Toolset};

/// A builder that connects to a server and imports its tools.
///
/// ```no_run
/// use std::process::Command;
/// use tool_adapters::mcp::{McpClient, Pins};
/// use tool_core::ToolContext;
///
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let mut command = Command::new("npx");
/// command.args(["-y", "@modelcontextprotocol/server-everything"]);
/// let everything = McpClient::command(command).prefix("everything").pins(Pins::file("mcp.pins.json")?).connect().await?;
/// for tool in everything.quarantined() {
///     eprintln!("{tool}");
/// }
/// let tools = ToolContext::builder().with(everything).build()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is imported before `connect`"]
pub struct McpClient {
    address: ServerAddress,
    options: RemoteOptions,
    prefix: Option<String>,
    map: Option<Box<MapTool>>,
}

type MapTool = dyn Fn(FunctionTool) -> FunctionTool + Send + Sync;

impl McpClient {
    fn new(address: ServerAddress, name: String) -> Self {
        let (pins, timeout) = (Pins::memory(), Duration::from_secs(30));
        let options = RemoteOptions { name, pins, pinned_only: false, probe: false, timeout, baggage: true };
        Self { address, options, prefix: None, map: None }
    }

    /// Starts the server as a child process, and connects over its standard input and output.
    pub fn command(command: Command) -> Self {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let name = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        Self::new(ServerAddress::Command(command), name)
    }

    /// Connects to a server over streamable HTTP.
    pub fn url(url: impl Into<String>) -> Self {
        let url = url.into();
        Self::new(ServerAddress::Url(url.clone()), url)
    }

    /// Connects to a server over two streams, such as the halves of a socket.
    pub fn streams<R, W>(name: impl Into<String>, input: R, output: W) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::new(ServerAddress::Streams(Box::new(input), Box::new(output)), name.into())
    }

    /// Sets the server's name, which is the id of the toolset and the key of its pins. Defaults to the command or the
    /// URL. The name that the server gives itself is not used.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.options.name = name.into();
        self
    }

    /// Sets a prefix for the tools' names, followed by `_`, so that they do not clash with other tools.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Sets the pins against which declarations are checked. Defaults to pins in memory, which end with the connection.
    pub fn pins(mut self, pins: Pins) -> Self {
        self.options.pins = pins;
        self
    }

    /// Imports only tools that are already pinned. By default a tool is trusted and pinned at its first use.
    pub fn pinned_only(mut self) -> Self {
        self.options.pinned_only = true;
        self
    }

    /// Probes whether the server speaks revision 2026-07-28, and falls back to older revisions. By default the newest
    /// revision that begins with `initialize` is used.
    pub fn probe(mut self) -> Self {
        self.options.probe = true;
        self
    }

    /// Sets the time limit for connecting and for each call. Defaults to 30 s.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.options.timeout = limit;
        self
    }

    /// Does not send the `baggage` of the trace, which names the run and the customer. The parent span is still sent.
    pub fn without_baggage(mut self) -> Self {
        self.options.baggage = false;
        self
    }

    /// Sets a function that changes each tool before it is offered. A server's description of its tools is not
    /// verified, so the host can be stricter, such as by requiring confirmation.
    ///
    /// ```
    /// use tool_adapters::mcp::McpClient;
    /// use tool_core::Category;
    /// use tool_core::tool::Confirm;
    ///
    /// let client = McpClient::url("http://127.0.0.1:8931/mcp").map_tools(|tool| match tool.definition().category() {
    ///     Category::Retrieval => tool,
    ///     _ => tool.confirm(Confirm::Always),
    /// });
    /// ```
    pub fn map_tools(mut self, map: impl Fn(FunctionTool) -> FunctionTool + Send + Sync + 'static) -> Self {
        self.map = Some(Box::new(map));
        self
    }

    /// Connects and imports the server's tools. Tools that differ from their pins or cannot be registered are
    /// [quarantined](ImportedToolset::quarantined).
    pub async fn connect(self) -> Result<ImportedToolset, ImportError> {
        let (remote, declared) = RemoteServer::connect(self.address, self.options).await?;
        let mut tools = Vec::new();
        for declared in declared {
            match import_tool(&remote, &declared, self.prefix.as_deref()) {
                Ok(tool) => tools.push(Tool::Function(match &self.map {
                    Some(map) => map(tool),
                    None => tool,
                })),
                Err(errors) => remote.quarantine(&declared.name, QuarantineReason::Invalid(errors)),
            }
        }
        Ok(ImportedToolset { tools, remote })
    }
}

/// The tools of a server. Their calls go to the server until the toolset is closed.
pub struct ImportedToolset {
    tools: Vec<Tool>,
    remote: Arc<RemoteServer>,
}

impl ImportedToolset {
    /// Returns the tools that are not offered, or no longer offered, sorted by name.
    pub fn quarantined(&self) -> Vec<QuarantinedTool> {
        self.remote.all_quarantined()
    }

    /// Requests the server's list again, and quarantines tools that have changed. This happens automatically when the
    /// server notifies that its list has changed.
    pub async fn refresh(&self) -> Result<(), ImportError> {
        self.remote.refresh().await
    }
}

impl Toolset for ImportedToolset {
    fn id(&self) -> &str {
        self.remote.name()
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }

    fn close(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            self.remote.close().await;
            Ok(())
        })
    }
}

impl fmt::Debug for ImportedToolset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportedToolset")
            .field("name", &self.remote.name())
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
