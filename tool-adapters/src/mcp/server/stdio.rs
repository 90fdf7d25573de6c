//! Serving one client over standard input and output, or any pair of streams.

use crate::mcp::server::Server;
use crate::mcp::server::connection::Connection;
use crate::mcp::strict;
use crate::mcp::strict::Refused;
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct};
use rmcp::transport::Transport;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

impl Server {
    /// Serves the client that has started this process, until it closes standard input. Nothing else may write to
    /// standard output; logs belong on standard error.
    pub async fn serve_stdio(&self) -> io::Result<()> {
        self.serve_pair(tokio::io::stdin(), tokio::io::stdout(), Some("pipe")).await
    }

    /// The same over any two streams, such as a socket's halves.
    pub async fn serve_streams<R, W>(&self, input: R, output: W) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        self.serve_pair(input, output, None).await
    }

    async fn serve_pair<R, W>(&self, input: R, output: W, transport: Option<&'static str>) -> io::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (lines, written) = Lines::new(BufReader::new(input), output, self.settings.max_message);
        let connection = Arc::new(Connection::new(self.shared(), transport));
        let served = loop {
            let stop = self.settings.stop.child_token();
            match serve_server_with_ct(Arc::clone(&connection), lines.clone(), stop).await {
                Ok(running) => break running.waiting().await.map(drop).map_err(io::Error::other),
                // A message that is out of place at the beginning is passed over.
                Err(
                    ServerInitializeError::ExpectedInitializeRequest(_) | ServerInitializeError::InitializeFailed(_),
                ) => {}
                Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => break Ok(()),
                Err(error) => break Err(io::Error::other(error)),
            }
        };
        connection.conversation.end().await;
        drop(lines);
        written.await.map_err(io::Error::other)?;
        served
    }
}

// ---- Messages as lines of JSON over a pair of streams. What is no message is answered here, and the next line is read.

/// The two streams. A clone goes on with them where another left off.
pub(crate) struct Lines<R> {
    reader: Arc<Mutex<Reader<R>>>,
    out: Sender<Vec<u8>>,
}

impl<R> Clone for Lines<R> {
    fn clone(&self) -> Self {
        Self { reader: Arc::clone(&self.reader), out: self.out.clone() }
    }
}

struct Reader<R> {
    stream: R,
    most: usize,
    /// The line so far. It stays where reading is given up half way.
    line: Vec<u8>,
    /// Whether the line is too long, and is passed over.
    too_long: bool,
    /// An answer that has yet to be written.
    answer: Option<Vec<u8>>,
    over: bool,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    /// Reads and writes lines of at most `most` bytes. Everything is written once all clones are gone and the task has
    /// ended.
    pub(crate) fn new<W>(stream: R, output: W, most: usize) -> (Self, tokio::task::JoinHandle<()>)
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (out, lines) = channel(64);
        let reader = Reader { stream, most, line: Vec::new(), too_long: false, answer: None, over: false };
        (Self { reader: Arc::new(Mutex::new(reader)), out }, tokio::spawn(write(output, lines)))
    }
}

async fn write<W: AsyncWrite + Unpin>(mut output: W, mut lines: Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        let written = async {
            output.write_all(&line).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the client does not read any more");
            return;
        }
    }
}

impl<R: AsyncBufRead + Unpin> Reader<R> {
    /// Whether there is another line, whole or passed over. May be given up and called again.
    async fn next(&mut self) -> io::Result<bool> {
        loop {
            let read = self.stream.fill_buf().await?;
            if read.is_empty() {
                self.over = true;
                return Ok(self.too_long || !self.line.is_empty());
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = read.get(..end.unwrap_or(read.len())).unwrap_or_default();
            if self.too_long || self.line.len() + part.len() > self.most {
                self.too_long = true;
                self.line.clear();
            } else {
                self.line.extend_from_slice(part);
            }
            let used = end.map_or(read.len(), |at| at + 1);
            self.stream.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// The line that was read, which is then over: a message, an answer to what is none, or nothing.
    fn take(&mut self) -> Option<Result<RxJsonRpcMessage<RoleServer>, Refused>> {
        if std::mem::take(&mut self.too_long) {
            return Some(Err(Refused::invalid(format!("a message has at most {} bytes", self.most))));
        }
        let line = std::mem::take(&mut self.line);
        let line = line.strip_suffix(b"\r").unwrap_or(&line);
        (!line.is_empty()).then(|| strict::read(line))
    }
}

impl<R: AsyncBufRead + Send + Unpin + 'static> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let out = self.out.clone();
        async move {
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            out.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut reader = self.reader.lock().await;
        loop {
            if reader.answer.is_some() {
                let place = self.out.reserve().await.ok()?;
                if let Some(answer) = reader.answer.take() {
                    place.send(answer);
                }
            }
            if reader.over {
                return None;
            }
            match reader.next().await {
                Ok(true) => {}
                Ok(false) => return None,
                Err(error) => {
                    tracing::error!(%error, "the client's messages cannot be read any more");
                    return None;
                }
            }
            match reader.take() {
                None => {}
                Some(Ok(message)) => return Some(message),
                Some(Err(refused)) => {
                    tracing::debug!(code = refused.code, message = %refused.message, "not a message");
                    reader.answer = Some((refused.to_json() + "\n").into_bytes());
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        Ok(())
    }
}
