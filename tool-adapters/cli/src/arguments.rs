//! The arguments of the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::net::SocketAddr;
use std::path::PathBuf;
use tool_adapters_providers::Provider;

/// List, show, call, declare, lint and serve tools for language models.
#[derive(Parser)]
#[command(
    name = "tools",
    version,
    after_help = "Exit status: 0 (success), 1 (failure), 2 (usage)."
)]
pub(crate) struct Cli {
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Use the declarations in this file instead of the linked tools: [{name, description, inputSchema}].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,

    /// Leave out invalid declarations of the file, with a warning for each.
    #[arg(long, global = true)]
    pub(crate) skip_invalid: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the tools.
    List,
    /// Show a tool: its description, parameters, options and source.
    Show(ShowOptions),
    /// Print the declarations for a provider.
    Schema(SchemaOptions),
    /// Call a tool and print its result.
    Call(CallOptions),
    /// Print the manifest, or compare it with a file.
    Manifest(ManifestOptions),
    /// Report what providers refuse, drop and rename, and the size of the declarations.
    #[command(visible_alias = "check")]
    Lint(LintOptions),
    /// Serve the tools to other programs.
    Serve(ServeOptions),
    /// Serve a page that tries the tools in a browser.
    Inspect(InspectOptions),
    /// List the tools of an OpenAPI document, and the operations that are none. --json prints what
    /// --tools reads.
    #[command(name = "openapi")]
    OpenApi(OpenApiOptions),
    /// Print a script that completes commands, options and the names of tools in a shell.
    Completions(CompletionOptions),
}

#[derive(Args)]
pub(crate) struct ShowOptions {
    /// The tool.
    #[arg(index = 1)]
    pub(crate) name: String,
}

#[derive(Args)]
pub(crate) struct CompletionOptions {
    /// The shell.
    pub(crate) shell: Shell,
}

#[derive(Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag")]
pub(crate) struct SchemaOptions {
    /// The provider.
    #[arg(long, value_name = "NAME", value_parser = provider())]
    pub(crate) provider: Provider,
    /// Declare tools as strict where the provider allows it.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print {declarations, settings, report} as JSON.
    #[arg(long)]
    pub(crate) report: bool,
    /// Gemini: the model accepts function tools and provider tools in one request.
    #[arg(long)]
    pub(crate) model_mixes: bool,
    /// Gemini Live: leave out provider tools if there is a function tool.
    #[arg(long)]
    pub(crate) only_single_type: bool,
}

#[derive(Args)]
pub(crate) struct CallOptions {
    /// The tool.
    #[arg(index = 1, required_unless_present = "batch")]
    pub(crate) name: Option<String>,
    /// The arguments: text as it is, other values as JSON. KEY:=JSON is always JSON, and A.B=VALUE
    /// sets the member B of A.
    #[arg(index = 2, value_name = "KEY=VALUE", conflicts_with_all = ["args", "batch"])]
    pub(crate) pairs: Vec<String>,
    /// The arguments as one object: JSON, @FILE, or - for standard input. Defaults to no arguments.
    #[arg(
        long,
        value_name = "JSON",
        allow_hyphen_values = true,
        conflicts_with = "batch"
    )]
    pub(crate) args: Option<String>,
    /// Make the calls of a file, or of standard input (-): one {name, arguments} a line.
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    pub(crate) batch: Option<PathBuf>,
    /// Approve calls that need confirmation.
    #[arg(long)]
    pub(crate) approve: bool,
    /// The user data of the session, for tools that need it: JSON, or @FILE. The program decides
    /// what it reads.
    #[arg(long, value_name = "JSON")]
    pub(crate) user_data: Option<String>,
}

#[derive(Args)]
pub(crate) struct ManifestOptions {
    /// Report how the tools differ from this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) check: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct LintOptions {
    /// Lint for this provider. May be repeated. Defaults to all providers.
    #[arg(long, value_name = "NAME", value_parser = provider())]
    pub(crate) provider: Vec<Provider>,
    /// Lint the declarations of --strict.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show notes about rewritten schemas in the text.
    #[arg(long)]
    pub(crate) notes: bool,
}

#[derive(Args)]
pub(crate) struct ServeOptions {
    /// Serve the Model Context Protocol over this transport.
    #[arg(long, value_name = "TRANSPORT")]
    pub(crate) mcp: ServeTransport,
    /// The address to listen on, for http.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8000")]
    pub(crate) address: SocketAddr,
    /// A host name of the server in place of the loopback names, for http. May be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
    /// The environment variable with the bearer token that clients have to send, for http.
    #[arg(long, value_name = "VARIABLE")]
    pub(crate) token_env: Option<String>,
    /// Serve other machines without a token, for http.
    #[arg(long)]
    pub(crate) allow_anonymous: bool,
}

#[derive(Args)]
pub(crate) struct InspectOptions {
    /// The loopback address to listen on. Port 0 chooses a free one.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7411")]
    pub(crate) address: SocketAddr,
}

#[derive(Args)]
pub(crate) struct OpenApiOptions {
    /// The document, in JSON or YAML: a file, or a URL with http or https.
    #[arg(value_name = "FILE|URL")]
    pub(crate) document: String,
    /// The URL in place of the document's servers.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Keep this operation only: its operationId, or "GET /path". May be repeated.
    #[arg(long, value_name = "OPERATION")]
    pub(crate) only: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ServeTransport {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

fn provider() -> impl TypedValueParser<Value = Provider> {
    PossibleValuesParser::new(Provider::ALL.map(Provider::name))
        .try_map(|name| name.parse::<Provider>())
}
