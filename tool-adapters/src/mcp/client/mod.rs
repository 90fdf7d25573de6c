//! A server's tools as tools of ours.
//!
//! - `source`: how the server is reached; `remote`: the connection, and what was found out about its tools
//! - `pins`: what each tool looked like when it was first trusted
//! - `tool`: one tool as a raw function tool; `request`: a call of it on its way; `result`: what it gives

mod pins;
mod remote;
mod tool;

pub use crate::mcp::client::pins::{PinError, Pins};

use crate::mcp::client::remote::{Listener, Remote, Rules};
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, RunningService};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};
use tokio::io::{AsyncRead, AsyncWrite};
use tool_core::tool::LifecycleFuture;
use tool_core::{FunctionTool, Tool, Toolset};

/// Says how a server is reached and how its tools are taken; [`connect`](Self::connect) does it.
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
/// for held in everything.quarantined() {
///     eprintln!("{held}");
/// }
/// let tools = ToolContext::builder().with(everything).build()?;
/// # Ok(())
/// # }
/// ```
#[must_use = "nothing is imported before `connect`"]
pub struct McpClient {
    source: Source,
    name: String,
    prefix: Option<String>,
    pins: Pins,
    locked: bool,
    probe: bool,
    timeout: Duration,
    baggage: bool,
    each: Option<Box<Each>>,
}

type Each = dyn Fn(FunctionTool) -> FunctionTool + Send + Sync;

impl McpClient {
    fn of(source: Source, name: String) -> Self {
        let (pins, timeout) = (Pins::memory(), Duration::from_secs(30));
        Self { source, name, prefix: None, pins, locked: false, probe: false, timeout, baggage: true, each: None }
    }

    /// A server that is started here and spoken to over its standard input and output.
    pub fn command(command: Command) -> Self {
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let name = words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ");
        Self::of(Source::Command(command), name)
    }

    /// A server over streamable HTTP.
    pub fn url(url: impl Into<String>) -> Self {
        let url = url.into();
        Self::of(Source::Url(url.clone()), url)
    }

    /// A server at the other end of two streams, such as a socket's halves.
    pub fn streams<R, W>(name: impl Into<String>, from: R, to: W) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::of(Source::Streams(Box::new(from), Box::new(to)), name.into())
    }

    /// What the server is called here: the toolset's id, and the name under which its tools are pinned. The command or
    /// the URL unless told; never what the server calls itself.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Puts a prefix and `_` before each tool's name, so that it shadows no other.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// What the tools looked like when they were first trusted. Without it this is remembered only as long as the
    /// connection.
    pub fn pins(mut self, pins: Pins) -> Self {
        self.pins = pins;
        self
    }

    /// Takes only tools that are pinned already: the first use of another one is not trusted.
    pub fn locked(mut self) -> Self {
        self.locked = true;
        self
    }

    /// Asks the server first whether it speaks revision 2026-07-28, and falls back to older ones. Without this, or
    /// where it does not, the newest revision that begins with `initialize` is spoken.
    pub fn probe(mut self) -> Self {
        self.probe = true;
        self
    }

    /// How long a call, and connecting, may take; 30 s unless told.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Keeps from the server for which run and which customer a call is made: the `baggage` of the trace. Which span it
    /// belongs to, the server is told.
    pub fn without_baggage(mut self) -> Self {
        self.baggage = false;
        self
    }

    /// Changes each tool before it is offered. What a server says of its tools is a claim: here the host has its say,
    /// such as that a person is asked before some of them run.
    ///
    /// ```
    /// use tool_adapters::mcp::McpClient;
    /// use tool_core::Category;
    /// use tool_core::tool::Confirm;
    ///
    /// let import = McpClient::url("http://127.0.0.1:8931/mcp").each(|tool| match tool.definition().category() {
    ///     Category::Retrieval => tool,
    ///     _ => tool.confirm(Confirm::Always),
    /// });
    /// ```
    pub fn each(mut self, change: impl Fn(FunctionTool) -> FunctionTool + Send + Sync + 'static) -> Self {
        self.each = Some(Box::new(change));
        self
    }

    /// Connects and takes the server's tools. Those that cannot be trusted are left out, and told.
    pub async fn connect(self) -> Result<Imported, ImportError> {
        let Self { name, pins, locked, timeout, baggage, .. } = self;
        let transport = self.source.transport();
        let rules = Rules { name, pins, locked, timeout, baggage, transport };
        let (remote, found) = Remote::connect(self.source, rules, self.probe).await?;
        let mut tools = Vec::new();
        for declared in found {
            match tool::made(&remote, &declared, self.prefix.as_deref()) {
                Ok(tool) => {
                    let tool = self.each.as_ref().map_or_else(|| tool.clone(), |change| change(tool.clone()));
                    tools.push(Tool::Function(tool));
                }
                Err(why) => remote.hold(&declared.name, QuarantineReason::Unusable(why)),
            }
        }
        Ok(Imported { tools, remote })
    }
}

/// A server's tools, as a toolset. They call the server for as long as it is not closed.
pub struct Imported {
    tools: Vec<Tool>,
    remote: Arc<Remote>,
}

/// A tool of the server that is not offered, or not any more.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Quarantined {
    /// The tool, as the server calls it.
    pub tool: String,
    /// Why.
    pub why: QuarantineReason,
}

/// Why a tool is not offered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum QuarantineReason {
    /// It is not what it was when it was first trusted: in these members of its declaration.
    Changed(Vec<&'static str>),
    /// It is not pinned, and only those that are pinned are taken.
    NotPinned,
    /// It appeared after the import: import again to have it.
    New,
    /// The server lists it twice.
    Twice,
    /// It cannot be a tool here.
    Unusable(String),
}

impl fmt::Display for Quarantined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = self.tool.escape_debug();
        match &self.why {
            QuarantineReason::Changed(members) => write!(
                f,
                "`{tool}` has changed since it was trusted, in {}: read it, and forget its pin to trust it again",
                members.join(", ")
            ),
            QuarantineReason::NotPinned => write!(f, "`{tool}` is not pinned, and only pinned tools are taken"),
            QuarantineReason::New => write!(f, "`{tool}` appeared after the import; import again to have it"),
            QuarantineReason::Twice => write!(f, "`{tool}` is listed twice"),
            QuarantineReason::Unusable(why) => write!(f, "`{tool}` cannot be a tool here: {why}"),
        }
    }
}

impl Imported {
    /// The tools that are not offered, or not any more, and why; by name.
    pub fn quarantined(&self) -> Vec<Quarantined> {
        self.remote.held()
    }

    /// Asks the server for its list again, and quarantines what has changed. This happens by itself when the server
    /// tells that its list has changed.
    pub async fn refresh(&self) -> Result<(), ImportError> {
        self.remote.refresh().await
    }
}

impl Toolset for Imported {
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

impl fmt::Debug for Imported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Imported")
            .field("name", &self.remote.name())
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}

// ---- How a server is reached.

pub(crate) enum Source {
    Command(Command),
    Url(String),
    Streams(Box<dyn AsyncRead + Send + Unpin>, Box<dyn AsyncWrite + Send + Unpin>),
}

/// Why a server's tools could not be imported.
#[derive(Debug)]
#[non_exhaustive]
pub enum ImportError {
    /// The process could not be started.
    Start(io::Error),
    /// The server does not answer as the protocol has it.
    Protocol(String),
    /// It does not answer in time.
    Timeout,
    /// It lists more tools than anybody has, or its list has no end.
    Endless,
    /// What was trusted could not be written down.
    Pins(pins::PinError),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Start(error) => write!(f, "the server could not be started: {error}"),
            Self::Protocol(error) => write!(f, "the server does not speak the protocol: {error}"),
            Self::Timeout => f.write_str("the server did not answer in time"),
            Self::Endless => f.write_str("the server's list of tools has no end"),
            Self::Pins(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ImportError {}

impl Source {
    /// What carries the messages, in OpenTelemetry's words.
    pub(crate) fn transport(&self) -> Option<&'static str> {
        match self {
            Self::Command(_) => Some("pipe"),
            Self::Url(_) => Some("tcp"),
            Self::Streams(..) => None,
        }
    }

    pub(crate) async fn connect(
        self,
        listener: Listener,
        probe: bool,
    ) -> Result<RunningService<RoleClient, Listener>, ImportError> {
        let lifecycle = if probe {
            ClientLifecycleMode::Auto { preferred_versions: vec![ProtocolVersion::LATEST], legacy_version: None }
        } else {
            ClientLifecycleMode::Initialize
        };
        let connected = match self {
            Self::Command(command) => {
                let child =
                    TokioChildProcess::new(tokio::process::Command::from(command)).map_err(ImportError::Start)?;
                listener.serve_with_lifecycle(child, lifecycle).await
            }
            Self::Url(url) => {
                listener.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), lifecycle).await
            }
            Self::Streams(from, to) => listener.serve_with_lifecycle((from, to), lifecycle).await,
        };
        connected.map_err(|error: ClientInitializeError| ImportError::Protocol(error.to_string()))
    }
}
