//! Factories: they create toolsets from settings and secrets in JSON.

use crate::arguments::problem::Problem;
use crate::call::error::{ErrorList, ToolError};
use crate::json::nested::{MAX_DEPTH, unless_too_deep};
use crate::text;
use crate::tool::action;
use crate::tool::action::Action;
use crate::tool::configure::metadata::ToolsetMetadata;
use crate::tool::configure::secret_document::SecretDocument;
use crate::tool::spec::LinkedToolset;
use crate::tool::toolset::Toolset;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

#[doc = include_str!("../../docs/configure.md")]
pub trait Configure: Sized {
    /// The settings that a person edits: a struct, or `()`. A form shows the titles and
    /// descriptions of its schema.
    type Config: DeserializeOwned + JsonSchema + Send;
    /// The secrets that are never shown again: a struct, or `()`.
    type Secrets: DeserializeOwned + JsonSchema + Send;

    /// Creates the toolset, or returns the error for the person who edits the settings.
    fn configure(
        config: Self::Config,
        secrets: Self::Secrets,
    ) -> impl Future<Output = Result<Self, ToolError>> + Send;
}

/// A toolset created from its settings, or the reason why it was not created.
pub type Configured = Result<Arc<dyn Toolset>, ConfigureError>;

/// A factory that creates a toolset from settings in JSON.
///
/// Every linked toolset that implements [`Configure`] has one. Implement it by hand for toolsets
/// that are only known at run time, such as those of a server whose address is a setting.
pub trait ToolsetFactory: Send + Sync + 'static {
    /// Returns the metadata for a settings form.
    fn metadata(&self) -> &ToolsetMetadata;

    /// Returns the actions of its toolsets, as far as they are known before one is created.
    fn actions(&self) -> Vec<Action>;

    /// Creates a toolset. `config` is checked again, and its defaults are filled in.
    fn configure(&self, config: Value, secrets: SecretDocument) -> BoxFuture<'_, Configured>;
}

/// The reason why a toolset was not created. None of its texts contains a secret.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigureError {
    /// The settings do not fit their schema.
    #[error("the settings do not fit their schema:{}", list(.0))]
    Config(ErrorList<Problem>),
    /// The secrets do not fit their schema. The problems contain pointers and kinds, but no values.
    #[error("the secrets do not fit their schema:{}", list(.0))]
    Secrets(ErrorList<Problem>),
    /// Neither settings nor secrets fit their schema.
    #[error("{}\n{}", Self::Config(config.clone()), Self::Secrets(secrets.clone()))]
    Both {
        /// The problems of the settings.
        config: ErrorList<Problem>,
        /// The problems of the secrets.
        secrets: ErrorList<Problem>,
    },
    /// The toolset's own `configure` failed.
    #[error("the toolset failed to configure itself: {0}")]
    Failed(ToolError),
}

fn list(problems: &[Problem]) -> String {
    problems.iter().fold(String::new(), |text, problem| {
        text + "\n- " + &problem.in_settings()
    })
}

/// The factory of a toolset that a macro registered.
pub(crate) struct LinkedFactory {
    metadata: ToolsetMetadata,
    linked: LinkedToolset,
    constructor: Box<Constructor>,
}

type Constructor = dyn for<'a> Fn(&'a ToolsetMetadata, Value, &'a SecretDocument) -> BoxFuture<'a, Configured>
    + Send
    + Sync;

impl LinkedFactory {
    /// Creates the factory of a type that implements `Configure`.
    pub(crate) fn configured<T: Configure + Toolset>(linked: LinkedToolset) -> Self {
        let metadata =
            ToolsetMetadata::of_linked(&linked.toolset).configured_by::<T::Config, T::Secrets>();
        Self {
            metadata,
            linked,
            constructor: Box::new(configure::<T>),
        }
    }

    /// Creates the factory of a type that needs no settings.
    #[cfg(feature = "agents")]
    pub(crate) fn default(linked: LinkedToolset, make: fn() -> Arc<dyn Toolset>) -> Self {
        let metadata = ToolsetMetadata::of_linked(&linked.toolset);
        let constructor: Box<Constructor> = Box::new(move |metadata, config, _| {
            Box::pin(async move {
                metadata
                    .read_config::<()>(&config)
                    .map_err(ConfigureError::Config)?;
                Ok(make())
            })
        });
        Self {
            metadata,
            linked,
            constructor,
        }
    }
}

impl ToolsetFactory for LinkedFactory {
    fn metadata(&self) -> &ToolsetMetadata {
        &self.metadata
    }

    fn actions(&self) -> Vec<Action> {
        action::actions_of_type(&self.linked)
    }

    fn configure(&self, config: Value, secrets: SecretDocument) -> BoxFuture<'_, Configured> {
        Box::pin(async move {
            let config = unless_too_deep(config)
                .ok_or_else(|| ConfigureError::Config(Problem::too_deep(MAX_DEPTH).into()))?;
            // `AssertUnwindSafe` is sound: after a panic the state is dropped together with the
            // unfinished toolset.
            let configured = AssertUnwindSafe(async {
                (self.constructor)(&self.metadata, config, &secrets).await
            })
            .catch_unwind()
            .await;
            let configured = configured.unwrap_or_else(|panic| {
                let message = format!("`configure` panicked: {}", text::of_panic(panic));
                Err(ConfigureError::Failed(ToolError::internal(message)))
            });
            configured.map_err(|error| match error {
                ConfigureError::Failed(error) => ConfigureError::Failed(secrets.scrub(error)),
                other => other,
            })
        })
    }
}

/// Decodes settings and secrets, and configures the toolset. Only this part is compiled for each
/// type.
fn configure<'a, T: Configure + Toolset>(
    metadata: &'a ToolsetMetadata,
    config: Value,
    secrets: &'a SecretDocument,
) -> BoxFuture<'a, Configured> {
    Box::pin(async move {
        let read = (
            metadata.read_config::<T::Config>(&config),
            metadata.read_secrets::<T::Secrets>(secrets),
        );
        let (config, secrets) = match read {
            (Ok(config), Ok(secrets)) => (config, secrets),
            (Err(config), Ok(_)) => return Err(ConfigureError::Config(config)),
            (Ok(_), Err(secrets)) => return Err(ConfigureError::Secrets(secrets)),
            (Err(config), Err(secrets)) => return Err(ConfigureError::Both { config, secrets }),
        };
        let toolset = T::configure(config, secrets)
            .await
            .map_err(ConfigureError::Failed)?;
        Ok(Arc::new(toolset) as Arc<dyn Toolset>)
    })
}
