//! The options of `#[tool_error(...)]`.

use syn::{Attribute, LitBool, LitStr, Path};

use super::toolset::crate_path;
use super::{Grammar, choice, flag, has_value, is, value};
use crate::errors::Errors;

const GRAMMAR: Grammar =
    Grammar { shown: "#[tool_error]", known: &["kind", "retryable", "partial_side_effects", "crate"], repeatable: &[] };

const KINDS: &[&str] = &["transient", "permanent", "conflict", "auth", "rate_limit", "session_inactive", "internal"];

#[derive(Clone, Default)]
pub(crate) struct ToolErrorOptions {
    pub(crate) kind: Option<&'static str>,
    pub(crate) retryable: Option<bool>,
    pub(crate) partial_side_effects: Option<bool>,
    pub(crate) krate: Option<Path>,
}

impl ToolErrorOptions {
    pub(crate) fn parse(attrs: &[Attribute], errors: &mut Errors) -> Self {
        let (mut options, mut seen) = (Self::default(), Vec::new());
        for attr in attrs.iter().filter(|attr| is(attr, "tool_error")) {
            GRAMMAR.read(attr, &mut seen, errors, |key, meta| {
                match key {
                    "kind" => {
                        let kind: LitStr = value(meta, "\"rate_limit\"")?;
                        options.kind = Some(choice("kind", &kind, KINDS)?);
                    }
                    "crate" => options.krate = Some(crate_path(meta)?),
                    _ => {
                        let set = if has_value(meta) {
                            value::<LitBool>(meta, "false")?.value
                        } else {
                            flag(meta).map(|()| true)?
                        };
                        if key == "retryable" {
                            options.retryable = Some(set);
                        } else {
                            options.partial_side_effects = Some(set);
                        }
                    }
                }
                Ok(())
            });
        }
        options
    }

    /// A variant's own words, and the type's where it says nothing.
    pub(crate) fn or(&self, of_type: &Self) -> Self {
        Self {
            kind: self.kind.or(of_type.kind),
            retryable: self.retryable.or(of_type.retryable),
            partial_side_effects: self.partial_side_effects.or(of_type.partial_side_effects),
            krate: of_type.krate.clone(),
        }
    }
}
