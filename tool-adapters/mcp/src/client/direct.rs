//! Tool calls that do not pass through rmcp.
//!
//! rmcp hands a request from task to task on its way to the server, and the answer on its way back.
//! A tool call is written by the task that makes it instead, and the answer goes straight to that
//! task, however it arrives. All other messages stay with rmcp, also those that come in the stream
//! of a call.

use crate::client::error::is_temporary;
use crate::client::http_answer::{Events, HttpError, Posted, too_long_event};
use crate::client::http_client::{AuthorizedClient, SessionHeaders};
use crate::lines::LineWriter;
use foldhash::HashMap;
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequestParams, JsonObject, ProgressToken, RequestId, RequestMetaObject,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::service::ServiceError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use rmcp::transport::{DynamicTransportError, StreamableHttpClientTransport};
use serde::Serialize;
use std::any::TypeId;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

/// The calls of a connection that wait for their answer, and the way to the server. Clones are the
/// same.
#[derive(Clone, Default)]
pub(crate) struct DirectCalls(Arc<SharedCalls>);

#[derive(Default)]
struct SharedCalls {
    calls: AtomicI64,
    waiting: Mutex<Waiting>,
    way: OnceLock<Way>,
}

#[derive(Default)]
struct Waiting {
    answers: HashMap<i64, oneshot::Sender<ServerJsonRpcMessage>>,
    is_closed: bool,
}

enum Way {
    Lines(LineWriter),
    /// A client, and where the messages go that rmcp handles.
    Http(AuthorizedClient, Sender<ServerJsonRpcMessage>),
}

/// The message of a call.
#[derive(Serialize)]
struct Call<'a> {
    jsonrpc: &'static str,
    id: &'a RequestId,
    method: &'static str,
    params: CallParams<'a>,
}

#[derive(Serialize)]
struct CallParams<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a JsonObject>,
    #[serde(rename = "_meta")]
    meta: CallMeta<'a>,
}

#[derive(Serialize)]
struct CallMeta<'a> {
    #[serde(flatten)]
    given: Option<&'a RequestMetaObject>,
    #[serde(rename = "progressToken")]
    token: &'a ProgressToken,
}

impl<'a> Call<'a> {
    fn new(id: &'a RequestId, token: &'a ProgressToken, params: &'a CallToolRequestParams) -> Self {
        let meta = CallMeta {
            given: params.meta.as_ref(),
            token,
        };
        let params = CallParams {
            name: &params.name,
            arguments: params.arguments.as_ref(),
            meta,
        };
        Self {
            jsonrpc: "2.0",
            id,
            method: "tools/call",
            params,
        }
    }
}

/// The ids of calls begin here, far from those that rmcp counts from 0, and fit into 32 bits for a
/// thousand million calls.
const FIRST_ID: i64 = 1_000_000_000;

/// The messages in the streams of calls that may wait for rmcp.
const CAPACITY: usize = 64;

/// The times in a row that a stream is requested again without bringing an event, and the first
/// pause before it.
const MAX_RESUMED: u32 = 5;
const RESUME_PAUSE: Duration = Duration::from_secs(1);

/// The pause that a server asks for, within these bounds.
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The time in which a stream ends after its answer, so that its connection can be used again.
const LAST_EVENT: Duration = Duration::from_millis(50);

impl DirectCalls {
    /// Makes the calls as lines.
    pub(crate) fn over_lines(&self, writer: LineWriter) {
        _ = self.0.way.set(Way::Lines(writer));
    }

    /// Makes the calls by requests over HTTP. Returns the messages in their streams that rmcp
    /// handles.
    pub(crate) fn over_http(&self, client: AuthorizedClient) -> Receiver<ServerJsonRpcMessage> {
        let (others, received) = channel(CAPACITY);
        _ = self.0.way.set(Way::Http(client, others));
        received
    }

    /// Returns true once the server no longer knows the session of the calls.
    pub(crate) fn has_expired(&self) -> bool {
        match self.0.way.get() {
            Some(Way::Http(client, _)) => client.has_expired(),
            _ => false,
        }
    }

    /// Returns the id of a new call, and its progress token.
    pub(crate) fn next_id(&self) -> (RequestId, ProgressToken) {
        let id = RequestId::Number(FIRST_ID + self.0.calls.fetch_add(1, Ordering::Relaxed));
        (id.clone(), ProgressToken(id))
    }

    /// Gives a call the message that answers it. Returns the message if it answers no call.
    pub(crate) fn take_message(
        &self,
        message: ServerJsonRpcMessage,
    ) -> Option<ServerJsonRpcMessage> {
        let Some(call) = answered(&message).and_then(|id| self.take(id)) else {
            return Some(message);
        };
        // A call that is gone needs no answer.
        _ = call.send(message);
        None
    }

    fn take(&self, id: &RequestId) -> Option<oneshot::Sender<ServerJsonRpcMessage>> {
        self.0.waiting.lock().answers.remove(&number(id)?)
    }

    /// Fails the calls that wait, as the connection has ended.
    pub(crate) fn close(&self) {
        let mut waiting = self.0.waiting.lock();
        waiting.is_closed = true;
        let answers = std::mem::take(&mut waiting.answers);
        drop(waiting);
        drop(answers);
    }

    /// Makes a call, and waits for its answer.
    pub(crate) async fn call(
        &self,
        (id, token): (&RequestId, &ProgressToken),
        params: &CallToolRequestParams,
    ) -> Result<ServerResult, ServiceError> {
        let message = Call::new(id, token, params);
        let (_waiting, answer) = self.expect(id)?;
        match self.0.way.get() {
            Some(Way::Lines(writer)) => {
                let written = writer.write_message(&message).await;
                written.map_err(|error| {
                    let error = DynamicTransportError::from_parts(
                        "lines",
                        TypeId::of::<Self>(),
                        Box::new(error),
                    );
                    ServiceError::TransportSend(error)
                })?;
            }
            Some(Way::Http(client, others)) => {
                let session = client.session();
                let message = serde_json::to_vec(&message).map_err(|error| failed(error.into()))?;
                // Boxed, as it would be the largest part of the future of a call over lines, too.
                match Box::pin(client.post(&session, message.into())).await {
                    Ok(Posted::Text(text, _)) => return client.read_answer(&text, id),
                    Ok(Posted::Failed(error)) => return Err(ServiceError::McpError(error)),
                    Ok(Posted::Events(events, _)) => {
                        // Boxed, as most servers of this project answer without a stream.
                        Box::pin(self.follow(events, (client, &session), others, id)).await?;
                    }
                    // The answer comes in the stream of the session.
                    Ok(Posted::Accepted) => {}
                    Ok(Posted::Refused(..)) => return Err(ServiceError::UnexpectedResponse),
                    Err(error) => return Err(failed(error)),
                }
            }
            None => return Err(ServiceError::TransportClosed),
        }
        let answer = answer.await.map_err(|_| ServiceError::TransportClosed)?;
        result(answer)
    }

    /// Lets a call wait for its answer, until the first value is dropped.
    fn expect(
        &self,
        id: &RequestId,
    ) -> Result<(impl Drop + use<'_>, oneshot::Receiver<ServerJsonRpcMessage>), ServiceError> {
        let RequestId::Number(number) = *id else {
            return Err(ServiceError::UnexpectedResponse);
        };
        let (call, answer) = oneshot::channel();
        let mut waiting = self.0.waiting.lock();
        if waiting.is_closed {
            return Err(ServiceError::TransportClosed);
        }
        waiting.answers.insert(number, call);
        Ok((EndOnDrop(self, number), answer))
    }

    /// Passes on the messages of a call's stream up to its answer. A stream that ends before is
    /// requested again.
    async fn follow(
        &self,
        mut events: Events,
        (client, session): (&AuthorizedClient, &SessionHeaders),
        others: &Sender<ServerJsonRpcMessage>,
        id: &RequestId,
    ) -> Result<(), ServiceError> {
        let mut last = None;
        let mut pause = None;
        let mut is_alone = true;
        let mut resumed = 0;
        loop {
            while let Some(event) = events.next().await {
                let event = match event {
                    Ok(event) => event,
                    Err(error) => match too_long_event(&error) {
                        Some(error) => return Err(ServiceError::McpError(error)),
                        None => break,
                    },
                };
                resumed = 0;
                last = event.id.or(last);
                pause = event.retry.map(Duration::from_millis).or(pause);
                let text = event.data.unwrap_or_default();
                let message = match client.read_event(text.as_bytes(), Some(id)) {
                    Ok(message) => message,
                    Err(Some(error)) => return Err(ServiceError::McpError(error)),
                    Err(None) => continue,
                };
                let is_answer = answered(&message).is_some_and(|of| number(of) == number(id));
                // An answer does not overtake the messages before it.
                let other = if is_alone {
                    self.take_message(message)
                } else {
                    Some(message)
                };
                if let Some(other) = other {
                    is_alone = false;
                    let sent = others.send(other).await;
                    sent.map_err(|_| ServiceError::TransportClosed)?;
                }
                if !is_answer {
                    continue;
                }
                tokio::spawn(timeout(
                    LAST_EVENT,
                    events.for_each(|_| std::future::ready(())),
                ));
                return Ok(());
            }
            if last.is_none() || resumed == MAX_RESUMED {
                break;
            }
            let wait = pause.unwrap_or(RESUME_PAUSE * 2_u32.pow(resumed));
            sleep(wait.clamp(MIN_PAUSE, MAX_PAUSE)).await;
            resumed += 1;
            events = match client.stream(session, last.as_deref()).await {
                Ok(rest) => rest,
                Err(error) if is_temporary(&error) => {
                    tracing::debug!(%error, "failed to request the stream of a call again");
                    stream::empty().boxed()
                }
                // The call has begun, whatever the server knows of the session now.
                Err(StreamableHttpError::SessionExpired) => break,
                Err(error) => return Err(failed(error)),
            };
        }
        Err(ServiceError::TransportClosed)
    }
}

/// Returns the id of the request that a message answers.
pub(crate) fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ServerJsonRpcMessage::Response(response) => Some(&response.id),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref(),
        _ => None,
    }
}

/// Returns the number of a call. Some servers answer a number with a text.
fn number(id: &RequestId) -> Option<i64> {
    match id {
        RequestId::Number(number) => Some(*number),
        RequestId::String(text) => text.parse().ok(),
    }
}

/// Returns true for the id of a call that is made here.
pub(crate) fn is_call(id: &RequestId) -> bool {
    number(id).is_some_and(|number| number >= FIRST_ID)
}

/// Returns true if a message answers a request. The error of a message whose id was not read
/// answers any.
pub(crate) fn answers(message: &ServerJsonRpcMessage, id: &RequestId) -> bool {
    match message {
        ServerJsonRpcMessage::Response(response) => number(&response.id) == number(id),
        ServerJsonRpcMessage::Error(_) => true,
        _ => false,
    }
}

/// Returns the result of an answer.
pub(crate) fn result(message: ServerJsonRpcMessage) -> Result<ServerResult, ServiceError> {
    match message {
        ServerJsonRpcMessage::Response(response) => Ok(response.result),
        ServerJsonRpcMessage::Error(error) => Err(ServiceError::McpError(error.error)),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

fn failed(error: HttpError) -> ServiceError {
    type Http = StreamableHttpClientTransport<AuthorizedClient>;
    ServiceError::TransportSend(DynamicTransportError::new::<Http, RoleClient>(error))
}

/// Ends the wait of a call when it is dropped.
struct EndOnDrop<'a>(&'a DirectCalls, i64);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.0.waiting.lock().answers.remove(&self.1);
    }
}
