//! The arguments, as clap reads them.

use crate::providers::provider::Provider;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Tools for language models: list, declare, call, check and serve them.
#[derive(Parser)]
#[command(name = "tools", after_help = "Exit status: 0, 1 (refused), 2 (usage).")]
pub(crate) struct Cli {
    /// Print JSON, on a terminal too.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// Take these declarations instead of the linked tools: [{name, description, inputSchema}].
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) tools: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// List the tools.
    List,
    /// Print what a provider is told of the tools.
    Schema(Schema),
    /// Call a tool, and print the envelope of its answer.
    Call(Call),
    /// Print the manifest, or compare it with one that was written.
    Manifest(Manifest),
    /// Tell what providers refuse, lose and rename, and what the declarations cost.
    Check(Check),
    /// Serve the tools to other programs.
    Serve(Serve),
}

#[derive(Args)]
#[allow(clippy::struct_excessive_bools)] // each is a flag of its own
pub(crate) struct Schema {
    /// The provider.
    #[arg(long, value_name = "NAME", value_parser = provider())]
    pub(crate) provider: Provider,
    /// Declare tools strict where they can be.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Print {declarations, settings, report}.
    #[arg(long)]
    pub(crate) report: bool,
    /// Gemini: the model takes function tools and provider tools in one request.
    #[arg(long)]
    pub(crate) model_mixes: bool,
    /// Gemini Live: with any function tool, no provider tools.
    #[arg(long)]
    pub(crate) only_single_type: bool,
}

#[derive(Args)]
pub(crate) struct Call {
    /// The tool.
    #[arg(required_unless_present = "batch")]
    pub(crate) name: Option<String>,
    /// The arguments: JSON, @FILE, or - for standard input; none unless told.
    #[arg(long, value_name = "JSON", allow_hyphen_values = true, conflicts_with = "batch")]
    pub(crate) args: Option<String>,
    /// Make the calls of a file, or of standard input (-): lines of {name, arguments}.
    #[arg(long, value_name = "FILE", conflicts_with = "name")]
    pub(crate) batch: Option<PathBuf>,
    /// Agree to a call that waits for a person.
    #[arg(long)]
    pub(crate) approve: bool,
}

#[derive(Args)]
pub(crate) struct Manifest {
    /// Tell in what the tools differ from this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) check: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Check {
    /// Only this provider; several times for several. All unless told.
    #[arg(long, value_name = "NAME", value_parser = provider())]
    pub(crate) provider: Vec<Provider>,
    /// As they are declared with --strict.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Show, in the table, also what is only rewritten.
    #[arg(long)]
    pub(crate) notes: bool,
}

#[derive(Args)]
pub(crate) struct Serve {
    /// Over the Model Context Protocol, by this transport.
    #[arg(long, value_name = "TRANSPORT")]
    pub(crate) mcp: Transport,
    /// Where to listen, for http.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8000")]
    pub(crate) address: SocketAddr,
    /// For http: a name under which the server is reached, in place of the loopback ones; several times for several.
    #[arg(long, value_name = "NAME")]
    pub(crate) allow_host: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Transport {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

fn provider() -> impl TypedValueParser<Value = Provider> {
    PossibleValuesParser::new(Provider::ALL.map(Provider::name)).try_map(|name| name.parse::<Provider>())
}
