//! The transport over standard input and output, or any pair of streams.
//!
//! rmcp's own stdio transport drops lines that are not JSON and lines that are too long, and accepts a byte order mark. Here
//! each invalid line is answered with a JSON-RPC error. The answers to a batch are sent as one array.

use crate::lines::{BoundedLines, Line, send_line};
use crate::server::connection::Connection;
use crate::server::direct::{self, LineCall};
use crate::server::features::Revisions;
use crate::server::passed_on;
use crate::server::request_ids::RandomIds;
use crate::server::session::ServerState;
use crate::server::strict::{self, CheckedMessage, InvalidMessage, Parsed};
use futures_util::StreamExt;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{
    RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct,
};
use rmcp::transport::Transport;
use std::collections::{HashSet, VecDeque};
use std::future::ready;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};
use tokio_util::task::TaskTracker;

/// Serves one client until `input` ends. `transport` is OpenTelemetry's name of the transport, if it is known.
pub(crate) async fn serve(
    state: &ServerState,
    input: Input,
    output: Output,
    transport: Option<&'static str>,
) -> io::Result<()> {
    let connection = Arc::new(Connection::over_streams(Arc::new(state.clone()), transport));
    let lines = LineTransport::new(input, output, &connection);
    let served = loop {
        let shutdown = state.settings.shutdown.child_token();
        let transport = RandomIds::new(lines.clone());
        match serve_server_with_ct(Arc::clone(&connection), transport, shutdown).await {
            Ok(running) => break running.waiting().await.map(drop).map_err(io::Error::other),
            // A message that is out of order before `initialize` is skipped.
            Err(
                ServerInitializeError::ExpectedInitializeRequest(_)
                | ServerInitializeError::InitializeFailed(_),
            ) => {}
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                break Ok(());
            }
            Err(error) => break Err(io::Error::other(error)),
        }
    };
    connection.session.end().await;
    served
}

/// The time in which calls under way are answered after the end of the input.
const LAST_ANSWERS: Duration = Duration::from_secs(5);

pub(crate) type Input = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type Output = Box<dyn AsyncWrite + Send + Unpin>;
type LineWriter = Arc<Mutex<FramedWrite<Output, LinesCodec>>>;

/// Messages as lines of JSON. A clone continues where the other left off.
#[derive(Clone)]
struct LineTransport {
    reader: Arc<Mutex<LineReader>>,
    writer: LineWriter,
    requests: Arc<std::sync::Mutex<Requests>>,
    hand_over: UnboundedSender<RxJsonRpcMessage<RoleServer>>,
    /// The calls that rmcp does not see.
    running: TaskTracker,
    connection: Arc<Connection>,
}

struct LineReader {
    lines: FramedRead<Input, BoundedLines>,
    /// The messages of a batch that are not yet received.
    batch: VecDeque<CheckedMessage>,
    /// The requests of calls that rmcp takes over.
    handed_over: UnboundedReceiver<RxJsonRpcMessage<RoleServer>>,
    /// The answer to an invalid line while it is written. It is kept here because `receive` may be cancelled.
    answer: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

/// The requests that are not yet answered.
#[derive(Default)]
struct Requests {
    /// The calls under way. A call that repeats the id of one of them is dropped, so that it runs once.
    calls: HashSet<RequestId>,
    batches: Vec<Batch>,
}

/// A batch whose answers are collected.
struct Batch {
    unanswered: HashSet<RequestId>,
    answers: Vec<String>,
}

impl Batch {
    /// Returns the line of all answers, if none is missing.
    fn line(&self) -> Option<String> {
        (self.unanswered.is_empty() && !self.answers.is_empty())
            .then(|| format!("[{}]", self.answers.join(",")))
    }
}

impl Requests {
    /// Notes the requests of a batch. Returns the line that answers it if no request is valid.
    fn begin_batch(&mut self, messages: &[CheckedMessage]) -> Option<String> {
        let mut batch = Batch {
            unanswered: HashSet::new(),
            answers: Vec::new(),
        };
        for message in messages {
            match message {
                Ok(JsonRpcMessage::Request(request)) => {
                    _ = batch.unanswered.insert(request.id.clone());
                }
                Ok(_) => {}
                Err(invalid) => batch.answers.push(invalid.to_json()),
            }
        }
        if batch.unanswered.is_empty() {
            return batch.line();
        }
        self.batches.push(batch);
        None
    }

    /// Returns false if a message repeats the id of a call under way. Returns the line of the batch whose last request the
    /// message cancels, as a cancelled request is not answered.
    fn receive(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> (bool, Option<String>) {
        match message {
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::CallToolRequest(_)) =>
            {
                (self.calls.insert(request.id.clone()), None)
            }
            JsonRpcMessage::Notification(sent) => match &sent.notification {
                ClientNotification::CancelledNotification(cancelled) => {
                    let id = cancelled.params.request_id.as_ref();
                    (true, id.and_then(|id| self.end(id, None)))
                }
                _ => (true, None),
            },
            _ => (true, None),
        }
    }

    /// Notes the end of a request. Returns the line to write: its answer, or all answers of its batch if none is missing.
    fn end(&mut self, id: &RequestId, answer: Option<String>) -> Option<String> {
        self.calls.remove(id);
        let Some(at) = self
            .batches
            .iter()
            .position(|batch| batch.unanswered.contains(id))
        else {
            return answer;
        };
        let batch = self.batches.get_mut(at)?;
        batch.unanswered.remove(id);
        batch.answers.extend(answer);
        let line = batch.line();
        if batch.unanswered.is_empty() {
            self.batches.swap_remove(at);
        }
        line
    }
}

impl LineTransport {
    fn new(input: Input, output: Output, connection: &Arc<Connection>) -> Self {
        let lines = FramedRead::new(
            input,
            BoundedLines::new(connection.state.settings.max_message),
        );
        let (hand_over, handed_over) = unbounded_channel();
        let reader = LineReader {
            lines,
            batch: VecDeque::new(),
            handed_over,
            answer: None,
        };
        let writer = FramedWrite::new(output, LinesCodec::new());
        Self {
            reader: Arc::new(Mutex::new(reader)),
            writer: Arc::new(Mutex::new(writer)),
            requests: Arc::default(),
            hand_over,
            running: TaskTracker::new(),
            connection: Arc::clone(connection),
        }
    }

    fn requests(&self) -> MutexGuard<'_, Requests> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call that rmcp need not see. Returns any other message.
    fn begin(&self, message: RxJsonRpcMessage<RoleServer>) -> Option<RxJsonRpcMessage<RoleServer>> {
        let Some(call) = LineCall::begin(&self.connection, &message) else {
            return Some(message);
        };
        let transport = self.clone();
        self.running.spawn(async move {
            match call.answer(message).await {
                Ok(Some((id, answer))) => {
                    let line = transport.requests().end(&id, Some(answer));
                    let Some(line) = line else { return };
                    if let Err(error) = write_line(Arc::clone(&transport.writer), line).await {
                        tracing::debug!(%error, "failed to write the answer to a call");
                    }
                }
                Ok(None) => {}
                // The connection has ended if it is not received.
                Err(message) => _ = transport.hand_over.send(message),
            }
        });
        None
    }

    /// Waits until the calls under way are answered. Returns the request of one that rmcp takes over.
    async fn last_message(&self, reader: &mut LineReader) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.running.close();
        tokio::select! {
            biased;
            Some(message) = reader.handed_over.recv() => Some(message),
            _ = timeout(LAST_ANSWERS, self.running.wait()) => None,
        }
    }

    /// Returns the line of a message. Returns `None` for an answer that its batch brings later.
    fn line(
        &self,
        message: &mut TxJsonRpcMessage<RoleServer>,
    ) -> serde_json::Result<Option<String>> {
        let line = match passed_on::text_of(message) {
            Some(line) => line,
            None => serde_json::to_string(message)?,
        };
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        Ok(match id {
            Some(id) => self.requests().end(id, Some(line)),
            None => Some(line),
        })
    }
}

impl LineReader {
    /// Writes a line, if there is one, before the next message is received.
    fn answer(&mut self, writer: &LineWriter, line: Option<String>) {
        if let Some(line) = line {
            self.answer = Some(Box::pin(write_line(Arc::clone(writer), line)));
        }
    }
}

async fn write_line(writer: LineWriter, line: String) -> io::Result<()> {
    send_line(&mut *writer.lock().await, line).await
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (writer, line) = (Arc::clone(&self.writer), self.line(&mut message));
        async move {
            match line? {
                Some(line) => write_line(writer, line).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut reader = self.reader.lock().await;
        loop {
            if let Some(answer) = &mut reader.answer {
                let written = answer.await;
                reader.answer = None;
                written
                    .inspect_err(
                        |error| tracing::debug!(%error, "failed to answer an invalid message"),
                    )
                    .ok()?;
            }
            match reader.batch.pop_front() {
                Some(Ok(message)) => {
                    let (is_new, line) = self.requests().receive(&message);
                    reader.answer(&self.writer, line);
                    if !is_new {
                        tracing::debug!("dropped a call that repeats the id of one under way");
                    } else if !direct::cancels(&self.connection, &message)
                        && let Some(message) = self.begin(message)
                    {
                        return Some(message);
                    }
                    continue;
                }
                // It is in the answer of the batch.
                Some(Err(_)) => continue,
                None => {}
            }
            let line = {
                let LineReader {
                    lines, handed_over, ..
                } = &mut *reader;
                tokio::select! {
                    biased;
                    Some(message) = handed_over.recv() => return Some(message),
                    line = lines.next() => line,
                }
            };
            let Some(line) = line else {
                return self.last_message(&mut reader).await;
            };
            match line {
                Ok(line) => match read_line(&line, &self.connection) {
                    Parsed::One(Ok(message)) => reader.batch.push_back(Ok(message)),
                    Parsed::One(Err(invalid)) => {
                        tracing::debug!(error = %invalid.error, "refused an invalid message");
                        reader.answer(&self.writer, Some(invalid.to_json()));
                    }
                    Parsed::Batch(messages) => {
                        let line = self.requests().begin_batch(&messages);
                        reader.answer(&self.writer, line);
                        reader.batch.extend(messages);
                    }
                },
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

fn read_line(line: &Line, connection: &Connection) -> Parsed {
    match line {
        Line::Whole(text) => strict::parse(
            text,
            connection.state.served(Revisions::All),
            connection.allows_batches(),
        ),
        Line::TooLong { size, id } => Parsed::One(Err(InvalidMessage::too_long(
            *size,
            connection.state.settings.max_message,
            id,
        ))),
    }
}
