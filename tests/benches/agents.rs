//! Loading an agent of ten toolsets: from the cache, and from its store. Medians; fails where a bar is missed.

mod agent_tools;

use agent_tools::{NAMES, secrets, settings};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tool_adapters::stores::SqliteStore;
use tool_core::Mode;
use tool_core::agents::{Agents, DynAgentToolStore, Keyring, MemoryAgentToolStore};

/// Most that a load may take whose agent has not changed.
const WARM: Duration = Duration::from_micros(50);
/// Most that the first load of an agent from SQLite may take.
const COLD: Duration = Duration::from_millis(5);
/// Agents in a store; each is loaded anew once.
const AGENTS: usize = 200;
const WARM_LOADS: usize = 20_000;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    // `cargo test --benches` starts it too.
    if !std::env::args().any(|argument| argument == "--bench") {
        return ExitCode::SUCCESS;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    match runtime
        .map_err(Failure::from)
        .and_then(|runtime| runtime.block_on(all()))
    {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("NOTHING WAS MEASURED: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn all() -> Result<bool, Failure> {
    let folder = std::env::temp_dir().join(format!("agents-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let memory = of_store("memory", MemoryAgentToolStore::new(), None).await?;
    let sqlite = of_store(
        "SQLite",
        SqliteStore::open(folder.join("agents.db")).await?,
        Some(COLD),
    )
    .await?;
    std::fs::remove_dir_all(&folder)?;
    Ok(memory && sqlite)
}

/// True if the bars apply to this store.
async fn of_store(
    name: &str,
    store: impl DynAgentToolStore,
    bar: Option<Duration>,
) -> Result<bool, Failure> {
    let keys = Keyring::parse(&Keyring::generate("bench")?)?;
    let agents = Agents::builder(store).keys(keys).build()?;
    for agent in 0..AGENTS {
        for tool in NAMES {
            agents
                .add(format!("agent-{agent}"), tool)
                .config(settings(tool))
                .secrets(secrets(tool))
                .save()
                .await?;
        }
    }
    let cold = each(AGENTS, async |agent| {
        let loaded = agents.executor(format!("agent-{agent}")).load().await?;
        let whole = loaded.failures().is_empty() && loaded.tools().function_tools().len() == 30;
        if whole {
            Ok(())
        } else {
            Err(format!("{loaded:?}").into())
        }
    });
    let cold = cold.await?;
    let alice = agents.executor("agent-0");
    let warm = each(WARM_LOADS, async |_| {
        std::hint::black_box(alice.load().await?);
        Ok(())
    });
    let warm = warm.await?;
    let sessions = each(AGENTS, async |number| {
        let session = alice
            .session(format!("session-{number}"), Mode::Text)
            .await?
            .await?;
        session.end().await;
        Ok(())
    });
    let sessions = sessions.await?;
    let changed = each(AGENTS, async |number| {
        let agent = format!("agent-{number}");
        let record = agents.record(&agent, "mail").await?;
        agents
            .edit(&record)
            .disable_action("mail_send")
            .save()
            .await?;
        agents.executor(agent).load().await?;
        Ok(())
    });
    let changed = changed.await?;
    agents.close().await;
    println!("{name}, an agent of 10 toolsets, 30 tools:");
    show("  loaded again, nothing changed", warm, Some(WARM));
    show("  loaded for the first time", cold, bar);
    show("  one record written, then loaded", changed, None);
    show(
        "  loaded again, and a session opened and ended",
        sessions,
        None,
    );
    println!("  the first of them: {:?}", cold.first);
    Ok(warm.median <= WARM && bar.is_none_or(|bar| cold.median <= bar))
}

#[derive(Clone, Copy)]
struct Times {
    first: Duration,
    median: Duration,
    /// 99 in a hundred were no longer.
    p99: Duration,
}

/// Times each of so many runs.
async fn each(
    count: usize,
    work: impl AsyncFn(usize) -> Result<(), Failure>,
) -> Result<Times, Failure> {
    let mut times = Vec::with_capacity(count);
    for number in 0..count {
        let began = Instant::now();
        work(number).await?;
        times.push(began.elapsed());
    }
    let first = times.first().copied().unwrap_or_default();
    times.sort_unstable();
    let at = |percent: usize| {
        times
            .get(count * percent / 100)
            .copied()
            .unwrap_or_default()
    };
    Ok(Times {
        first,
        median: at(50),
        p99: at(99),
    })
}

fn show(what: &str, times: Times, bar: Option<Duration>) {
    let Times { median, p99, .. } = times;
    let bar = bar
        .map(|bar| {
            format!(
                ", bar {bar:?}{}",
                if median <= bar { "" } else { " MISSED" }
            )
        })
        .unwrap_or_default();
    println!("{what}: median {median:?}, p99 {p99:?}{bar}");
}
