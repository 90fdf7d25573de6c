//! Toolsets that have to be configured, and what a settings form needs to know of them. The model never sees any of it.

pub(crate) mod access_token;
pub(crate) mod form;
pub(crate) mod metadata;
pub(crate) mod scrub;
pub(crate) mod secret;

use crate::arguments::problem::Problem;
use crate::call::error::ToolError;
use crate::text;
use crate::tool::action;
use crate::tool::action::Action;
use crate::tool::configure::metadata::ToolsetMetadata;
use crate::tool::configure::secret::SecretDocument;
use crate::tool::registration::Linked;
use crate::tool::spec::ToolsetFacts;
use crate::tool::toolset::Toolset;
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

#[doc = include_str!("../../docs/configure.md")]
pub trait Configure: Sized {
    /// What a person sets: a struct, or `()`. Its schema is for a form, so titles and descriptions matter.
    type Config: DeserializeOwned + JsonSchema + Send;
    /// What nobody may read again: a struct, or `()`.
    type Secrets: DeserializeOwned + JsonSchema + Send;

    /// Makes the toolset, or says what is wrong with the settings.
    fn configure(config: Self::Config, secrets: Self::Secrets) -> impl Future<Output = Result<Self, ToolError>> + Send;
}

// ---- What makes toolsets of settings that come as JSON.

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

// ---- The factories of toolsets that are linked in.

/// Makes a toolset of a type that is known here no more.
pub(crate) type Make = for<'a> fn(&'a ToolsetMetadata, Value, &'a SecretDocument) -> Making<'a>;
type Making<'a> = Pin<Box<dyn Future<Output = Configured> + Send + 'a>>;

/// The factory of a toolset that a macro registered.
pub(crate) struct LinkedFactory {
    metadata: ToolsetMetadata,
    linked: Linked,
    make: How,
}

#[derive(Clone, Copy)]
enum How {
    Configured(Make),
    #[cfg_attr(not(feature = "agents"), allow(dead_code))]
    Default(fn() -> Arc<dyn Toolset>),
}

impl LinkedFactory {
    /// Of a type that is `Configure`.
    pub(crate) fn configured<T: Configure + Toolset>(linked: Linked) -> Self {
        let metadata = metadata_of(&linked.facts).configured_by::<T::Config, T::Secrets>();
        Self { metadata, linked, make: How::Configured(configured::<T>) }
    }

    /// Of a type that needs nothing.
    #[cfg(feature = "agents")]
    pub(crate) fn default(linked: Linked, make: fn() -> Arc<dyn Toolset>) -> Self {
        Self { metadata: metadata_of(&linked.facts), linked, make: How::Default(make) }
    }

    async fn made(&self, config: Value, secrets: &SecretDocument) -> Configured {
        match self.make {
            How::Configured(make) => make(&self.metadata, config, secrets).await,
            How::Default(make) => {
                let nothing = self.metadata.read_config::<()>(&config).map_err(ConfigureError::Config);
                nothing.map(|()| make())
            }
        }
    }
}

impl ToolsetFactory for LinkedFactory {
    fn metadata(&self) -> &ToolsetMetadata {
        &self.metadata
    }

    fn actions(&self) -> Vec<Action> {
        action::of_type(&self.linked)
    }

    fn configure(&self, config: Value, secrets: SecretDocument) -> Making<'_> {
        Box::pin(async move {
            // `AssertUnwindSafe`: what a panic leaves behind is dropped with the toolset that was not made.
            let made = AssertUnwindSafe(self.made(config, &secrets)).catch_unwind().await;
            let made = made.unwrap_or_else(|panic| {
                let why = format!("it panicked: {}", text::of_panic(panic));
                Err(ConfigureError::Failed(ToolError::internal(why)))
            });
            made.map_err(|error| match error {
                ConfigureError::Failed(error) => ConfigureError::Failed(secrets.scrubbed(error)),
                other => other,
            })
        })
    }
}

/// What is known of a toolset without its settings.
pub(crate) fn metadata_of(facts: &ToolsetFacts) -> ToolsetMetadata {
    let ToolsetFacts { name, title, description, auth, .. } = *facts;
    let metadata = ToolsetMetadata::new(name, description).authorized_by(auth.map(|auth| auth()).unwrap_or_default());
    match title {
        Some(title) => metadata.titled(title),
        None => metadata,
    }
}

/// The only part that is compiled for each toolset.
fn configured<'a, T: Configure + Toolset>(
    metadata: &'a ToolsetMetadata,
    config: Value,
    secrets: &'a SecretDocument,
) -> Making<'a> {
    Box::pin(async move {
        let read = (metadata.read_config::<T::Config>(&config), metadata.read_secrets::<T::Secrets>(secrets));
        let (config, secrets) = match read {
            (Ok(config), Ok(secrets)) => (config, secrets),
            (Err(config), Ok(_)) => return Err(ConfigureError::Config(config)),
            (Ok(_), Err(secrets)) => return Err(ConfigureError::Secrets(secrets)),
            (Err(config), Err(secrets)) => return Err(ConfigureError::Both { config, secrets }),
        };
        let toolset = T::configure(config, secrets).await.map_err(ConfigureError::Failed)?;
        Ok(Arc::new(toolset) as Arc<dyn Toolset>)
    })
}
