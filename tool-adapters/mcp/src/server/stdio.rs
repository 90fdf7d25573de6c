//! The transport over standard input and output, or any pair of streams.
//!
//! rmcp's own stdio transport drops lines that are not JSON and lines that are too long, and
//! accepts a byte order mark. Here each invalid line is answered with a JSON-RPC error. The answers
//! to a batch are sent as one array.

use crate::lines::{Input, Line, LineReader, LineWriter, Output, read_lines};
use crate::server::calls;
use crate::server::connection::Connection;
use crate::server::direct::LineCall;
use crate::server::features::Revisions;
use crate::server::message::{
    self, CallRequest, ClientMessage, Incoming, InvalidMessage, ReadMessage,
};
use crate::server::passed_on;
use crate::server::request_ids::RandomIds;
use crate::server::session::ServerState;
use futures_util::StreamExt;
use rmcp::RoleServer;
use rmcp::model::{JsonRpcMessage, RequestId};
use rmcp::service::{
    RxJsonRpcMessage, ServerInitializeError, TxJsonRpcMessage, serve_server_with_ct,
};
use rmcp::transport::Transport;
use std::collections::{HashSet, VecDeque};
use std::future::ready;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, watch};
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// Serves one client until `input` ends. `transport` is OpenTelemetry's name of the transport, if
/// it is known.
pub(crate) async fn serve(
    state: &ServerState,
    input: Input,
    output: Output,
    transport: Option<&'static str>,
) -> io::Result<()> {
    let connection = Arc::new(Connection::over_streams(Arc::new(state.clone()), transport));
    let lines = ClientLines::new(input, output, &connection);
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

/// The bytes of unwritten answers from which on nothing more is read. Less than that may wait for a
/// client that sends all its calls before it reads an answer.
const MAX_UNWRITTEN: usize = 16 << 20;

/// The bytes that an answer takes beside its text.
const ANSWER_OVERHEAD: usize = 1 << 10;

/// The calls under way from which on they get a turn before each line is read, so that their answers
/// are counted.
const MANY_CALLS: usize = 64;

/// The answers that wait until the client reads. Clones are the same.
#[derive(Clone, Default)]
struct UnwrittenAnswers(Arc<watch::Sender<usize>>);

/// An answer that waits. It is counted until it is dropped.
struct UnwrittenAnswer {
    line: String,
    bytes: usize,
    of: UnwrittenAnswers,
}

impl UnwrittenAnswers {
    fn add(&self, line: String) -> UnwrittenAnswer {
        let bytes = line.len() + ANSWER_OVERHEAD;
        self.0.send_modify(|all| *all += bytes);
        UnwrittenAnswer {
            line,
            bytes,
            of: self.clone(),
        }
    }

    /// Waits while the client does not read its answers.
    async fn room(&self) {
        let mut bytes = self.0.subscribe();
        _ = bytes.wait_for(|bytes| *bytes < MAX_UNWRITTEN).await;
    }
}

impl UnwrittenAnswer {
    async fn write(mut self, writer: &LineWriter) -> io::Result<()> {
        writer.write(std::mem::take(&mut self.line)).await
    }
}

impl Drop for UnwrittenAnswer {
    fn drop(&mut self) {
        self.of.0.send_modify(|all| *all -= self.bytes);
    }
}

/// Messages as lines of JSON. A clone continues where the other left off.
#[derive(Clone)]
struct ClientLines {
    reader: Arc<Mutex<IncomingMessages>>,
    writer: LineWriter,
    unwritten: UnwrittenAnswers,
    batches: Arc<parking_lot::Mutex<Batches>>,
    hand_over: UnboundedSender<RxJsonRpcMessage<RoleServer>>,
    /// The calls that rmcp does not see.
    running: TaskTracker,
    connection: Arc<Connection>,
}

struct IncomingMessages {
    lines: LineReader,
    /// The messages of a batch that are not yet received.
    batch: VecDeque<ReadMessage>,
    /// The requests of calls that rmcp takes over.
    handed_over: UnboundedReceiver<RxJsonRpcMessage<RoleServer>>,
    /// True once the calls under way have had a turn since the last line.
    has_paused: bool,
    /// The answer to an invalid line while it is written. It is kept here because `receive` may be
    /// cancelled.
    answer: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

/// The batches that are not yet answered.
#[derive(Default)]
struct Batches(Vec<Batch>);

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

impl Batches {
    /// Notes the requests of a batch. Returns the line that answers it if no request is valid.
    fn begin(&mut self, messages: &[ReadMessage]) -> Option<String> {
        let mut batch = Batch {
            unanswered: HashSet::new(),
            answers: Vec::new(),
        };
        for message in messages {
            match message {
                Ok(message) => batch.unanswered.extend(message.request_id().cloned()),
                Err(invalid) => batch.answers.push(invalid.to_json()),
            }
        }
        if batch.unanswered.is_empty() {
            return batch.line();
        }
        self.0.push(batch);
        None
    }

    /// Notes the end of a request, which has no answer if it was cancelled. Returns the line to
    /// write: its answer, or all answers of its batch if none is missing.
    fn end(&mut self, id: &RequestId, answer: Option<String>) -> Option<String> {
        let is_in = |batch: &Batch| batch.unanswered.contains(id);
        let Some(at) = self.0.iter().position(is_in) else {
            return answer;
        };
        let batch = self.0.get_mut(at)?;
        batch.unanswered.remove(id);
        batch.answers.extend(answer);
        let line = batch.line();
        if batch.unanswered.is_empty() {
            self.0.swap_remove(at);
        }
        line
    }
}

impl ClientLines {
    fn new(input: Input, output: Output, connection: &Arc<Connection>) -> Self {
        let lines = read_lines(input, connection.state.settings.max_message);
        let (hand_over, handed_over) = unbounded_channel();
        let reader = IncomingMessages {
            lines,
            batch: VecDeque::new(),
            handed_over,
            has_paused: false,
            answer: None,
        };
        Self {
            reader: Arc::new(Mutex::new(reader)),
            writer: LineWriter::new(output),
            unwritten: UnwrittenAnswers::default(),
            batches: Arc::default(),
            hand_over,
            running: TaskTracker::new(),
            connection: Arc::clone(connection),
        }
    }

    /// Makes a call in a task. Returns its request if rmcp has to make it.
    fn make_call(&self, request: CallRequest) -> Option<RxJsonRpcMessage<RoleServer>> {
        let Some(under_way) = self.connection.calls.enter(&request.id) else {
            tracing::debug!("dropped a call that repeats the id of one under way");
            return None;
        };
        let Some(call) = LineCall::begin(&self.connection, &request, &under_way) else {
            return Some(request.into_rmcp(Some(under_way)));
        };
        let transport = self.clone();
        self.running.spawn(async move {
            match call.answer(request, under_way).await {
                Ok(Some((id, answer))) => {
                    let line = transport.batches.lock().end(&id, Some(answer));
                    let Some(line) = line else { return };
                    let line = transport.unwritten.add(line);
                    if let Err(error) = line.write(&transport.writer).await {
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

    /// Cancels a request. Returns the line of the batch whose last request it was.
    fn cancel(&self, id: &RequestId) -> Option<String> {
        self.connection.calls.cancel(id);
        self.batches.lock().end(id, None)
    }

    /// Waits until the calls under way are answered. Returns the request of one that rmcp takes
    /// over.
    async fn last_message(
        &self,
        reader: &mut IncomingMessages,
    ) -> Option<RxJsonRpcMessage<RoleServer>> {
        self.running.close();
        tokio::select! {
            biased;
            Some(message) = next_handed_over(&mut reader.handed_over) => Some(message),
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
            Some(id) => self.batches.lock().end(id, Some(line)),
            None => Some(line),
        })
    }
}

impl IncomingMessages {
    /// Writes a line, if there is one, before the next message is received.
    fn answer(&mut self, writer: &LineWriter, line: Option<String>) {
        if let Some(line) = line {
            let writer = writer.clone();
            self.answer = Some(Box::pin(async move { writer.write(line).await }));
        }
    }
}

/// Returns the request of a call that rmcp takes over, unless its client has cancelled it
/// meanwhile.
async fn next_handed_over(
    handed_over: &mut UnboundedReceiver<RxJsonRpcMessage<RoleServer>>,
) -> Option<RxJsonRpcMessage<RoleServer>> {
    loop {
        let message = handed_over.recv().await?;
        if !calls::is_cancelled(&message) {
            return Some(message);
        }
    }
}

impl Transport<RoleServer> for ClientLines {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = self.writer.clone();
        let line = self.line(&mut message);
        let line = line.map(|line| line.map(|line| self.unwritten.add(line)));
        async move {
            match line? {
                Some(line) => line.write(&writer).await,
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
                Some(Ok(ClientMessage::Call(request))) => match self.make_call(request) {
                    Some(message) => return Some(message),
                    None => continue,
                },
                Some(Ok(ClientMessage::Cancel(id, message))) => {
                    let line = self.cancel(&id);
                    reader.answer(&self.writer, line);
                    // The request may be with rmcp.
                    return Some(message);
                }
                Some(Ok(ClientMessage::Other(message))) => return Some(message),
                // It is in the answer of the batch.
                Some(Err(_)) => continue,
                None => {}
            }
            let line = {
                let IncomingMessages {
                    lines,
                    handed_over,
                    has_paused,
                    ..
                } = &mut *reader;
                let next = async {
                    if self.running.len() >= MANY_CALLS && !std::mem::replace(has_paused, true) {
                        yield_now().await;
                    }
                    self.unwritten.room().await;
                    lines.next().await
                };
                tokio::select! {
                    biased;
                    Some(message) = next_handed_over(handed_over) => return Some(message),
                    line = next => line,
                }
            };
            reader.has_paused = false;
            let Some(line) = line else {
                return self.last_message(&mut reader).await;
            };
            match line {
                Ok(line) => match read_line(&line, &self.connection) {
                    Incoming::One(Ok(message)) => reader.batch.push_back(Ok(message)),
                    Incoming::One(Err(invalid)) => {
                        tracing::debug!(error = %invalid.error, "refused an invalid message");
                        reader.answer(&self.writer, Some(invalid.to_json()));
                    }
                    Incoming::Batch(messages) => {
                        let line = self.batches.lock().begin(&messages);
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

fn read_line(line: &Line, connection: &Connection) -> Incoming {
    match line {
        Line::Whole(text) => message::read(
            text,
            connection.state.served(Revisions::All),
            connection.allows_batches(),
        ),
        Line::TooLong { size, id } => Incoming::One(Err(InvalidMessage::too_long(
            *size,
            connection.state.settings.max_message,
            id,
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::calls::CallsUnderWay;
    use rmcp::model::{CallToolRequestParams, RequestMetaObject};

    // T23
    #[tokio::test]
    async fn a_call_cancelled_on_its_way_does_not_reach_rmcp() {
        let calls = CallsUnderWay::default();
        let (hand_over, mut handed_over) = unbounded_channel();
        for number in [1, 2] {
            let id = RequestId::Number(number);
            let call = calls.enter(&id).expect("a new id");
            let request = CallRequest {
                id,
                params: CallToolRequestParams::new("t"),
                meta: RequestMetaObject::default(),
            };
            let sent = hand_over.send(request.into_rmcp(Some(call)));
            assert!(sent.is_ok());
        }
        calls.cancel(&RequestId::Number(1));

        let Some(JsonRpcMessage::Request(request)) = next_handed_over(&mut handed_over).await
        else {
            panic!("no request");
        };
        assert_eq!(request.id, RequestId::Number(2));
    }
}
