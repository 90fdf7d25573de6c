//! Rules about a tool's options.

use std::path::Path;

use crate::errors::Errors;
use crate::model::{Text, Tool};

/// The model chooses by it.
pub(super) fn has_description(tool: &Tool, errors: &mut Errors) {
    let missing = match &tool.description {
        None => true,
        Some(Text::Words(words)) => words.trim().is_empty(),
        Some(Text::Made(_)) => false,
    };
    if missing {
        let name = tool.function.plain_name();
        let message =
            format!("tool `{name}` has no description\nhelp: add a `///` comment; the model chooses a tool by it");
        errors.report(tool.ident(), message);
    }
}

/// A retrieval tool is read-only.
pub(super) fn retrieval_is_harmless(tool: &Tool, errors: &mut Errors) {
    let retrieves = tool.options.category == Some("retrieval");
    if let Some(path) = tool.options.flag("destructive").filter(|_| retrieves) {
        let message = "a `retrieval` tool only reads, so it cannot be `destructive`\nhelp: make its category `action`, or remove `destructive`";
        errors.report(path, message);
    }
}

/// The pool is for code that blocks its thread.
pub(super) fn blocking_is_sync(tool: &Tool, errors: &mut Errors) {
    if let Some(path) = tool.options.flag("blocking").filter(|_| tool.function.sig.asyncness.is_some()) {
        let message = "`blocking` is for functions that are not `async`\nhelp: remove `async`, or move the blocking work into a function of its own";
        errors.report(path, message);
    }
}

/// In a block the path is the block's.
pub(super) fn crate_is_of_the_block(tool: &Tool, errors: &mut Errors) {
    if let Some(path) = &tool.options.krate {
        errors.report(path, "`crate` is said once for the block\nhelp: move it to `#[toolset(crate = ..)]`");
    }
}

/// A guide that is not there, or says nothing, is found before it ships.
pub(super) fn guide_exists(tool: &Tool, errors: &mut Errors) {
    let Some(guide) = &tool.options.guide else { return };
    let Some(root) = std::env::var_os("CARGO_MANIFEST_DIR") else { return };
    let path = Path::new(&root).join(guide.value());
    match std::fs::read_to_string(&path) {
        Ok(text) if !text.trim().is_empty() => {}
        Ok(_) => errors.report(guide, "the guide is empty\nhelp: write it, or remove `guide`"),
        Err(error) => {
            let shown = guide.value();
            errors.report(
                guide,
                format!(
                    "cannot read the guide `{shown}`: {error}\nhelp: the path counts from the directory of `Cargo.toml`"
                ),
            );
        }
    }
}
