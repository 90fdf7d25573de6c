//! Toolsets that have to be configured, and what a settings form needs to know of them. The model never sees any of it.

use crate::response::ToolError;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a toolset is made of its settings.
///
/// A toolset that implements this is not discovered by itself: somebody has to configure it.
///
/// ```
/// use tool_core::{Configure, ToolContext, ToolError, schemars::JsonSchema, serde::Deserialize, toolset};
///
/// struct Shop {
///     currency: String,
/// }
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(crate = "tool_core::serde")]
/// #[schemars(crate = "tool_core::schemars")]
/// struct Settings {
///     /// Three letters
///     currency: String,
/// }
///
/// impl Configure for Shop {
///     type Config = Settings;
///     type Secrets = ();
///
///     async fn configure(config: Settings, (): ()) -> Result<Self, ToolError> {
///         Ok(Self { currency: config.currency })
///     }
/// }
///
/// #[toolset]
/// impl Shop {
///     /// Tell a price.
///     #[tool]
///     fn price(&self, cents: u32) -> String {
///         format!("{}.{:02} {}", cents / 100, cents % 100, self.currency)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let settings = tool_core::serde_json::from_str(r#"{"currency": "EUR"}"#)?;
/// let tools = ToolContext::builder().with(Shop::configure(settings, ()).await?).build()?;
/// # assert!(tools.has_tool("price"));
/// # Ok(())
/// # }
/// ```
pub trait Configure: Sized {
    /// What a person sets. Its schema is for a form, so titles and descriptions matter.
    type Config: DeserializeOwned + JsonSchema + Send;
    /// What nobody may read again.
    type Secrets: DeserializeOwned + JsonSchema + Send;

    /// Makes the toolset, or says what is wrong with the settings.
    fn configure(config: Self::Config, secrets: Self::Secrets) -> impl Future<Output = Result<Self, ToolError>> + Send;
}

/// How a toolset proves who it works for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Auth {
    /// It does not.
    #[default]
    None,
    /// By a key.
    ApiKey,
    /// By a name and a password.
    Basic,
    /// By a token that a person grants.
    #[serde(rename = "oauth2")]
    OAuth2(OAuth2),
}

/// An OAuth 2 grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OAuth2 {
    /// Who grants it.
    pub provider: String,
    /// What is asked for.
    pub scopes: Vec<String>,
    /// Where a person agrees.
    pub auth_url: String,
    /// Where a code becomes a token.
    pub token_url: String,
}

impl Auth {
    /// An OAuth 2 grant of a provider, with scopes, authorisation URL and token URL.
    pub fn oauth2(
        provider: impl Into<String>,
        scopes: impl IntoIterator<Item = impl Into<String>>,
        auth_url: impl Into<String>,
        token_url: impl Into<String>,
    ) -> Self {
        Self::OAuth2(OAuth2 {
            provider: provider.into(),
            scopes: scopes.into_iter().map(Into::into).collect(),
            auth_url: auth_url.into(),
            token_url: token_url.into(),
        })
    }
}

/// What a settings form needs to know of a toolset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolsetMetadata {
    /// The toolset's id.
    pub name: String,
    /// A name for people.
    pub title: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of the settings, with titles, descriptions and defaults; absent where there are none.
    pub config_schema: Option<Value>,
    /// The same of the secrets. `()` as a type says that there are none.
    pub secrets_schema: Option<Value>,
    /// Whether it has to prove who it works for.
    pub requires_auth: bool,
    /// How it proves it.
    pub auth: Auth,
}

impl ToolsetMetadata {
    pub(crate) fn new(name: &str, title: Option<&str>, description: &str, auth: Option<Auth>) -> Self {
        let auth = auth.unwrap_or_default();
        Self {
            name: name.to_owned(),
            title: title.map_or_else(|| titled(name), str::to_owned),
            description: description.to_owned(),
            config_schema: None,
            secrets_schema: None,
            requires_auth: auth != Auth::None,
            auth,
        }
    }

    /// Adds what `T` is configured by.
    pub(crate) fn configured_by<T: Configure>(&mut self) {
        let generator = || SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None).into_generator();
        // `()` stands for nothing to set.
        let something = |schema: Value| (schema["type"] != "null").then_some(schema);
        self.config_schema = something(generator().into_root_schema_for::<T::Config>().to_value());
        self.secrets_schema = something(generator().into_root_schema_for::<T::Secrets>().to_value());
    }
}

/// `google_calendar` as a person writes it: `Google Calendar`.
fn titled(name: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
    };
    name.split(['_', '-']).filter(|part| !part.is_empty()).map(word).collect::<Vec<_>>().join(" ")
}
