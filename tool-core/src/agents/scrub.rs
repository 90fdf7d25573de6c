//! Taking a record's secrets out of what its toolset says.

use crate::agents::error::AgentErrorKind;
use crate::agents::grant::Grant;
use crate::agents::tokens::Tokens;
use crate::arguments::problem::Problem;
use crate::call::error::ToolError;
use crate::tool::configure::ConfigureError;
use crate::tool::configure::secret::SecretDocument;
use std::sync::Arc;

/// The secrets of a record, and the grant whose tokens take the place of some of them.
pub(crate) struct Scrub {
    pub(crate) secrets: SecretDocument,
    pub(crate) grant: Option<Arc<Grant>>,
}

impl Scrub {
    /// The error without them.
    pub(crate) fn error(&self, error: ToolError) -> ToolError {
        let Some(grant) = &self.grant else { return self.secrets.scrubbed(error) };
        let error = Tokens::without_plain(&self.secrets).scrubbed(error);
        Tokens::without_plain(&grant.document(&self.secrets)).scrubbed(error)
    }

    /// Why a toolset failed.
    pub(crate) fn failed(&self, error: ToolError) -> AgentErrorKind {
        AgentErrorKind::Failed(self.error(error))
    }

    /// Why a toolset was not configured.
    pub(crate) fn told(&self, error: ConfigureError) -> AgentErrorKind {
        let clean = |problems: Vec<Problem>| problems.into_iter().map(|problem| self.problem(problem)).collect();
        AgentErrorKind::from(match error {
            ConfigureError::Config(problems) => ConfigureError::Config(clean(problems)),
            ConfigureError::Secrets(problems) => ConfigureError::Secrets(clean(problems)),
            ConfigureError::Both { config, secrets } => {
                ConfigureError::Both { config: clean(config), secrets: clean(secrets) }
            }
            ConfigureError::Failed(error) => ConfigureError::Failed(self.error(error)),
        })
    }

    /// A factory that is written by hand may have quoted anything.
    fn problem(&self, problem: Problem) -> Problem {
        let clean = |text: String| self.error(ToolError::permanent(text)).message().to_owned();
        Problem {
            pointer: clean(problem.pointer),
            expected: clean(problem.expected),
            got: clean(problem.got),
            hint: problem.hint.map(clean),
        }
    }
}
