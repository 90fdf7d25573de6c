//! What a settings form needs to know of a toolset.

use crate::arguments::problem::Problem;
use crate::arguments::validate::Subject;
use crate::tool::auth::Auth;
use crate::tool::configure::form;
use crate::tool::configure::form::{Kept, Sheet, Unknown, told};
use crate::tool::configure::secret::SecretDocument;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// What a settings form needs to know of a toolset.
///
/// It serialises for a user interface. Of a toolset whose settings are a currency, and whose secrets are a key:
///
/// ```
/// # use tool_core::{Auth, Secret};
/// # use tool_core::tool::ToolsetMetadata;
/// # use tool_core::schemars::JsonSchema;
/// # use tool_core::serde::Deserialize;
/// # use tool_core::serde_json::{self, json};
/// # #[derive(Deserialize, JsonSchema)]
/// # #[serde(crate = "tool_core::serde")]
/// # #[schemars(crate = "tool_core::schemars")]
/// # struct Settings {
/// #     /// Three letters
/// #     #[serde(default = "euro")]
/// #     #[schemars(length(equal = 3))]
/// #     currency: String,
/// # }
/// # fn euro() -> String { "EUR".into() }
/// # #[derive(Deserialize, JsonSchema)]
/// # #[serde(crate = "tool_core::serde")]
/// # #[schemars(crate = "tool_core::schemars")]
/// # struct Secrets {
/// #     /// From the account's page
/// #     api_key: Secret,
/// # }
/// # let form = ToolsetMetadata::new("web_shop", "Sell things.").configured_by::<Settings, Secrets>();
/// # let form = form.authorized_by(Auth::ApiKey);
/// assert_eq!(
///     serde_json::to_value(&form)?,
///     json!({
///         "name": "web_shop",
///         "title": "Web Shop",
///         "description": "Sell things.",
///         "config_schema": {
///             "title": "Settings",
///             "type": "object",
///             "properties": {
///                 "currency": {
///                     "type": "string", "description": "Three letters", "default": "EUR", "minLength": 3, "maxLength": 3,
///                 },
///             },
///         },
///         "secrets_schema": {
///             "title": "Secrets",
///             "type": "object",
///             "properties": {
///                 "api_key": {
///                     "type": "string", "description": "From the account's page", "format": "password", "writeOnly": true,
///                 },
///             },
///             "required": ["api_key"],
///         },
///         "requires_auth": true,
///         "auth": {"type": "api_key"},
///     })
/// );
///
/// // What somebody has typed: all that is wrong, and without the texts.
/// let problems = form.check_config(&json!({"currncy": "CHF", "currency": "francs"})).unwrap_err();
/// let problems = problems.iter().map(ToString::to_string).collect::<Vec<_>>();
/// assert_eq!(
///     problems,
///     [
///         "`/currency`: expected at most 3 characters, got 6 characters",
///         "`/currncy`: unknown setting, did you mean `currency`?",
///     ]
/// );
/// assert_eq!(form.check_config(&json!({})), Ok(json!({"currency": "EUR"})));
/// # Ok::<(), serde_json::Error>(())
/// ```
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
    #[serde(skip)]
    config: Kept,
    #[serde(skip)]
    secrets: Kept,
}

/// Where the tokens of a grant stand among the secrets, whatever else the toolset's secrets have.
const TOKENS: &[&str] = &[ACCESS_TOKEN, "refresh_token", "expires_at", "scope"];
const ACCESS_TOKEN: &str = "access_token";

impl ToolsetMetadata {
    /// A toolset without settings, for a [`ToolsetFactory`](super::ToolsetFactory) written by hand.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            title: titled(&name),
            name,
            description: description.into(),
            config_schema: None,
            secrets_schema: None,
            requires_auth: false,
            auth: Auth::None,
            config: Kept::default(),
            secrets: Kept::default(),
        }
    }

    /// The name for people; the name's own words unless told.
    #[must_use]
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// How it proves who it works for.
    #[must_use]
    pub fn authorized_by(mut self, auth: Auth) -> Self {
        self.requires_auth = auth != Auth::None;
        self.auth = auth;
        self
    }

    /// The types of the settings and of the secrets; `()` where there are none.
    #[must_use]
    pub fn configured_by<C: JsonSchema, S: JsonSchema>(mut self) -> Self {
        let generator = || SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None).into_generator();
        // `()` stands for nothing to set.
        let something = |schema: Value| (schema["type"] != "null").then_some(schema);
        self.config_schema = something(generator().into_root_schema_for::<C>().to_value());
        self.secrets_schema = something(generator().into_root_schema_for::<S>().to_value());
        self
    }

    /// The settings with their defaults filled in, or every problem, for whoever is about to write them. A top-level
    /// name that the schema has no place for is a problem too. Problems show numbers and booleans, and of texts only
    /// the length.
    pub fn check_config(&self, config: &Value) -> Result<Value, Vec<Problem>> {
        self.config_sheet().fill(config, Unknown::Refused)
    }

    /// Every problem of secrets that are about to be written. No problem shows a value. The tokens of a grant may be
    /// among them or be missing: they come and go with the grant.
    pub fn check_secrets(&self, secrets: &SecretDocument) -> Result<(), Vec<Problem>> {
        let Some(mut value) = secrets.parsed() else { return Err(vec![no_json()]) };
        told(self.problems_of_secrets(&mut value, Unknown::Refused, self.takes_grant()))
    }

    /// Every problem of secrets that are in a record and stay there. Names that the schema no longer has a place for do
    /// no harm.
    #[cfg(feature = "agents")]
    pub(crate) fn check_kept_secrets(&self, secrets: &SecretDocument) -> Result<(), Vec<Problem>> {
        let Some(mut value) = secrets.parsed() else { return Err(vec![no_json()]) };
        told(self.problems_of_secrets(&mut value, Unknown::Ignored, self.takes_grant()))
    }

    /// Reads settings that were stored: checked again, with their defaults filled in. Names that the schema no longer has
    /// a place for are left out.
    pub fn read_config<T: DeserializeOwned>(&self, config: &Value) -> Result<T, Vec<Problem>> {
        let mut filled = self.config_sheet().fill(config, Unknown::Ignored)?;
        if self.config_schema.is_none() {
            filled = Value::Null;
        }
        form::settings(&filled)
    }

    /// Reads secrets that were stored, checked again. No problem shows a value.
    pub fn read_secrets<T: DeserializeOwned>(&self, secrets: &SecretDocument) -> Result<T, Vec<Problem>> {
        let Some(mut value) = secrets.parsed() else { return Err(vec![no_json()]) };
        told(self.problems_of_secrets(&mut value, Unknown::Ignored, secrets.has_grant()))?;
        if self.secrets_schema.is_none() {
            *value = Value::Null;
        }
        secrets.with_grant_in_place(|| form::secrets(&value))
    }

    /// What is wrong with the schemas themselves: no form can be made of them, or nothing that it gives is accepted.
    #[cfg(feature = "agents")]
    pub(crate) fn problems(&self) -> Vec<String> {
        let forms = [(&self.config_schema, self.config_sheet()), (&self.secrets_schema, self.secrets_sheet())];
        forms.iter().filter(|(schema, _)| schema.is_some()).flat_map(|(_, sheet)| sheet.problems()).collect()
    }

    fn problems_of_secrets(&self, value: &mut Value, unknown: Unknown, granted: bool) -> Vec<Problem> {
        let own = if self.takes_grant() { TOKENS } else { &[] };
        let mut problems = self.secrets_sheet().hold(value, unknown, own);
        if granted {
            problems.retain(|problem| !problem.is_missing(&format!("/{ACCESS_TOKEN}")));
        }
        problems
    }

    fn takes_grant(&self) -> bool {
        matches!(self.auth, Auth::OAuth2(_))
    }

    pub(crate) fn config_sheet(&self) -> Arc<Sheet> {
        self.config.of(Subject::Settings, self.config_schema.as_ref())
    }

    pub(crate) fn secrets_sheet(&self) -> Arc<Sheet> {
        self.secrets.of(Subject::Secrets, self.secrets_schema.as_ref())
    }
}

fn no_json() -> Problem {
    Problem::new("", "an object", "a text that is not JSON")
}

/// `google_calendar` as a person writes it: `Google Calendar`.
fn titled(name: &str) -> String {
    let word = |word: &str| {
        let mut chars = word.chars();
        chars.next().map(|first| first.to_uppercase().chain(chars).collect::<String>()).unwrap_or_default()
    };
    name.split(['_', '-']).filter(|part| !part.is_empty()).map(word).collect::<Vec<_>>().join(" ")
}
