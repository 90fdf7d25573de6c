//! The model of a step. Another model of the same server may refuse the step's reasoning, so the
//! raw turn names the model that made it.

use serde_json::Value;

/// The type of the item that names the model of a step with reasoning. It is our own, and is never
/// sent.
pub(crate) const MODEL: &str = "model_of_step";

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
