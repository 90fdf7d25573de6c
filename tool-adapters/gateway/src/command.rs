//! The command line of `tool-gateway`.

use crate::config::Input;
use crate::files::{GatewayError, GatewayFiles, Settings, describe_pins};
use crate::governed::offer;
use crate::log::StderrLog;
use crate::policy::GatewayPolicy;
use crate::running::Gateway;
use crate::stop_signals::StopSignals;
use crate::upstream::{Health, PinSource, Route, Upstream};
use clap::{Parser, ValueEnum};
use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tool_adapters_mcp::{ChangeNotifier, PinError, Pins, messages};
use tool_core::Toolset;
use tool_core::session::DrainReport;
use tool_core::text::{escape_invisible, truncate};
use tracing::level_filters::LevelFilter;

/// Put budgets, approvals, loop detection, pins, audit and traces in front of MCP servers.
#[derive(Parser)]
#[command(
    name = "tool-gateway",
    version,
    after_help = "Without --http, the gateway serves one client over standard input and output.\n\
                  SIGTERM and Ctrl-C let running calls finish; a second one ends the gateway at once.\n\
                  Exit status: 0 (success), 1 (failure), 2 (usage, or a problem of a file)."
)]
struct Arguments {
    /// The servers, as MCP clients keep them: {"mcpServers": {..}} or {"servers": {..}}, with
    /// comments.
    #[arg(
        long,
        value_name = "FILE",
        default_value = "mcp.json",
        env = "TOOL_GATEWAY_CONFIG"
    )]
    config: PathBuf,

    /// The policies, in TOML.
    #[arg(long, value_name = "FILE", env = "TOOL_GATEWAY_POLICY")]
    policy: Option<PathBuf>,

    /// Serve over HTTP. The address defaults to `http.listen` of the policy, or 127.0.0.1:8080.
    #[allow(
        clippy::option_option,
        reason = "an option whose value may be left out"
    )]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1)]
    http: Option<Option<SocketAddr>>,

    /// Check the files and the address of `--http`, connect to each server once, print the tools
    /// and what holds for them, and exit.
    #[arg(long)]
    check: bool,

    /// Create the file of `pins.file`, and exit. The next start pins all tools.
    #[arg(long, conflicts_with_all = ["http", "check"])]
    create_pins: bool,

    /// Forget the pin of a tool, after a review of its change, and exit. The next connection pins
    /// it again.
    #[arg(long, value_name = "SERVER/TOOL", conflicts_with_all = ["http", "check", "create_pins"])]
    forget_pin: Option<String>,

    /// Sign in at a server that has `oauth` in the policy, keep its tokens, and exit.
    #[arg(long, value_name = "SERVER", conflicts_with_all = ["http", "check", "create_pins", "forget_pin"])]
    login: Option<String>,

    /// The level of the log on standard error.
    #[arg(
        long,
        value_name = "LEVEL",
        default_value = "info",
        env = "TOOL_GATEWAY_LOG"
    )]
    log: LogLevel,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
}

impl From<LogLevel> for LevelFilter {
    fn from(level: LogLevel) -> Self {
        match level {
            LogLevel::Error => Self::ERROR,
            LogLevel::Warn => Self::WARN,
            LogLevel::Info => Self::INFO,
            LogLevel::Debug => Self::DEBUG,
        }
    }
}

/// Runs the command line of `tool-gateway`. Meant as the `main` of a binary.
///
/// ```no_run
/// use std::process::ExitCode;
///
/// fn main() -> ExitCode {
///     tool_adapters::gateway::main()
/// }
/// ```
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if tracing::subscriber::set_global_default(StderrLog::new(arguments.log.into())).is_err() {
        eprintln!("warning: another log is set already");
    }
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: failed to start the async runtime: {error}");
            return ExitCode::FAILURE;
        }
    };
    let outcome = runtime.block_on(run(&arguments));
    // Processes of servers end with their tasks. A read of standard input does not delay the exit.
    runtime.shutdown_timeout(Duration::from_millis(100));
    match outcome {
        Ok(code) => code,
        Err(Failure::Files(problems)) => {
            eprintln!("{problems}");
            ExitCode::from(2)
        }
        Err(Failure::Other(error)) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

enum Failure {
    Files(String),
    Other(String),
}

impl From<GatewayError> for Failure {
    fn from(error: GatewayError) -> Self {
        match error {
            GatewayError::Invalid(problems) => Self::Files(
                problems
                    .iter()
                    .map(|problem| format!("error: {problem}"))
                    .collect::<Vec<_>>()
                    .join("\n"),
            ),
            GatewayError::Start(error) => Self::Other(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Other(error.to_string())
    }
}

/// Returns a runtime with a thread for every second core, as servers on the same machine work too.
/// `TOKIO_WORKER_THREADS` sets another number.
fn runtime() -> io::Result<Runtime> {
    let mut builder = Builder::new_multi_thread();
    if env::var_os("TOKIO_WORKER_THREADS").is_none() {
        builder.worker_threads(available_parallelism().map_or(1, |cores| cores.get().div_ceil(2)));
    }
    builder.enable_all().build()
}

/// Warns of names that the servers' file switches on or off, and that the server does not have.
fn unused_choices(upstream: &Upstream) -> String {
    let Some(toolset) = upstream.toolset() else {
        return String::new();
    };
    let mut text = String::new();
    let entry = &upstream.route.entry;
    for (member, pattern) in entry.tools.unused(&toolset.own_names()) {
        let [name, pattern] = [&entry.name, pattern].map(escape_invisible);
        _ = writeln!(
            text,
            "warning: `{member}` of `{name}` names `{pattern}`, which matches no tool of the server"
        );
    }
    text
}

/// Asks a person on the terminal for an input.
fn ask(input: &Input) -> io::Result<String> {
    let [description, options] = [&input.description, &input.options.join(", ")]
        .map(|text| truncate(&escape_invisible(text), 500));
    let choice = if options.is_empty() {
        String::new()
    } else {
        format!(" ({options})")
    };
    let default = input
        .default
        .as_deref()
        .map(|default| format!(" [{}]", escape_invisible(default)));
    let prompt = format!("{description}{choice}{}: ", default.unwrap_or_default());
    loop {
        let answer = if input.is_password {
            rpassword::prompt_password(&prompt)?
        } else {
            eprint!("{prompt}");
            let mut line = String::new();
            if io::stdin().read_line(&mut line)? == 0 {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            line.trim_end_matches(['\n', '\r']).to_owned()
        };
        let answer = match &input.default {
            Some(default) if answer.is_empty() => default.clone(),
            _ => answer,
        };
        if input.options.is_empty() || input.options.contains(&answer) {
            return Ok(answer);
        }
        eprintln!("expected one of {options}");
    }
}

async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let files = GatewayFiles {
        config: arguments.config.clone(),
        policy: arguments.policy.clone(),
    };
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        files.ask_inputs(ask).await?;
    }
    let address = arguments.http.flatten();
    let mut signals = StopSignals::listen()?;
    if let Some(server) = &arguments.login {
        return until(
            &mut signals,
            Box::pin(log_in(files.settings(None).await?, server)),
        )
        .await;
    }
    if arguments.check || arguments.create_pins || arguments.forget_pin.is_some() {
        let settings = files.settings(address).await?;
        return match &arguments.forget_pin {
            Some(pin) => forget_pin(&settings.policy, pin),
            None if arguments.create_pins => create_pins(&settings.policy),
            None => until(&mut signals, check(settings)).await,
        };
    }
    let gateway = until(&mut signals, async {
        Ok(Gateway::open_at(files, address).await?)
    })
    .await?;
    let served = serve(&gateway, arguments.http, &mut signals).await;
    // Closed a second time after a drain, which does nothing.
    until(&mut signals, async {
        gateway.close().await;
        Ok(())
    })
    .await?;
    served?;
    Ok(ExitCode::SUCCESS)
}

#[allow(
    clippy::option_option,
    reason = "an option whose value may be left out"
)]
async fn serve(
    gateway: &Gateway,
    http: Option<Option<SocketAddr>>,
    signals: &mut StopSignals,
) -> Result<(), Failure> {
    if let Some(admin) = gateway
        .bind_admin()
        .await
        .map_err(|error| Failure::Other(format!("admin.listen: {error}")))?
    {
        tokio::spawn(admin.serve());
    }
    tokio::spawn(reload_on_hangup(gateway.clone()));
    let Some(address) = http else {
        return serve_until(gateway.serve_stdio(), signals, gateway).await;
    };
    let address = address.unwrap_or(gateway.0.started.http.listen.0);
    let bound = gateway
        .bind(address)
        .await
        .map_err(|error| Failure::Other(format!("{address}: {error}")))?;
    // A program that starts the gateway may wait for this line.
    eprintln!("listening on {}", bound.url()?);
    serve_until(bound.serve(), signals, gateway).await
}

/// Serves until a signal, and then until the running calls have finished. A second signal ends it at
/// once.
async fn serve_until(
    serving: impl Future<Output = io::Result<()>>,
    signals: &mut StopSignals,
    gateway: &Gateway,
) -> Result<(), Failure> {
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        served = &mut serving => return Ok(served?),
        () = signals.next() => {}
    }
    tracing::info!("ending after the running calls; send the signal again to end at once");
    let drained = async {
        tokio::select! {
            // A client over the standard streams has gone.
            served = &mut serving => return Ok(served?),
            report = gateway.drain() => log_unfinished(&report),
        }
        let (served, ()) = tokio::join!(serving, gateway.close());
        Ok(served?)
    };
    until(signals, drained).await
}

fn log_unfinished(report: &DrainReport) {
    for call in &report.calls {
        tracing::warn!(
            session = %call.session.as_str().escape_debug(),
            call = %call.call_id.escape_debug(),
            tool = %call.tool.escape_debug(),
            "cancelled a call that did not finish in `limits.drain`"
        );
    }
}

/// Runs until it is done, or a signal comes. The processes of servers are not in this process's
/// group, and get no signal.
async fn until<T>(
    signals: &mut StopSignals,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        () = signals.next() => Err(Failure::Other("interrupted".to_owned())),
        done = work => done,
    }
}

/// Reloads the files, and opens the audit log again, at each `SIGHUP`.
#[cfg(unix)]
async fn reload_on_hangup(gateway: Gateway) {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut hangups) = signal(SignalKind::hangup()) else {
        return;
    };
    while hangups.recv().await.is_some() {
        gateway.reopen_audit();
        let gateway = gateway.clone();
        // Beside the next signal, for which the audit log is opened at once. A problem is logged.
        tokio::spawn(async move { gateway.reload().await });
    }
}

#[cfg(not(unix))]
async fn reload_on_hangup(_: Gateway) {}

fn pins_file(policy: &GatewayPolicy) -> Result<&PathBuf, Failure> {
    policy
        .pins()
        .ok_or_else(|| Failure::Other("expected a policy with `pins.file`".to_owned()))
}

fn create_pins(policy: &GatewayPolicy) -> Result<ExitCode, Failure> {
    let file = pins_file(policy)?;
    Pins::create(file).map_err(|error| Failure::Other(error.to_string()))?;
    println!("created {}", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Forgets a pin that is named `SERVER/TOOL`. The names of both may have slashes.
fn forget_pin(policy: &GatewayPolicy, pin: &str) -> Result<ExitCode, Failure> {
    let shown = escape_invisible(pin);
    if !pin.contains('/') {
        return Err(Failure::Other(format!(
            "expected SERVER/TOOL, got `{shown}`"
        )));
    }
    let file = pins_file(policy)?;
    let describe = |error: PinError| Failure::Other(describe_pins(&error));
    // The copy tells which servers and tools there are.
    let copy = Pins::copy(file).map_err(describe)?;
    let mut pinned = Vec::new();
    for (at, slash) in pin.match_indices('/') {
        let server = pin.get(..at).unwrap_or_default();
        let tool = pin.get(at + slash.len()..).unwrap_or_default();
        if copy.forget(server, tool).map_err(describe)? {
            pinned.push((server, tool));
        }
    }
    let (server, tool) = match *pinned {
        [pinned] => pinned,
        [] => return Err(Failure::Other(format!("no tool is pinned as `{shown}`"))),
        _ => {
            let named = pinned.iter().map(|(server, tool)| {
                format!(
                    "`{}` of `{}`",
                    escape_invisible(tool),
                    escape_invisible(server)
                )
            });
            let named = named.collect::<Vec<_>>().join(" and ");
            return Err(Failure::Other(format!(
                "`{shown}` is {named}; remove the pin that you mean from {}",
                file.display()
            )));
        }
    };
    let pins = Pins::file(file).map_err(describe)?;
    pins.forget(server, tool).map_err(describe)?;
    println!("forgot the pin of {shown}");
    Ok(ExitCode::SUCCESS)
}

/// Asks a person to sign in at a server, and keeps the tokens.
async fn log_in(settings: Settings, server: &str) -> Result<ExitCode, Failure> {
    let policy = settings.policy;
    let mut routes = settings
        .servers
        .into_iter()
        .map(|entry| Route::new(entry, &policy));
    let route = routes.find(|route| route.entry.name == server);
    let name = escape_invisible(server);
    let login = route.and_then(|mut route| route.rule.oauth.take().map(|login| (route, login)));
    let Some((mut route, mut login)) = login.filter(|(_, login)| login.needs_person()) else {
        let expected = "expected a server that has `oauth` in the policy, without `machine`";
        return Err(Failure::Other(format!("{expected}, got `{name}`")));
    };
    login.is_asking = true;
    route.rule.oauth = Some(login);
    let toolset = route
        .connect(&policy, Pins::memory())
        .await
        .map_err(|error| Failure::Other(error.to_string()))?;
    println!("signed in at {name}");
    _ = Toolset::close(&toolset).await;
    Ok(ExitCode::SUCCESS)
}

/// Connects to each server once, and prints the tools.
async fn check(settings: Settings) -> Result<ExitCode, Failure> {
    let policy = Arc::new(settings.policy);
    let pins = match policy.pins() {
        // Nothing is pinned.
        Some(file) => PinSource::Memory(
            Pins::copy(file)
                .map_err(|error| Failure::Files(format!("error: {}", describe_pins(&error))))?,
        ),
        None => PinSource::Memory(Pins::memory()),
    };
    let changed = Arc::new(Notify::new());
    let start = |entry| {
        let route = Route::new(entry, &policy);
        Upstream::start(
            route,
            Arc::clone(&policy),
            pins.clone(),
            None,
            Arc::clone(&changed),
            ChangeNotifier::default(),
        )
    };
    let upstreams = settings.servers.into_iter().map(start).collect::<Vec<_>>();
    futures_util::future::join_all(upstreams.iter().map(Upstream::settled)).await;
    let offered =
        offer(&upstreams, &policy, None).map_err(|errors| Failure::Other(messages(&errors)))?;
    let mut text = String::new();
    let mut code = ExitCode::SUCCESS;
    for upstream in &upstreams {
        let name = escape_invisible(&upstream.route.entry.name);
        match upstream.health() {
            Health::Down(error, _) => {
                code = ExitCode::FAILURE;
                _ = writeln!(text, "{name}: {error}");
            }
            _ => _ = writeln!(text, "{name}: connected"),
        }
        for tool in offered.tools.definitions().filter(|tool| {
            offered
                .servers
                .get(tool.name())
                .is_some_and(|server| **server == upstream.route.entry.name)
        }) {
            let shown = policy.shown(tool, &upstream.route.entry.name).join(", ");
            _ = writeln!(text, "  {} ({shown})", tool.name());
        }
        for tool in upstream
            .toolset()
            .iter()
            .flat_map(|toolset| toolset.quarantined())
        {
            _ = writeln!(
                text,
                "  not offered: {}",
                escape_invisible(&tool.to_string())
            );
        }
        for (offered, own) in upstream
            .toolset()
            .iter()
            .flat_map(|toolset| toolset.renamed())
        {
            _ = writeln!(
                text,
                "  {offered} is `{}` at the server",
                escape_invisible(own)
            );
        }
        text.push_str(&unused_choices(upstream));
    }
    for clash in &offered.clashes {
        _ = writeln!(text, "warning: {clash}");
    }
    let names = offered
        .tools
        .definitions()
        .map(tool_core::ToolDefinition::name)
        .collect::<Vec<_>>();
    for pattern in policy.unused_patterns(&names) {
        _ = writeln!(
            text,
            "warning: `match` = \"{pattern}\" matches no tool that is offered"
        );
    }
    for tool in offered.tools.definitions() {
        let server = offered.servers.get(tool.name());
        let server = server.map_or("", |server| &**server);
        if let Some(arguments) = policy.missing_arguments(tool, server) {
            let tool = tool.name();
            let arguments = arguments.join("`, `");
            _ = writeln!(
                text,
                "warning: `confirm_if` confirms no call of `{tool}`, which has no argument `{arguments}`"
            );
        }
    }
    io::stdout().lock().write_all(text.as_bytes())?;
    let toolsets = upstreams
        .iter()
        .filter_map(Upstream::toolset)
        .collect::<Vec<_>>();
    // Their tasks would connect again.
    drop(upstreams);
    futures_util::future::join_all(toolsets.iter().map(|toolset| Toolset::close(&**toolset))).await;
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy_file::PinSettings;

    fn forgotten(policy: &GatewayPolicy, pin: &str) -> Result<(), String> {
        match forget_pin(policy, pin) {
            Ok(_) => Ok(()),
            Err(Failure::Files(error) | Failure::Other(error)) => Err(error),
        }
    }

    #[test]
    fn pins_are_forgotten_whose_names_have_slashes() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pins.json");
        let pins = r#"{"version": 1, "servers": {
            "github/github-mcp-server": {"search": {}, "issues/list": {}},
            "a": {"b/c": {}},
            "a/b": {"c": {}}
        }}
"#;
        std::fs::write(&file, pins).expect("written");
        let mut policy = GatewayPolicy::default();
        policy.file.pins = Some(PinSettings {
            file: Some(file),
            pinned_only: false,
        });
        for pin in [
            "github/github-mcp-server/search",
            "github/github-mcp-server/issues/list",
        ] {
            assert_eq!(forgotten(&policy, pin), Ok(()));
            let again = forgotten(&policy, pin);
            assert_eq!(again, Err(format!("no tool is pinned as `{pin}`")));
        }
        let ambiguous = forgotten(&policy, "a/b/c").expect_err("two pins fit");
        assert!(
            ambiguous.contains("`b/c` of `a` and `c` of `a/b`"),
            "{ambiguous}"
        );
    }
}
