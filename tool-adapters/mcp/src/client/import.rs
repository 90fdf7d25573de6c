//! The import of a server's tools as a toolset of raw function tools, and their calls.

use crate::client::address::ServerAddress;
use crate::client::answer::{Answer, MAX_TEXT, unreadable};
use crate::client::budget::SamplingBudget;
use crate::client::catalog::Catalog;
use crate::client::changes::ServerChanges;
use crate::client::credentials::{Credentials, parse_url};
use crate::client::declared::Declared;
use crate::client::error::{
    ImportError, TOO_MANY_REQUESTS, describe, has_expired, http_status, was_not_sent,
};
use crate::client::exchange::{Asked, Exchange, RunState};
use crate::client::names::{self, KEY};
use crate::client::offered_names::OfferedNames;
use crate::client::options::RemoteOptions;
use crate::client::pins::Pins;
use crate::client::quarantine::{QuarantineReason, QuarantinedTool};
use crate::client::remote::{DeclaredTool, RemoteServer, ServerConnection};
use crate::client::resource_tools::resource_tools;
use crate::client::rights::ServerRights;
use crate::client::tasks::is_lost;
use crate::original;
use rmcp::model::{
    self, CallToolRequestParams, ErrorCode, JsonObject, RequestParamsMeta, ServerResult,
};
use rmcp::service::ServiceError;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tool_adapters_http::debug_only;
use tool_adapters_providers::mcp::messages::with_hints;
use tool_core::arguments::SchemaChecker;
use tool_core::call::{LogLevel, Root};
use tool_core::schema::is_annotation;
use tool_core::text::truncate;
use tool_core::tool::{
    Completion, CompletionRequest, CompletionTarget, LifecycleFuture, Prompt, PromptMessage,
    Resource, ResourceContents, TextArguments,
};
use tool_core::{
    FunctionTool, RawTool, RegistryErrors, RunContext, Tool, ToolContext, ToolError, ToolOutput,
    Toolset, trace,
};
use zeroize::Zeroizing;

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
    credentials: Credentials,
    offer: Offer,
    has_name: bool,
    has_pins: bool,
    #[cfg(feature = "auth")]
    login: Option<crate::auth::OAuthLogin>,
}

/// The form in which tools, prompts and resources of a server are offered.
#[derive(Clone, Default)]
struct Offer {
    prefix: Option<String>,
    map: Option<Arc<MapTool>>,
    switched_off: Option<Arc<SwitchedOff>>,
    resources_as_tools: bool,
}

type MapTool = dyn Fn(FunctionTool) -> FunctionTool + Send + Sync;

/// Returns the setting that switches a tool off, by the name that its server gives it.
type SwitchedOff = dyn Fn(&str) -> Option<String> + Send + Sync;

impl McpClient {
    fn new(address: ServerAddress, name: String) -> Self {
        let (pins, timeout, credentials) =
            (Pins::memory(), Duration::from_secs(30), Arc::default());
        let rights = ServerRights::default();
        let tasks = HashSet::new();
        let options = RemoteOptions {
            name,
            pins,
            pinned_only: false,
            shows_pages: false,
            probe: false,
            timeout,
            baggage: true,
            credentials,
            tools_only: false,
            rights,
            log_level: None,
            tasks,
        };
        Self {
            address,
            options,
            credentials: Credentials::default(),
            offer: Offer::default(),
            has_name: false,
            has_pins: false,
            #[cfg(feature = "auth")]
            login: None,
        }
    }

    /// Starts the server as a child process, and connects over its standard input and output.
    ///
    /// The process gets the variables that are set on the command, and of this process's variables `HOME`, `LANG`,
    /// `LOGNAME`, `PATH`, `SHELL`, `TERM` and `USER` only, or their counterparts on Windows, so that the keys of this
    /// process do not reach it. [`env_from_parent`](Self::env_from_parent) names others. What it writes to its
    /// standard error is logged at `debug`. Keys belong into variables: all users of the machine can read the arguments of a
    /// process, so a warning is logged if one looks like a key.
    ///
    /// A process that has ended is started again by the next call, after at least 250 ms. One that
    /// ends 6 times without an answer to a call rests for a minute. A call that was under way is
    /// sent once more if its tool only reads or is idempotent by its own hints; the outcome of
    /// others is `UNKNOWN`. The process is stopped when the toolset is closed or dropped.
    ///
    /// On Unix it leads a process group, which ends with it. A Ctrl-C in a terminal reaches this
    /// program only: the server sees the end of its input, and is killed with its group if the
    /// program drops its runtime.
    pub fn command(command: Command) -> Self {
        let (name, _) = names::of_command(&command);
        Self::new(ServerAddress::Command(command, Vec::new()), name)
    }

    /// Passes these variables of this process on to the server's process, if they are set.
    ///
    /// ```
    /// use std::process::Command;
    /// use tool_adapters::mcp::McpClient;
    ///
    /// let github = McpClient::command(Command::new("github-mcp-server")).env_from_parent(["GITHUB_TOKEN"]);
    /// ```
    pub fn env_from_parent(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        if let ServerAddress::Command(_, from_parent) = &mut self.address {
            from_parent.extend(names.into_iter().map(Into::into));
        }
        self
    }

    /// Sets a variable of the server's process.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        if let ServerAddress::Command(command, _) = &mut self.address {
            command.env(name, value);
        }
        self
    }

    /// Connects to a server over streamable HTTP. A URL without a scheme is `https`, and `http` for
    /// loopback hosts. Redirects to another origin are not followed.
    pub fn url(url: impl Into<String>) -> Self {
        let url = url.into();
        let name =
            parse_url(&url).map_or_else(|_| "[invalid URL]".to_owned(), |url| names::of_url(&url));
        Self::new(ServerAddress::Url(url), name)
    }

    /// Allows requests with a key over `http` to other machines. By default they are refused,
    /// because anyone on the way can read the key.
    pub fn allow_unencrypted(mut self) -> Self {
        self.credentials.allow_unencrypted = true;
        self
    }

    /// Allows connections over HTTP to the hosts and addresses of a policy only, for a URL that the
    /// program does not choose itself, such as one that a user has entered. A name is checked when
    /// it is resolved, and the connection goes to the checked address. No proxy is used. The
    /// policy's limits of size and time are not used. By default every host is allowed.
    ///
    /// ```
    /// use tool_adapters::egress::EgressPolicy;
    /// use tool_adapters::mcp::McpClient;
    ///
    /// let policy = EgressPolicy::new().only_allowed().allow_host("mcp.example");
    /// let client = McpClient::url("https://mcp.example/mcp").egress(policy);
    /// ```
    pub fn egress(mut self, policy: tool_adapters_http::egress::EgressPolicy) -> Self {
        self.credentials.egress = Some(policy);
        self
    }

    /// Sends a header with each request over HTTP. Its value appears in no error, log or name, and
    /// is wiped from memory. If the name is one of a key, such as `X-Api-Key`, the value is masked
    /// in results too.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.credentials
            .headers
            .push((name.into(), Zeroizing::new(value.into())));
        self
    }

    /// Sends a bearer token with each request over HTTP.
    pub fn bearer(self, token: impl Into<String>) -> Self {
        let value = format!("Bearer {}", *Zeroizing::new(token.into()));
        self.header("authorization", value)
    }

    /// Sends the bearer token that a function returns. It is called for each request, so it should
    /// keep its token. If the server refuses a token with 401, the function is called once more,
    /// with that token, and has to return another. Requests at the same time share one call. The
    /// function runs in a task, for at most 30 s, and a panic is an error.
    ///
    /// ```
    /// use tool_adapters::mcp::McpClient;
    ///
    /// # async fn fetch_token() -> Result<String, std::io::Error> { Ok(String::new()) }
    /// let client = McpClient::url("https://mcp.example/mcp").bearer_from(|refused: Option<String>| async move {
    ///     if refused.is_some() {
    ///         // Drop the token that is kept.
    ///     }
    ///     fetch_token().await
    /// });
    /// ```
    pub fn bearer_from<F, T, E>(mut self, provide: F) -> Self
    where
        F: Fn(Option<String>) -> T + Send + Sync + 'static,
        T: Future<Output = Result<String, E>> + Send + 'static,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.credentials.tokens = Some(Arc::new(move |refused| {
            let provided = provide(refused);
            Box::pin(async move { provided.await.map_err(Into::into) })
        }));
        self
    }

    /// Logs in with OAuth 2.1 when the server needs it, over HTTP. See [`OAuthLogin`](crate::OAuthLogin).
    #[cfg(feature = "auth")]
    pub fn oauth(self, login: crate::auth::OAuthLogin) -> Self {
        Self {
            login: Some(login),
            ..self
        }
    }

    /// Connects to a server over two streams, such as the halves of a socket.
    pub fn streams<R, W>(name: impl Into<String>, input: R, output: W) -> Self
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        Self::new(
            ServerAddress::Streams(Some((Box::new(input), Box::new(output)))),
            name.into(),
        )
    }

    /// Sets the server's name, which is the id of the toolset and the key of its pins. Defaults to
    /// the command or the URL, in which arguments, values and segments that may be keys are masked.
    /// The name that the server gives itself is not used.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        (self.options.name, self.has_name) = (name.into(), true);
        self
    }

    /// Sets a prefix for the names of tools and prompts, followed by `_`, so that they do not clash
    /// with others. Resources keep their URIs.
    ///
    /// A name with spaces or with letters beyond ASCII gets `_` in their place, and one of more
    /// than 64 characters is cut and ends in a hash. Calls go to the server under its own name.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.offer.prefix = Some(prefix.into());
        self
    }

    /// Sets the pins against which declarations are checked. Defaults to pins in memory, which end
    /// with the connection. Needs a [`name`](Self::name) if parts of the default name are masked,
    /// as other servers could have it too.
    pub fn pins(mut self, pins: Pins) -> Self {
        (self.options.pins, self.has_pins) = (pins, true);
        self
    }

    /// Imports only tools that are already pinned. By default a tool is trusted and pinned at its
    /// first use.
    pub fn pinned_only(self) -> Self {
        Self {
            options: RemoteOptions {
                pinned_only: true,
                ..self.options
            },
            ..self
        }
    }

    /// Probes whether the server speaks revision 2026-07-28, and falls back to older revisions. By
    /// default the newest revision that begins with `initialize` is used.
    pub fn probe(self) -> Self {
        Self {
            options: RemoteOptions {
                probe: true,
                ..self.options
            },
            ..self
        }
    }

    /// Sets the time limit for connecting and for each call, in a session or outside. Defaults to
    /// 30 s. In a session
    /// [`map_tools`](Self::map_tools) can set another limit for a tool.
    pub fn timeout(self, limit: Duration) -> Self {
        Self {
            options: RemoteOptions {
                timeout: limit,
                ..self.options
            },
            ..self
        }
    }

    /// Does not send the `baggage` of the trace, which names the run and the customer. The parent
    /// span is still sent.
    pub fn without_baggage(self) -> Self {
        Self {
            options: RemoteOptions {
                baggage: false,
                ..self.options
            },
            ..self
        }
    }

    /// Allows the server to ask the user by forms (`elicitation/create`) while it is called. By
    /// default it is refused.
    ///
    /// The question goes to the session of the call, and the host's
    /// [`on_question`](tool_core::session::RuntimeBuilder::on_question) shows it. Its message begins with the server's name,
    /// and its form is checked and bounded ([`RawQuestion`](tool_core::call::RawQuestion)). The
    /// limits on questions are the policy's. A server that asks for passwords or keys breaks the
    /// protocol, and the user should decline.
    ///
    /// A request that does not tell to which of several calls in flight it belongs is refused. Over
    /// HTTP it does. A call that was given up counts until its answer comes, for 30 s at most.
    ///
    /// ```no_run
    /// use std::process::Command;
    /// use tool_adapters::mcp::McpClient;
    /// use tool_core::call::{Answer, Question};
    /// use tool_core::{Runtime, ToolContext};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let github = McpClient::command(Command::new("github-mcp-server")).allow_elicitation().connect().await?;
    /// let tools = ToolContext::builder().with(github).build()?;
    /// let runtime = Runtime::builder(tools).on_question(async |question: Question| {
    ///     println!("{}", question.message); // `github-mcp-server` asks: ..
    ///     Ok(Answer::Declined)
    /// });
    /// # Ok(())
    /// # }
    /// ```
    pub fn allow_elicitation(mut self) -> Self {
        self.options.rights.forms = true;
        self
    }

    /// Allows the server to send the user to a page, such as for signing in, while it is called. By
    /// default it is refused.
    ///
    /// The host's handler gets a [`Question`](tool_core::call::Question) with a `url`. The address
    /// is `https`, or on this machine, and its host is written in ASCII. A request that the server
    /// answers with the error -32042, because the user has to be on up to 8 pages before, is made
    /// again once after the user has agreed to all of them.
    pub fn allow_url_elicitation(mut self) -> Self {
        self.options.rights.urls = true;
        self
    }

    /// Sets the number of questions that the server may ask in a session, of both kinds. Defaults
    /// to 100. The policy bounds those of a call.
    pub fn max_questions(mut self, per_session: u32) -> Self {
        self.options.rights.questions = Some(per_session);
        self
    }

    /// Allows the server to ask the host's model (`sampling/createMessage`) while it is called,
    /// within a budget. By default it is refused, because the host pays for it, and the server's
    /// text may be made to mislead the model or the user.
    ///
    /// The request goes to the session of the call, and the host's
    /// [`on_sampling`](tool_core::session::RuntimeBuilder::on_sampling) answers it. It names the server in
    /// `asked_by`. Messages have at most 1 MiB. Tools of the server are refused,
    /// and so is context of other servers.
    ///
    /// ```no_run
    /// use tool_adapters::mcp::{McpClient, SamplingBudget};
    /// use tool_core::call::{SamplingAnswer, SamplingRequest};
    /// use tool_core::{Content, Runtime, ToolContext};
    ///
    /// # async fn ask_model(request: &SamplingRequest) -> String { String::new() }
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let writer = McpClient::url("https://writer.example/mcp");
    /// let writer = writer.allow_sampling(SamplingBudget::new(20, 50_000).per_call(2, 5_000)).connect().await?;
    /// let runtime = Runtime::builder(ToolContext::builder().with(writer).build()?)
    ///     .on_sampling(async |request: SamplingRequest| {
    ///         let text = ask_model(&request).await;
    ///         Ok(SamplingAnswer::new("small-1", [Content::text(text)]))
    ///     })
    ///     .build()?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn allow_sampling(mut self, budget: SamplingBudget) -> Self {
        self.options.rights.sampling = Some(budget);
        self
    }

    /// Sets the folders that the server learns by `roots/list`, as `file://` URIs. By default it
    /// learns none.
    ///
    /// ```
    /// use std::process::Command;
    /// use tool_adapters::mcp::McpClient;
    ///
    /// let files = McpClient::command(Command::new("files")).roots(["file:///home/ada/project"]);
    /// ```
    pub fn roots(mut self, uris: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.rights.roots = Some(uris.into_iter().map(Root::new).collect());
        self
    }

    /// Lets the server learn the folders of the session of a call, while it is called: those that
    /// the host's
    /// [`on_roots`](tool_core::session::RuntimeBuilder::on_roots) returns. [`roots`](Self::roots) come before them.
    pub fn session_roots(mut self) -> Self {
        self.options.rights.session_roots = true;
        self
    }

    /// Requests the server's log from this level on. By default the server decides.
    ///
    /// Messages of the server are logged with its name, 100 in 10 s, of 800 characters each. Those
    /// that come while one call is in flight go to the call's log too
    /// ([`RunContext::log`](tool_core::RunContext::log)).
    pub fn log_level(mut self, level: LogLevel) -> Self {
        self.options.log_level = Some(level);
        self
    }

    /// Imports no prompts and resources.
    pub fn tools_only(mut self) -> Self {
        self.options.tools_only = true;
        self
    }

    /// Adds the tools `list_resources` and `read_resource`, after the [prefix](Self::prefix), by
    /// which a model reads the resources of the server. They read what the server lists, and URIs
    /// that fit its templates. They are not added if the server has no resources, or has tools with
    /// these names.
    ///
    /// ```
    /// use std::process::Command;
    /// use tool_adapters::mcp::McpClient;
    ///
    /// let files = McpClient::command(Command::new("files")).prefix("files").resources_as_tools();
    /// // the model sees `files_list_resources` and `files_read_resource`
    /// ```
    pub fn resources_as_tools(mut self) -> Self {
        self.offer.resources_as_tools = true;
        self
    }

    /// Runs these tools as tasks if the server supports it (revision 2025-11-25), by the names that
    /// the server gives them. A task goes on when the connection is lost, and its state is
    /// requested over the next one. Tools that need a task always run as one.
    pub fn run_as_tasks(mut self, tools: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.tasks.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Sets a function that changes each tool before it is offered. A server's description of its
    /// tools is not verified, so the host can be stricter, such as by requiring confirmation.
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
    pub fn map_tools(
        mut self,
        map: impl Fn(FunctionTool) -> FunctionTool + Send + Sync + 'static,
    ) -> Self {
        self.offer.map = Some(Arc::new(map));
        self
    }

    /// Connects and imports the server's tools, prompts and resources. Those that differ from their
    /// pins or cannot be registered are [quarantined](ImportedToolset::quarantined).
    pub async fn connect(mut self) -> Result<ImportedToolset, ImportError> {
        if self.has_pins && !self.has_name && self.options.name.contains(KEY) {
            return Err(ImportError::Unnamed {
                name: self.options.name,
            });
        }
        #[cfg(feature = "auth")]
        if let Some(login) = self.login.take() {
            self.credentials.oauth = Some(self.address.tokens(login)?);
        }
        self.options.credentials = Arc::new(self.credentials);
        let credentials = Arc::clone(&self.options.credentials);
        let connected = RemoteServer::connect(self.address, self.options).await;
        let (remote, declared) = connected.map_err(|error| credentials.login_error(error))?;
        self.offer.toolset(remote, declared, None).await
    }
}

/// Items for the gateway, beside the public interface. They may change in a patch version.
#[doc(hidden)]
impl McpClient {
    /// Tells the server that its pages are shown (MCP Apps).
    pub fn show_pages(mut self) -> Self {
        self.options.shows_pages = true;
        self
    }

    /// Leaves out the tools for which a function returns the setting that switches them off.
    pub fn switch_off(
        mut self,
        setting: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.offer.switched_off = Some(Arc::new(setting));
        self
    }
}

debug_only!(McpClient, |this| name: this.options.name);

impl Offer {
    fn mapped(&self, tool: FunctionTool) -> Tool {
        Tool::Function(match &self.map {
            Some(map) => map(tool),
            None => tool,
        })
    }

    /// Makes the toolset of a server with these tools. `earlier` has the prompts and resources of
    /// the last import.
    async fn toolset(
        self,
        remote: Arc<RemoteServer>,
        declared: Vec<DeclaredTool>,
        earlier: Option<&Catalog>,
    ) -> Result<ImportedToolset, ImportError> {
        let prefix = self.prefix.as_deref();
        let mut tools = Vec::new();
        let declared = self.without_switched_off(&remote, declared);
        let names = OfferedNames::new(prefix, declared.iter().map(|declared| &*declared.item.name));
        for declared in declared {
            match import_tool(&remote, &declared, &names.offered(&declared.item.name)) {
                Ok(tool) => tools.push(self.mapped(tool)),
                Err(errors) => remote
                    .quarantine_invalid(&declared.item.name, QuarantineReason::Invalid(errors)),
            }
        }
        let catalog = match earlier {
            _ if remote.options.tools_only => Catalog::default(),
            Some(earlier) => Catalog::import_again(&remote, prefix, earlier).await?,
            None => Catalog::import(&remote, prefix).await?,
        };
        if self.resources_as_tools
            && !(catalog.resources.is_empty() && catalog.templates.is_empty())
        {
            for added in resource_tools(&remote, &catalog, prefix) {
                if !tools
                    .iter()
                    .any(|tool| matches!(tool, Tool::Function(tool) if tool.name() == added.name()))
                {
                    tools.push(self.mapped(added));
                }
            }
        }
        remote.quarantine.end_check(&remote.options.name);
        remote.users.fetch_add(1, Ordering::SeqCst);
        Ok(ImportedToolset {
            tools,
            names,
            catalog,
            remote,
            offer: self,
            is_closed: AtomicBool::new(false),
        })
    }

    /// Returns the tools that are not switched off.
    fn without_switched_off(
        &self,
        remote: &RemoteServer,
        declared: Vec<DeclaredTool>,
    ) -> Vec<DeclaredTool> {
        let Some(switched_off) = &self.switched_off else {
            return declared;
        };
        let mut left = Vec::new();
        for declared in declared {
            match switched_off(&declared.item.name) {
                Some(setting) => {
                    remote.quarantine_invalid(
                        &declared.item.name,
                        QuarantineReason::SwitchedOff(setting),
                    );
                }
                None => left.push(declared),
            }
        }
        left
    }
}

/// The tools, prompts and resources of a server. Their calls go to the server until the toolset is
/// closed.
///
/// All texts come from the server and are not trusted. A [`Server`](crate::Server) of this toolset
/// serves its prompts and resources again.
pub struct ImportedToolset {
    tools: Vec<Tool>,
    names: OfferedNames,
    catalog: Catalog,
    remote: Arc<RemoteServer>,
    offer: Offer,
    /// True once this toolset no longer uses the connection.
    is_closed: AtomicBool,
}

impl ImportedToolset {
    /// Imports again what the server lists now, over the same connection, such as after it has [changed](Self::changes) its list.
    /// Pins are checked as at the first import. If the server does not answer a request for its
    /// prompts or its resources, those of this toolset stay. The connection is closed with the last
    /// of its toolsets.
    ///
    /// Sessions that are opened after [`Runtime::update_tools`](tool_core::Runtime::update_tools) get the new toolset. Open ones
    /// keep theirs until they are [renewed](tool_core::session::SessionBuilder::renewed).
    ///
    /// ```no_run
    /// use std::sync::Arc;
    /// use tool_adapters::mcp::{McpClient, ServerChange};
    /// use tool_core::{Mode, Runtime, ToolContext};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut tracker = Arc::new(McpClient::url("https://tracker.example/mcp").connect().await?);
    /// let runtime = Runtime::builder(ToolContext::builder().with(Arc::clone(&tracker)).build()?).build()?;
    /// let mut session = runtime.session("s-1", Mode::Text).await?;
    /// let mut changes = tracker.changes();
    /// while let Some(change) = changes.next().await {
    ///     if let ServerChange::Tools | ServerChange::Missed = change {
    ///         tracker = Arc::new(tracker.import_again().await?);
    ///         runtime.update_tools(ToolContext::builder().with(Arc::clone(&tracker)).build()?)?;
    ///         session = runtime.session("s-1", Mode::Text).renewed().await?;
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`McpClient::connect`]. The toolset stays as it is then.
    pub async fn import_again(&self) -> Result<Self, ImportError> {
        let declared = self.remote.list_checked().await?;
        self.offer
            .clone()
            .toolset(Arc::clone(&self.remote), declared, Some(&self.catalog))
            .await
    }

    /// Returns true if this was the last toolset that uses the connection, the first time.
    fn end_use(&self) -> bool {
        !self.is_closed.swap(true, Ordering::SeqCst)
            && self.remote.users.fetch_sub(1, Ordering::SeqCst) == 1
    }

    /// Returns the prompts, under the names that they have in a [`ToolContext`](tool_core::ToolContext).
    pub fn prompts(&self) -> &[Prompt] {
        &self.catalog.prompts
    }

    /// Returns the resources that the server lists, at most 10,000.
    pub fn resources(&self) -> &[Resource] {
        &self.catalog.resources
    }

    /// Returns the templates of resources. Templates beyond RFC 6570's level 1 and `{+name}` are
    /// quarantined.
    pub fn resource_templates(&self) -> &[Resource] {
        &self.catalog.templates
    }

    /// Gets the messages of a prompt, by the name that the server gives it.
    ///
    /// ```no_run
    /// use tool_adapters::mcp::McpClient;
    /// use tool_core::tool::TextArguments;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let tracker = McpClient::url("https://tracker.example/mcp").connect().await?;
    /// let arguments = TextArguments::from([("issue".to_owned(), "7".to_owned())]);
    /// for message in tracker.get_prompt("triage", arguments).await? {
    ///     println!("{:?}: {:?}", message.role, message.content);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the server; `NOT_FOUND` if it no longer has the prompt, PERMANENT if the messages
    /// are over 4 MiB, TIMEOUT after
    /// [`McpClient::timeout`].
    pub async fn get_prompt(
        &self,
        name: &str,
        arguments: TextArguments,
    ) -> Result<Vec<PromptMessage>, ToolError> {
        self.remote
            .get_prompt(name, arguments, &RunContext::detached())
            .await
    }

    /// Reads a resource, which need not be listed.
    ///
    /// ```no_run
    /// use tool_adapters::mcp::McpClient;
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let tracker = McpClient::url("https://tracker.example/mcp").connect().await?;
    /// let contents = tracker.read_resource("issue://7").await?;
    /// println!("{:?}", contents[0].as_text());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Those of the server; `NOT_FOUND` for an unknown resource, PERMANENT if the contents are over
    /// 4 MiB, TIMEOUT after
    /// [`McpClient::timeout`].
    pub async fn read_resource(&self, uri: &str) -> Result<Vec<ResourceContents>, ToolError> {
        self.remote
            .read_resource(uri, &RunContext::detached())
            .await
    }

    /// Completes an argument of a prompt, by the name that the server gives it, or a variable of a
    /// template. At most 100 values are returned.
    ///
    /// # Errors
    ///
    /// Those of the server; TIMEOUT after [`McpClient::timeout`].
    pub async fn complete(
        &self,
        target: &CompletionTarget,
        request: CompletionRequest,
    ) -> Result<Completion, ToolError> {
        self.remote
            .complete(target, &request, &RunContext::detached())
            .await
    }

    /// Subscribes to a resource: its updates become [`changes`](Self::changes). A connection that
    /// is made again subscribes again, and reports a change, as updates may have been missed.
    ///
    /// # Errors
    ///
    /// Those of the server; PERMANENT if the URI has more than 2,000 bytes, or 1,000 others are
    /// subscribed to; TIMEOUT after
    /// [`McpClient::timeout`].
    pub async fn subscribe(&self, uri: &str) -> Result<(), ToolError> {
        self.remote.subscribe(uri).await
    }

    /// Ends the subscription to a resource.
    ///
    /// # Errors
    ///
    /// Those of the server; TIMEOUT after [`McpClient::timeout`].
    pub async fn unsubscribe(&self, uri: &str) -> Result<(), ToolError> {
        self.remote.unsubscribe(uri).await
    }

    /// Returns the tools that are not offered, or no longer offered, sorted by name. Of tools that
    /// were never offered, the first 1,000 are kept, and of added ones another 1,000. Prompts and
    /// resources are among them, as `prompt:NAME` and `resource:URI`.
    pub fn quarantined(&self) -> Vec<QuarantinedTool> {
        self.remote.quarantine.all()
    }

    /// Returns false while the connection is lost. The next call or [`refresh`](Self::refresh)
    /// makes it again.
    pub fn is_connected(&self) -> bool {
        !self.remote.is_lost()
    }

    /// Requests the server's lists again, and quarantines tools, prompts and resources that have
    /// changed. This happens automatically when the server notifies that a list has changed.
    pub async fn refresh(&self) -> Result<(), ImportError> {
        self.remote.refresh().await
    }

    /// Returns a receiver of the changes of which the server notifies from now on.
    ///
    /// ```no_run
    /// use tool_adapters::mcp::{McpClient, ServerChange};
    ///
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// let tracker = McpClient::url("https://tracker.example/mcp").connect().await?;
    /// let mut changes = tracker.changes();
    /// while let Some(change) = changes.next().await {
    ///     if let ServerChange::Tools = change {
    ///         // The tools that changed are quarantined. Import again to offer new ones.
    ///         eprintln!("{:?}", tracker.quarantined());
    ///     }
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn changes(&self) -> ServerChanges {
        self.remote.changes.subscribe()
    }
}

/// Items for the gateway, beside the public interface. They may change in a patch version.
#[doc(hidden)]
impl ImportedToolset {
    /// Takes out the resources to which the server has not subscribed again, as it has refused or
    /// not answered after the connection was lost.
    pub fn take_not_renewed(&self) -> BTreeSet<String> {
        self.remote.subscriptions.take_not_renewed()
    }

    /// Returns true if resources that the server does not list may be read.
    pub fn has_unlisted_resources(&self) -> bool {
        !self.remote.options.pinned_only && RemoteServer::has_resources(&self.remote.current())
    }

    /// Reads a resource that the server does not list, for a run.
    pub async fn read_unlisted(
        &self,
        uri: &str,
        ctx: &RunContext,
    ) -> Result<Vec<ResourceContents>, ToolError> {
        self.remote.read_resource(uri, ctx).await
    }

    /// Sets whether a call of a tool may be sent again after the connection was lost, if its server
    /// says that it may.
    pub fn set_resend(&self, tool: &str, is_resent: bool) {
        let tool = self.names.own_of_rest(tool);
        let mut once = self.remote.sent_once.lock();
        if is_resent {
            _ = once.remove(tool);
        } else {
            _ = once.insert(tool.to_owned());
        }
    }

    /// Returns the names under which tools and prompts are offered, as far as they differ from
    /// those that the server gives them by more than the prefix.
    pub fn renamed(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        self.names.renamed().chain(self.catalog.names.renamed())
    }

    /// Returns the key of a quarantined tool or prompt by the name that follows the prefix where it
    /// is offered.
    pub fn offered_key(&self, key: &str) -> String {
        match key.strip_prefix("prompt:") {
            Some(prompt) => format!("prompt:{}", self.catalog.names.rest_of(prompt)),
            None => self.names.rest_of(key).to_owned(),
        }
    }

    /// Returns the names that the server gives its tools.
    pub fn own_names(&self) -> Vec<String> {
        self.remote.own_names()
    }

    /// Returns the error of the login, while there is no token to send.
    #[cfg(feature = "auth")]
    pub fn login_failure(&self) -> Option<ImportError> {
        Some(
            self.remote
                .options
                .credentials
                .oauth
                .as_ref()?
                .missing()?
                .into(),
        )
    }
}

impl Toolset for ImportedToolset {
    fn id(&self) -> &str {
        &self.remote.options.name
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }

    fn prompts(self: Arc<Self>) -> Vec<Prompt> {
        self.catalog.prompts.clone()
    }

    fn resources(self: Arc<Self>) -> Vec<Resource> {
        self.catalog
            .resources
            .iter()
            .chain(&self.catalog.templates)
            .cloned()
            .collect()
    }

    fn close(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            if self.end_use() {
                self.remote.close().await;
            }
            Ok(())
        })
    }
}

impl Drop for ImportedToolset {
    fn drop(&mut self) {
        // The connection itself ends when its last tool is dropped.
        self.end_use();
    }
}

debug_only!(ImportedToolset, |this| name: this.remote.options.name, tools: this.tools);

/// The state of an imported tool.
struct RemoteTool {
    remote: Arc<RemoteServer>,
    /// The name that the server gives the tool.
    name: String,
    read_only: bool,
    /// True if a call may be sent twice.
    is_idempotent: bool,
    output: Option<SchemaChecker>,
}

/// Converts a declaration into a tool. Fails if it cannot be registered.
pub(crate) fn import_tool(
    remote: &Arc<RemoteServer>,
    declared: &Declared<model::Tool>,
    name: &str,
) -> Result<FunctionTool, RegistryErrors> {
    let Declared {
        item: declared,
        sent,
    } = declared;
    let annotations = declared.annotations.clone().unwrap_or_default();
    let raw = RawTool {
        name: name.to_owned(),
        description: declared
            .description
            .as_deref()
            .unwrap_or_default()
            .to_owned(),
        parameters: parameters(&declared.input_schema),
    };
    let state = RemoteTool {
        remote: Arc::clone(remote),
        name: declared.name.to_string(),
        read_only: annotations.read_only_hint == Some(true),
        is_idempotent: annotations.read_only_hint == Some(true) || annotations.is_idempotent(),
        output: declared.output_schema.as_ref().map(|schema| {
            SchemaChecker::new(&Value::Object((**schema).clone())).annotates_formats()
        }),
    };
    let handler = async |tool: &RemoteTool, arguments: Value, ctx: &RunContext| {
        tool.call(arguments, ctx).await
    };
    // A format describes the text. The server decides which texts it takes.
    let tool = FunctionTool::raw_output_with(raw, state, handler)
        .validate(true)
        .annotates_formats();
    let upstream = remote.options.name.as_str();
    let tool = tool.timeout(remote.options.timeout).upstream(upstream);
    let model::ToolAnnotations {
        read_only_hint,
        destructive_hint,
        idempotent_hint,
        open_world_hint,
        ..
    } = annotations;
    let mut tool = with_hints(
        &tool,
        [
            read_only_hint,
            destructive_hint,
            idempotent_hint,
            open_world_hint,
        ],
    );
    if let Some(title) = declared.title.as_ref().or(annotations.title.as_ref()) {
        tool = tool.title(title);
    }
    if let Some(output) = &declared.output_schema {
        // `Answer::into_output` checks results, and names the server.
        tool = tool
            .output_schema(Value::Object((**output).clone()))
            .checks_output();
    }
    tool = tool.declared(sent.clone());
    // Registered alone first, so that an invalid tool does not keep the others out.
    ToolContext::builder()
        .with(tool.clone())
        .build()
        .map(|_| tool)
}

/// Returns the schema of the arguments. A tool that takes none is declared like one of this
/// process, so that members which a model adds are ignored before the server sees them.
fn parameters(schema: &JsonObject) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    let has_none = schema
        .iter()
        .all(|(keyword, value)| match keyword.as_str() {
            "type" => value == "object",
            "properties" | "patternProperties" | "required" => is_empty(value),
            "additionalProperties" | "unevaluatedProperties" => *value == Value::Bool(false),
            keyword => is_annotation(keyword),
        });
    if has_none
        && (schema.contains_key("properties") || schema.contains_key("additionalProperties"))
    {
        return json!({"type": "object", "properties": {}});
    }
    Value::Object(schema.clone())
}

impl RemoteTool {
    /// Calls the tool, until the call's deadline or its cancellation.
    async fn call(&self, arguments: Value, ctx: &RunContext) -> Result<ToolOutput, ToolError> {
        let state = RunState::default();
        let exchange = Exchange {
            remote: &self.remote,
            ctx,
            state: &state,
        };
        let run = Box::pin(self.run(self.params(arguments), exchange));
        let called = exchange.within_limits(async { Ok(run.await) }).await;
        called.unwrap_or_else(|error| Err(error.partial_side_effects(!self.read_only)))
    }

    /// Returns the parameters of a call, with the trace that it belongs to.
    fn params(&self, arguments: Value) -> CallToolRequestParams {
        let mut params = CallToolRequestParams::new(self.name.clone());
        if let Value::Object(arguments) = arguments {
            params = params.with_arguments(arguments);
        }
        for (name, value) in trace::export().to_pairs() {
            if name != "baggage" || self.remote.options.baggage {
                params
                    .meta_or_default()
                    .insert(name.to_owned(), value.into());
            }
        }
        if let Some(level) = self.remote.options.log_level {
            params.meta_or_default().insert(
                "io.modelcontextprotocol/logLevel".to_owned(),
                level.as_str().into(),
            );
        }
        params
    }

    async fn run(
        &self,
        params: CallToolRequestParams,
        exchange: Exchange<'_>,
    ) -> Result<ToolOutput, ToolError> {
        let mut may_send_again = self.is_idempotent;
        let mut may_open_session = true;
        let (connection, answer) = loop {
            let (connection, answer) = Box::pin(self.send(&params, exchange)).await?;
            let has_not_begun = answer.as_ref().is_err_and(has_expired);
            if has_not_begun && std::mem::take(&mut may_open_session) {
                continue;
            }
            let is_limit = |error: &ServiceError| http_status(error) == Some(TOO_MANY_REQUESTS);
            let may_repeat =
                |error: &ServiceError| is_lost(error) && !is_limit(error) && !self.is_sent_once();
            if !std::mem::take(&mut may_send_again) || !answer.as_ref().is_err_and(may_repeat) {
                break (connection, answer);
            }
            // Once its process has ended, the connection is known to be lost.
            Box::pin(connection.status()).await;
        };
        let credentials = &self.remote.options.credentials;
        let result = match answer {
            Ok(result) => {
                original::text_of(result).ok_or_else(|| ServiceError::McpError(unreadable()))
            }
            Err(error) => Err(error),
        };
        let result = match result {
            Ok(result) => result,
            Err(error) => return Err(Box::pin(self.convert_error(error, &connection)).await),
        };
        let masked = credentials.redact_result(&result).ok();
        match masked
            .as_ref()
            .and_then(|(result, removed)| Answer::read(result, removed))
        {
            Some(answer) => answer.into_output(&self.remote.options.name, self.output.as_ref()),
            None => Err(Box::pin(
                self.convert_error(ServiceError::UnexpectedResponse, &connection),
            )
            .await),
        }
    }

    /// Sends the call over a connection that works, and returns both.
    async fn send(
        &self,
        params: &CallToolRequestParams,
        exchange: Exchange<'_>,
    ) -> Result<(Arc<ServerConnection>, Result<ServerResult, ServiceError>), ToolError> {
        // The list is checked again before a new connection is used.
        let connection = self.remote.connection().await?;
        self.remote.check_offered(&self.name, "tool", &self.name)?;
        if connection.is_lost() {
            return Err(ToolError::transient(
                "the connection to the tool's server is closed",
            ));
        }
        let answer = if self.remote.runs_as_task(&self.name) {
            Box::pin(exchange.run_task(&connection, params)).await
        } else {
            exchange.converse(&connection, Asked::Call(params)).await
        };
        Ok((
            connection,
            answer.map_err(|error| error.partial_side_effects(!self.read_only))?,
        ))
    }

    /// Returns true if the host says that no call is sent twice.
    fn is_sent_once(&self) -> bool {
        self.remote.sent_once.lock().contains(&self.name)
    }

    async fn convert_error(&self, error: ServiceError, connection: &ServerConnection) -> ToolError {
        let credentials = &self.remote.options.credentials;
        let error = match error {
            ServiceError::McpError(error) => {
                let may_be_removed =
                    [ErrorCode::METHOD_NOT_FOUND, ErrorCode::INVALID_PARAMS].contains(&error.code);
                if may_be_removed && self.remote.has_removed(connection, &self.name).await {
                    return self.remote.removed("tool", &self.name);
                }
                let message = credentials.redact(&error.message);
                return ToolError::permanent(truncate(&message, MAX_TEXT));
            }
            error if http_status(&error) == Some(TOO_MANY_REQUESTS) => {
                return ToolError::transient(
                    "the tool's server takes no more calls for now (HTTP 429)",
                );
            }
            error if has_expired(&error) => {
                return ToolError::transient(
                    "the tool's server does not know its session; the call did not begin",
                );
            }
            error if was_not_sent(&error) => {
                let error = credentials.display(&describe(&error));
                tracing::warn!(tool = %self.name.escape_debug(), %error, "failed to send a call to a server");
                return ToolError::transient(
                    "the call was not sent, as the tool's server or its token cannot be had for now",
                );
            }
            error if is_lost(&error) => {
                let failed = http_status(&error)
                    .map(|status| format!("the tool's server failed (HTTP {status})"));
                let status = connection
                    .status()
                    .await
                    .map(|status| format!(" ({status})"))
                    .unwrap_or_default();
                let error = credentials.display(&describe(&error));
                tracing::warn!(tool = %self.name.escape_debug(), %error, status, "lost the connection to a server");
                let once = self.is_sent_once();
                let effects = if self.read_only && !once {
                    ""
                } else {
                    "; the call may have had effects"
                };
                let lost = || format!("the connection to the tool's server is lost{status}");
                let message = format!("{}{effects}", failed.unwrap_or_else(lost));
                if self.is_idempotent && !once {
                    ToolError::transient(message)
                } else {
                    ToolError::unknown(message)
                }
            }
            error => {
                let error = credentials.display(&describe(&error));
                tracing::warn!(tool = %self.name.escape_debug(), %error, "failed to read the answer of a server");
                ToolError::permanent("the answer of the tool's server cannot be read")
            }
        };
        error.partial_side_effects(!self.read_only)
    }
}
