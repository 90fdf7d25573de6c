//! The list of the providers as an enum, and their names.

use crate::Provider;
use serde::{Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// Declares [`Provider`] from the list of providers and their specs.
macro_rules! providers {
    ($($(#[$doc:meta])* $provider:ident = $spec:path,)+) => {
        /// The interface of a model provider: one form of declarations and one protocol.
        ///
        /// ```
        /// use tool_adapters::Provider;
        ///
        /// assert_eq!("openai-responses".parse::<Provider>()?, Provider::OpenAiResponses);
        /// assert_eq!(Provider::GeminiJsonSchema.name(), "gemini-json-schema");
        /// # Ok::<(), tool_adapters::UnknownProvider>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Provider {
            $($(#[$doc])* $provider,)+
        }

        impl Provider {
            /// All providers.
            pub const ALL: [Self; [$(stringify!($provider)),+].len()] = [$(Self::$provider),+];

            /// Returns the facts of the provider.
            pub const fn spec(self) -> &'static $crate::spec::ProviderSpec {
                match self {
                    $(Self::$provider => &$spec,)+
                }
            }

            /// Returns the name, as the command line has it.
            pub const fn name(self) -> &'static str {
                self.spec().names.provider
            }

            /// Returns the id for [`ProviderTool::config`](tool_core::ProviderTool::config), which
            /// is the name.
            pub const fn id(self) -> tool_core::tool::ProviderId {
                tool_core::tool::ProviderId::from_static(self.name())
            }
        }
    };
}

pub(crate) use providers;

impl Serialize for Provider {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The error of a name that no provider has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown provider `{}`; expected one of {}", .0.escape_debug(), Provider::ALL.map(Provider::name).join(", "))]
pub struct UnknownProvider(String);

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(name: &str) -> Result<Self, UnknownProvider> {
        Self::ALL
            .into_iter()
            .find(|provider| provider.name() == name)
            .ok_or_else(|| UnknownProvider(name.to_owned()))
    }
}
