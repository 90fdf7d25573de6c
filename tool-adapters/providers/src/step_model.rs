//! The model of a step. Another model of the same server may refuse the step's reasoning, so the
//! raw turn names the model that made it.

use serde_json::{Value, json};

/// The type of the item that names the model of a step with reasoning. It is our own, and is never
/// sent.
pub(crate) const MODEL: &str = "model_of_step";

/// Returns the item that names the requested model of a step with reasoning.
pub(crate) fn model_item(model: &str, has_reasoning: bool) -> Option<Value> {
    has_reasoning.then(|| json!({"type": MODEL, "model": model}))
}

pub(crate) fn is_model_item(item: &Value) -> bool {
    item["type"] == MODEL
}

/// Returns the model that made a step; `None` if its items do not name it.
pub(crate) fn model_of(items: &[Value]) -> Option<&str> {
    let named = items.iter().find(|item| is_model_item(item))?;
    named["model"].as_str()
}

/// Returns true if a model made a step, or if its items do not name the model.
pub(crate) fn is_of_model(items: &[Value], model: &str) -> bool {
    model_of(items).is_none_or(|named| named == model)
}
