//! What a settings form needs to know of a toolset.

use super::{Auth, Configure};
use schemars::generate::SchemaSettings;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
