//! The end of the process: answers that have begun are finished, and no others begin.

use std::process::exit;
use std::time::Duration;
use tool_core::Runtime;

/// The time for answers and their calls to finish.
const LIMIT: Duration = Duration::from_secs(30);

/// The time after them for clients to take what was sent. A client that never ends its request would keep the process.
const LAST_LIMIT: Duration = Duration::from_secs(5);

/// Waits for SIGTERM or Ctrl-C, and then until what runs has finished. The service serves on meanwhile: `/readyz` says that it
/// ends, and new messages are refused. A second signal ends it at once.
pub(crate) async fn finished(runtime: Runtime) {
    signal().await;
    eprintln!("ending after the answers that have begun");
    tokio::select! {
        report = runtime.drain(LIMIT) => {
            for call in report.calls {
                eprintln!("`{}` did not finish, and was cancelled", call.tool);
            }
        }
        () = signal() => exit(1),
    }
    tokio::spawn(async {
        tokio::select! {
            () = tokio::time::sleep(LAST_LIMIT) => {}
            () = signal() => {}
        }
        eprintln!("ending beside connections that are still open");
        exit(1)
    });
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminate) = signal(SignalKind::terminate()) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = terminate.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
