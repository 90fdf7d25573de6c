//! The transport over standard input and output, or any pair of streams.
//!
//! Lines are framed by [`LinesCodec`]. rmcp's own stdio transport drops lines that are not JSON and lines that are too
//! long, and accepts a byte order mark. Here each invalid line is answered with a JSON-RPC error.

use crate::mcp::server::connection::Connection;
use crate::mcp::server::request_ids::RandomIds;
use crate::mcp::server::session::ServerState;
use crate::mcp::server::strict::{self, InvalidMessage};
use futures_util::{SinkExt, StreamExt};
use rmcp::RoleServer;
use rmcp::service::{RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct};
use rmcp::transport::Transport;
use std::future::ready;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder, FramedRead, FramedWrite, LinesCodec, LinesCodecError};

/// Serves one client until `input` ends. `transport` is OpenTelemetry's name of the transport, if it is known.
pub(crate) async fn serve(
    state: &ServerState,
    input: Input,
    output: Output,
    transport: Option<&'static str>,
) -> io::Result<()> {
    let lines = LineTransport::new(input, output, state.settings.max_message);
    let connection = Arc::new(Connection::over_streams(Arc::new(state.clone()), transport));
    let served = loop {
        let shutdown = state.settings.shutdown.child_token();
        let transport = RandomIds::new(lines.clone());
        match serve_server_with_ct(Arc::clone(&connection), transport, shutdown).await {
            Ok(running) => break running.waiting().await.map(drop).map_err(io::Error::other),
            // A message that is out of order before `initialize` is skipped.
            Err(ServerInitializeError::ExpectedInitializeRequest(_) | ServerInitializeError::InitializeFailed(_)) => {}
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => break Ok(()),
            Err(error) => break Err(io::Error::other(error)),
        }
    };
    connection.session.end().await;
    served
}

pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;
type LineWriter = Arc<Mutex<FramedWrite<Output, LinesCodec>>>;

/// Messages as lines of JSON. A clone continues where the other left off.
#[derive(Clone)]
struct LineTransport {
    reader: Arc<Mutex<LineReader>>,
    writer: LineWriter,
}

struct LineReader {
    messages: FramedRead<Input, StrictCodec>,
    /// The answer to an invalid line while it is written. It is kept here because `receive` may be cancelled.
    answer: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl LineTransport {
    fn new(input: Input, output: Output, max_line: usize) -> Self {
        let codec = StrictCodec(LinesCodec::new_with_max_length(max_line));
        let reader = LineReader { messages: FramedRead::new(input, codec), answer: None };
        let writer = FramedWrite::new(output, LinesCodec::new());
        Self { reader: Arc::new(Mutex::new(reader)), writer: Arc::new(Mutex::new(writer)) }
    }
}

async fn write_line(writer: LineWriter, line: String) -> io::Result<()> {
    writer.lock().await.send(line).await.map_err(|error| match error {
        LinesCodecError::Io(error) => error,
        error @ LinesCodecError::MaxLineLengthExceeded => io::Error::other(error),
    })
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        async move { write_line(writer, serde_json::to_string(&message)?).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut reader = self.reader.lock().await;
        loop {
            if let Some(answer) = &mut reader.answer {
                let written = answer.await;
                reader.answer = None;
                written.inspect_err(|error| tracing::debug!(%error, "failed to answer an invalid message")).ok()?;
            }
            match reader.messages.next().await? {
                Ok(Ok(message)) => return Some(message),
                Ok(Err(invalid)) => {
                    tracing::debug!(error = %invalid.error, "refused an invalid message");
                    reader.answer = Some(Box::pin(write_line(Arc::clone(&self.writer), invalid.to_json())));
                }
                Err(error) => {
                    tracing::error!(%error, "failed to read from the client");
                    return None;
                }
            }
        }
    }

    fn close(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        ready(Ok(()))
    }
}

/// Decodes lines into messages, and invalid lines into their answers. Skips empty lines.
struct StrictCodec(LinesCodec);

type CheckedMessage = Result<RxJsonRpcMessage<RoleServer>, InvalidMessage>;

impl StrictCodec {
    /// Returns the next message of the lines that `decode` reads.
    fn next(
        &mut self,
        mut decode: impl FnMut(&mut LinesCodec) -> Result<Option<String>, LinesCodecError>,
    ) -> Option<CheckedMessage> {
        loop {
            return match decode(&mut self.0).transpose()? {
                Ok(line) if line.is_empty() => continue,
                Ok(line) => Some(strict::parse_message(line.as_bytes())),
                Err(LinesCodecError::MaxLineLengthExceeded) => {
                    let too_long = format!("the message is longer than {} bytes", self.0.max_length());
                    Some(Err(strict::invalid_request(too_long).into()))
                }
                // The only error that a decoder of lines reports besides the length.
                Err(LinesCodecError::Io(_)) => Some(Err(strict::not_utf8().into())),
            };
        }
    }
}

impl Decoder for StrictCodec {
    type Item = CheckedMessage;
    type Error = io::Error;

    fn decode(&mut self, bytes: &mut BytesMut) -> io::Result<Option<CheckedMessage>> {
        Ok(self.next(|lines| lines.decode(bytes)))
    }

    fn decode_eof(&mut self, bytes: &mut BytesMut) -> io::Result<Option<CheckedMessage>> {
        Ok(self.next(|lines| lines.decode_eof(bytes)))
    }
}
