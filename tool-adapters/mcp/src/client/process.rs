//! The process of a server: its start, its end, and the last lines that it wrote to its standard
//! error.

use crate::client::credentials::Credentials;
use crate::client::rate_limit::RateLimit;
use parking_lot::Mutex;
use process_wrap::tokio::{ChildWrapper, CommandWrap};
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tool_core::CancellationToken;
use tool_core::text::truncate;

/// A running process. It is stopped when [`ServerProcess::stop`] is called, and killed when the
/// runtime ends before that. On Unix the processes that it has started are killed with it, unless
/// they have left its process group.
#[derive(Clone)]
pub(crate) struct ServerProcess {
    stopping: CancellationToken,
    ended: watch::Receiver<Option<String>>,
    lines: LastLines,
}

/// The last lines of the standard error, escaped.
type LastLines = Arc<Mutex<VecDeque<String>>>;

/// Maximum number of bytes of a line that are read at once.
const MAX_LINE: u64 = 4_000;

/// The lines that an error shows, and the characters of each.
const LAST_LINES: usize = 5;
const MAX_LAST_LINE: usize = 200;

/// The time that a process gets to end once its standard input is closed, and again once it is
/// asked to terminate.
const GRACE: Duration = Duration::from_secs(3);

/// The time in which the last lines arrive once a process has ended. Its children may keep its
/// standard error open.
const LINES_AFTER_END: Duration = Duration::from_millis(300);

/// The time in which the status of a process arrives that has closed its standard output.
const STATUS_AFTER_EOF: Duration = Duration::from_secs(1);

/// Prepares a command whose process is killed when its handle is dropped.
pub(crate) fn prepare(command: std::process::Command) -> CommandWrap {
    let mut command = Command::from(command);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut command = CommandWrap::from(command);
    #[cfg(unix)]
    command.wrap(process_wrap::tokio::ProcessGroup::leader());
    command
}

/// A process and its group, which is killed when this is dropped.
struct ProcessGroup(Box<dyn ChildWrapper>);

impl ProcessGroup {
    /// Waits for the process, and not for its group: that may go on without it.
    async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.0.inner_mut().wait().await
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        // Fails if all have ended.
        _ = self.0.start_kill();
    }
}

impl ServerProcess {
    /// Starts a process. Returns it with its standard output and input.
    pub(crate) fn start(
        command: &mut CommandWrap,
        credentials: &Arc<Credentials>,
    ) -> io::Result<(Self, ChildStdout, ChildStdin)> {
        let mut child = command.spawn().map_err(|error| {
            let command = command.command().as_std();
            let is_missing =
                |folder: &&Path| error.kind() == io::ErrorKind::NotFound && !folder.is_dir();
            let folder = command
                .get_current_dir()
                .filter(is_missing)
                .map(Path::as_os_str);
            let named = folder.unwrap_or(command.get_program()).to_string_lossy();
            io::Error::new(
                error.kind(),
                format!("`{}`: {error}", credentials.display(&named)),
            )
        })?;
        let no_pipe = || io::Error::other("the process has no pipe");
        let output = child.stdout().take().ok_or_else(no_pipe)?;
        let input = child.stdin().take().ok_or_else(no_pipe)?;
        let errors = child.stderr().take().ok_or_else(no_pipe)?;
        let lines = LastLines::default();
        let reading = read_errors(
            errors,
            child.id(),
            Arc::clone(credentials),
            Arc::clone(&lines),
        );
        let (stopping, (end, ended)) = (CancellationToken::new(), watch::channel(None));
        tokio::spawn(supervise(
            ProcessGroup(child),
            stopping.clone(),
            tokio::spawn(reading),
            end,
        ));
        Ok((
            Self {
                stopping,
                ended,
                lines,
            },
            output,
            input,
        ))
    }

    /// Returns true if the process has ended, or is being stopped.
    pub(crate) fn is_ending(&self) -> bool {
        self.stopping.is_cancelled() || self.ended.borrow().is_some()
    }

    pub(crate) fn begin_stop(&self) {
        self.stopping.cancel();
    }

    /// Stops the process, and waits until it has ended. Its standard input has to be closed.
    pub(crate) async fn stop(&self) {
        self.begin_stop();
        _ = self.ended.clone().wait_for(Option::is_some).await;
    }

    /// Returns the status with which the process has ended. Waits a moment for it.
    pub(crate) async fn status(&self) -> Option<String> {
        let mut ended = self.ended.clone();
        let status = timeout(STATUS_AFTER_EOF, ended.wait_for(Option::is_some))
            .await
            .ok()?
            .ok()?;
        status.clone()
    }

    /// Returns the last lines that the process wrote to its standard error.
    pub(crate) fn last_lines(&self) -> String {
        let lines = self.lines.lock();
        lines
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join(" | ")
    }
}

/// Waits for the end of a process, or stops it.
async fn supervise(
    mut group: ProcessGroup,
    stopping: CancellationToken,
    errors: JoinHandle<()>,
    end: watch::Sender<Option<String>>,
) {
    let status = tokio::select! {
        status = group.wait() => status,
        () = stopping.cancelled() => stop(&mut group).await,
    };
    drop(group);
    _ = timeout(LINES_AFTER_END, errors).await;
    end.send_replace(Some(
        status.map_or_else(|error| error.to_string(), |status| status.to_string()),
    ));
}

/// Stops a process in the steps that the protocol names.
async fn stop(group: &mut ProcessGroup) -> io::Result<ExitStatus> {
    if let Ok(status) = timeout(GRACE, group.wait()).await {
        return status;
    }
    #[cfg(unix)]
    {
        const SIGTERM: i32 = 15;
        if group.0.signal(SIGTERM).is_ok()
            && let Ok(status) = timeout(GRACE, group.wait()).await
        {
            return status;
        }
    }
    group.0.start_kill()?;
    group.wait().await
}

/// Logs what a server writes to its standard error, and keeps the last lines. A long line is read
/// in parts.
async fn read_errors(
    errors: ChildStderr,
    process: Option<u32>,
    credentials: Arc<Credentials>,
    last: LastLines,
) {
    let (mut errors, mut line, mut limit) =
        (BufReader::new(errors), Vec::new(), RateLimit::new("lines"));
    while let Ok(1..) = (&mut errors)
        .take(MAX_LINE)
        .read_until(b'\n', &mut line)
        .await
    {
        let text = credentials.display(String::from_utf8_lossy(&line).trim_end());
        line.clear();
        if limit.admits() {
            tracing::debug!(process, text, "a server wrote to its standard error");
        }
        let mut last = last.lock();
        if last.len() == LAST_LINES {
            last.pop_front();
        }
        last.push_back(truncate(&text, MAX_LAST_LINE));
    }
}
