//! Random ids of the requests that the server sends to a client.
//!
//! rmcp counts its requests from 0, so that every client that reaches a session could answer a
//! question that its user was asked. Here each request leaves with 128 random bits as its id, and
//! only an answer that repeats them arrives.

use rmcp::model::{JsonRpcMessage, RequestId, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{ErrorData, RoleServer};
use std::collections::HashMap;
use std::io;
use tool_core::text::hex;

/// A transport that replaces the ids of outgoing requests.
pub(crate) struct RandomIds<T> {
    transport: T,
    /// rmcp's ids of the requests that are not answered, by the ids that the client sees.
    sent: HashMap<String, RequestId>,
}

impl<T> RandomIds<T> {
    pub(crate) fn new(transport: T) -> Self {
        Self {
            transport,
            sent: HashMap::new(),
        }
    }

    fn replace_outgoing(&mut self, message: &mut TxJsonRpcMessage<RoleServer>) -> io::Result<()> {
        match message {
            JsonRpcMessage::Request(request) => {
                let id = random_id().map_err(io::Error::other)?;
                let original =
                    std::mem::replace(&mut request.id, RequestId::String(id.as_str().into()));
                self.sent.insert(id, original);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ServerNotification::CancelledNotification(cancelled) =
                    &mut notification.notification
                    && let Some(original) = cancelled.params.request_id.as_mut()
                    && let Some(id) = self
                        .sent
                        .extract_if(|_, sent| sent == original)
                        .next()
                        .map(|(id, _)| id)
                {
                    *original = RequestId::String(id.into());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Restores rmcp's id of the request that a message answers. Returns false if no request has
    /// the message's id.
    fn restore_incoming(&mut self, message: &mut RxJsonRpcMessage<RoleServer>) -> bool {
        let id = match message {
            JsonRpcMessage::Response(response) => &mut response.id,
            JsonRpcMessage::Error(error) => match &mut error.id {
                Some(id) => id,
                None => return true,
            },
            _ => return true,
        };
        let original = match &*id {
            RequestId::String(text) => self.sent.remove(&**text),
            RequestId::Number(_) => None,
        };
        original.map(|original| *id = original).is_some()
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for RandomIds<T> {
    type Error = io::Error;

    fn send(
        &mut self,
        mut message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let sending = self
            .replace_outgoing(&mut message)
            .map(|()| self.transport.send(message));
        async move { sending?.await.map_err(io::Error::other) }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            let mut message = self.transport.receive().await?;
            if self.restore_incoming(&mut message) {
                return Some(message);
            }
            tracing::debug!("dropped an answer to a request that was not sent");
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.transport.close().await.map_err(io::Error::other)
    }
}

/// Returns 128 random bits in hexadecimal.
pub(crate) fn random_id() -> Result<String, ErrorData> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "failed to get random bytes");
        ErrorData::internal_error("An internal error occurred", None)
    })?;
    Ok(hex(&bytes))
}
