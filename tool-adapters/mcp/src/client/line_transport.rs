//! The transport over the standard streams of a process, or any pair of streams.
//!
//! rmcp's own transport drops lines that are too long or not readable, so that their calls wait
//! until they time out. Here such a line is the error of its call.

use crate::client::answer::{MAX_MESSAGE, failure, too_long};
use crate::client::direct::DirectCalls;
use crate::client::message::{MessageReader, ReadError};
use crate::client::process::ServerProcess;
use crate::client::rate_limit::RateLimit;
use crate::client::tasks::TaskTools;
use crate::lines::{IdScanner, Input, Line, LineReader, LineWriter, MessageId, Output, read_lines};
use futures_util::StreamExt;
use rmcp::RoleClient;
use rmcp::model::ErrorData;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::value::RawValue;
use std::collections::VecDeque;
use std::io;
use std::time::Duration;
use tokio_util::bytes::Bytes;

/// The time in which a message that is being written is finished before the streams are closed.
const LAST_WRITE: Duration = Duration::from_secs(1);

type ServerMessage = RxJsonRpcMessage<RoleClient>;

/// Messages as lines of JSON.
pub(crate) struct ServerLines {
    lines: LineReader,
    writer: LineWriter,
    process: Option<ServerProcess>,
    reader: MessageReader,
    calls: DirectCalls,
    /// The messages of a line that are not yet received.
    read: VecDeque<ServerMessage>,
    dropped: RateLimit,
}

impl ServerLines {
    pub(crate) fn new(
        (input, output): (Input, Output),
        process: Option<ServerProcess>,
        tasks: TaskTools,
        calls: DirectCalls,
    ) -> Self {
        let lines = read_lines(input, MAX_MESSAGE);
        let writer = LineWriter::new(output);
        calls.over_lines(writer.clone());
        Self {
            lines,
            writer,
            process,
            reader: MessageReader::over_lines(tasks),
            calls,
            read: VecDeque::new(),
            dropped: RateLimit::new("messages"),
        }
    }

    fn read(&mut self, text: &Bytes) {
        let text = without_mark(text);
        match self.reader.read(&text) {
            Ok(message) => self.read.extend(self.calls.take_message(message)),
            Err(error @ ReadError::TooManyValues) => self.fail(IdScanner::scan(&text), error),
            Err(error @ ReadError::Unreadable) => match self.read_batch(&text) {
                Some(messages) => self.read.extend(messages),
                None => self.fail(IdScanner::scan(&text), error),
            },
        }
    }

    fn read_batch(&self, text: &[u8]) -> Option<Vec<ServerMessage>> {
        let messages = serde_json::from_slice::<Vec<&RawValue>>(text).ok()?;
        messages
            .into_iter()
            .map(|message| self.reader.read(message.get().as_bytes()).ok())
            .collect()
    }

    /// Answers the request to which a message belongs that cannot be read.
    fn fail(&mut self, id: MessageId, error: impl Into<ErrorData>) {
        if let MessageId::Response(id) = id {
            self.read.push_back(failure(error.into(), id));
        } else if self.dropped.admits() {
            tracing::debug!("dropped a message of a server that cannot be read");
        }
    }
}

/// Returns a line without the byte order mark that some programs write before UTF-8. It is no part
/// of JSON.
fn without_mark(line: &Bytes) -> Bytes {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if line.starts_with(MARK) {
        line.slice(MARK.len()..)
    } else {
        line.clone()
    }
}

impl Transport<RoleClient> for ServerLines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = self.writer.clone();
        async move { writer.write_message(&message).await }
    }

    async fn receive(&mut self) -> Option<ServerMessage> {
        loop {
            if let Some(message) = self.read.pop_front() {
                return Some(message);
            }
            match self.lines.next().await? {
                Ok(Line::Whole(text)) => self.read(&text),
                Ok(Line::TooLong { size, id }) => self.fail(id, too_long(size)),
                Err(error) => {
                    tracing::debug!(%error, "failed to read from a server");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.writer.close(LAST_WRITE).await;
        if let Some(process) = &self.process {
            process.stop().await;
        }
        Ok(())
    }
}

impl Drop for ServerLines {
    fn drop(&mut self) {
        if let Some(process) = &self.process {
            process.begin_stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // C16
    #[test]
    fn a_byte_order_mark_is_no_part_of_a_line() {
        for (line, expected) in [
            ("\u{feff}{}", "{}"),
            ("{}", "{}"),
            ("\u{feff}", ""),
            ("", ""),
        ] {
            assert_eq!(without_mark(&Bytes::from_static(line.as_bytes())), expected);
        }
    }
}
