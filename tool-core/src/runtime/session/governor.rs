//! What a tool's run context reaches of its session.

use super::core::Core;
use crate::call::ToolCall;
use crate::response::{ToolError, ToolResponse};
use crate::run::{Boxed, Governor};
use crate::runtime::pipeline::{self, How};
use serde_json::Value;
use std::sync::Arc;

impl Governor for Core {
    fn call(self: Arc<Self>, call: ToolCall, depth: u32) -> Boxed<'static, ToolResponse> {
        Box::pin(async move { pipeline::run(&self, call, Some(Box::new(How { depth, ..How::default() }))).await })
    }

    fn state(&self) -> Arc<Value> {
        Arc::new(serde_json::to_value(&*self.record.state()).unwrap_or_default())
    }

    fn idempotency_key(&self, call: &ToolCall, turn: u64) -> Option<Arc<str>> {
        let (_, tool) = self.toolbox.find(call.name())?;
        let arguments = pipeline::canonical_of_sent(self, tool, call.arguments());
        Some(pipeline::idempotency_key(self.id.as_str(), turn, call.name(), &arguments).into())
    }

    fn playout(self: Arc<Self>) -> Boxed<'static, ()> {
        Box::pin(async move { self.playout.finished().await })
    }

    fn cancel_for_model(&self, call_id: &str) -> Result<(), ToolError> {
        self.running.cancel_for_model(call_id)
    }

    fn running_for_model(&self) -> Value {
        self.running.for_model()
    }
}
