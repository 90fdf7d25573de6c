//! The session, as a running tool reaches it by its run context.

use crate::call::asker::QuestionLimits;
use crate::call::context::{SessionHandle, SessionMemos};
use crate::call::{Mode, ToolCall, ToolResponse};
use crate::session::inner::SessionInner;
use crate::session::pipeline::confirm;
use crate::session::pipeline::governed_call::{canonical_sent_arguments, idempotency_key};
use crate::session::pipeline::observed::call_nested;
use crate::trace::redaction::Redaction;
use futures_util::future::BoxFuture;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

impl SessionHandle for SessionInner {
    fn call(self: Arc<Self>, call: ToolCall) -> BoxFuture<'static, ToolResponse> {
        Box::pin(async move { call_nested(&self, call).await })
    }

    fn deny(self: Arc<Self>, token: String) -> BoxFuture<'static, ToolResponse> {
        let denied = async move {
            let response = confirm::deny(&self, &token, None).await;
            response.unwrap_or_else(confirm::response_without_call)
        };
        Box::pin(denied)
    }

    fn state(&self) -> Arc<Value> {
        Arc::new(serde_json::to_value(&*self.record.state()).unwrap_or_default())
    }

    fn idempotency_key(&self, call: &ToolCall, turn: u64) -> Option<Arc<str>> {
        let (_, tool) = self.tools.find(call.name())?;
        let arguments = canonical_sent_arguments(self, tool, call.arguments());
        Some(idempotency_key(self, turn, call.name(), &arguments).into())
    }

    fn playout(self: Arc<Self>) -> BoxFuture<'static, ()> {
        Box::pin(async move {
            if let Some(shared) = self.used_shared() {
                shared.playout.finished().await;
            }
        })
    }

    fn mode(&self) -> Mode {
        self.record.mode()
    }

    fn principal(&self) -> Arc<str> {
        Arc::clone(&self.principal)
    }

    fn redaction(&self) -> Redaction {
        self.policy().redaction.clone()
    }

    fn question_limits(&self) -> QuestionLimits {
        self.policy().questions
    }

    fn waiting_questions(&self) -> &AtomicU32 {
        &self.shared().waiting_questions
    }

    fn memos(&self) -> &SessionMemos {
        &self.shared().memos
    }
}
