//! The factories of toolsets that are linked in.

use super::{Configure, ConfigureError, Configured, SecretDocument, ToolsetFactory, ToolsetMetadata};
use crate::__private::{Linked, ToolsetFacts};
use crate::actions::{self, Action};
use crate::response::ToolError;
use crate::text;
use crate::tool::Toolset;
use futures_util::FutureExt;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

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
        let metadata = metadata(&linked.facts).configured_by::<T::Config, T::Secrets>();
        Self { metadata, linked, make: How::Configured(configured::<T>) }
    }

    /// Of a type that needs nothing.
    #[cfg(feature = "agents")]
    pub(crate) fn default(linked: Linked, make: fn() -> Arc<dyn Toolset>) -> Self {
        Self { metadata: metadata(&linked.facts), linked, make: How::Default(make) }
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
        actions::of_type(&self.linked)
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
pub(crate) fn metadata(facts: &ToolsetFacts) -> ToolsetMetadata {
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
