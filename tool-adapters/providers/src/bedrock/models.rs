//! The differences between the models of Bedrock, by their names.

/// Returns true for a model of Anthropic.
pub(crate) fn is_claude(model: &str) -> bool {
    has_name(model, &["anthropic.", "claude"])
}

/// Returns true for a model of Anthropic or Amazon.
pub(crate) fn is_claude_or_nova(model: &str) -> bool {
    is_claude(model) || has_name(model, &["nova"])
}

/// The resources whose ARN has the name of the model in it.
const NAMED_RESOURCES: [&str; 3] = [
    ":foundation-model/",
    ":inference-profile/",
    ":default-prompt-router/",
];

/// Returns true for an ARN that does not tell its model. It is of a resource of the user's own: a
/// profile, a deployment, an imported model, a prompt or a router.
pub(crate) fn is_unknown(model: &str) -> bool {
    model.starts_with("arn:") && !has_name(model, &NAMED_RESOURCES)
}

/// Returns true for a model that can be made to call a given tool (docs.aws.amazon.com,
/// `ToolChoice`).
pub(crate) fn takes_tool_choice(model: &str) -> bool {
    is_claude_or_nova(model) || is_unknown(model)
}

/// Returns true for a model that can be made to call any tool (docs.aws.amazon.com, `ToolChoice`).
pub(crate) fn takes_any_choice(model: &str) -> bool {
    takes_tool_choice(model) || has_name(model, &["mistral-large"])
}

/// Returns true for a model that takes images and documents in a result. Others take them from the
/// user only.
pub(crate) fn takes_files_in_results(model: &str) -> bool {
    is_claude_or_nova(model) || has_name(model, &["llama4"])
}

/// Returns true for a model that takes the thoughts of a step which does not name its model.
pub(crate) fn takes_stored_thoughts(model: &str) -> bool {
    is_claude(model) || is_unknown(model)
}

fn has_name(model: &str, names: &[&str]) -> bool {
    names.iter().any(|name| model.contains(name))
}
