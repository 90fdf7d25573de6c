//! What makes toolsets of settings that come as JSON.

use super::{SecretDocument, ToolsetMetadata};
use crate::actions::Action;
use crate::arguments::Problem;
use crate::response::ToolError;
use crate::tool::Toolset;
use serde_json::Value;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// A toolset that was just made of its settings, or why it was not.
pub type Configured = Result<Arc<dyn Toolset>, ConfigureError>;

/// Makes a toolset of settings in JSON. Every linked toolset that is `Configure` has one; implement it by hand for
/// toolsets that are only known at run time, such as those of a server whose address is a setting.
pub trait ToolsetFactory: Send + Sync + 'static {
    /// What a settings form needs to know.
    fn metadata(&self) -> &ToolsetMetadata;

    /// What its toolsets can do, as far as that is known before one is made.
    fn actions(&self) -> Vec<Action>;

    /// Makes a toolset. `config` is checked again, with its defaults filled in.
    fn configure(
        &self,
        config: Value,
        secrets: SecretDocument,
    ) -> Pin<Box<dyn Future<Output = Configured> + Send + '_>>;
}

/// Why a toolset was not made. No text of it shows a secret.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConfigureError {
    /// The settings do not fit their schema.
    Config(Vec<Problem>),
    /// The secrets do not fit theirs. The problems name places and kinds, and no values.
    Secrets(Vec<Problem>),
    /// Neither does.
    Both {
        /// The problems of the settings.
        config: Vec<Problem>,
        /// Those of the secrets.
        secrets: Vec<Problem>,
    },
    /// The toolset itself refused, or broke.
    Failed(ToolError),
}

impl fmt::Display for ConfigureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, what: &str, problems: &[Problem]| {
            write!(f, "{what}:")?;
            problems.iter().try_for_each(|problem| write!(f, "\n- {}", problem.in_settings()))
        };
        match self {
            Self::Config(problems) => list(f, "the settings do not fit", problems),
            Self::Secrets(problems) => list(f, "the secrets do not fit", problems),
            Self::Both { config, secrets } => {
                list(f, "the settings do not fit", config)?;
                list(f, "\nthe secrets do not fit", secrets)
            }
            Self::Failed(error) => write!(f, "the toolset did not take its settings: {error}"),
        }
    }
}

impl std::error::Error for ConfigureError {}
