//! The metadata of a toolset for a settings form, and the checks of settings and secrets.

use crate::arguments::problem::Problem;
use crate::arguments::validate::ValidationSubject;
use crate::call::error::ErrorList;
use crate::schema::generator::argument_generator;
#[cfg(feature = "session")]
use crate::tool::configure::binding::BoundSettings;
use crate::tool::configure::binding::mark_settings;
use crate::tool::configure::credentials::{AccessToken, Auth};
use crate::tool::configure::form::{
    CachedFormSchema, FormSchema, UnknownNames, check_problems, decode_secrets, decode_settings,
};
use crate::tool::configure::secret_document::{SecretDocument, WipedValue};
use crate::tool::spec::ToolsetDescriptor;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// The metadata of a toolset for a settings form.
///
/// It serialises for a user interface. For a toolset whose settings are a currency and whose
/// secrets are a key:
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
///                     "x-binds-secret": true,
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
/// // Every problem of the input is reported, without its texts.
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
#[must_use]
pub struct ToolsetMetadata {
    /// The toolset's id.
    pub name: String,
    /// The title for people.
    pub title: String,
    /// The description of the toolset.
    pub description: String,
    /// The JSON Schema of the settings, with titles, descriptions and defaults; absent where there
    /// are none.
    pub config_schema: Option<Value>,
    /// The JSON Schema of the secrets; absent where there are none.
    pub secrets_schema: Option<Value>,
    /// True where the toolset needs authentication.
    pub requires_auth: bool,
    /// The toolset's authentication.
    pub auth: Auth,
    #[serde(skip)]
    config: CachedFormSchema,
    #[serde(skip)]
    secrets: CachedFormSchema,
}

const ACCESS_TOKEN: &str = "access_token";

/// The members of the secrets that hold the tokens of a grant. They may be present whatever the
/// toolset's own schema is.
const TOKENS: &[&str] = &[
    ACCESS_TOKEN,
    "refresh_token",
    "expires_at",
    "scope",
    "refresh_state",
];

impl ToolsetMetadata {
    /// Creates the metadata of a toolset without settings, for a [`ToolsetFactory`](super::ToolsetFactory) written by
    /// hand.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            title: title_of(&name, None),
            name,
            description: description.into(),
            config_schema: None,
            secrets_schema: None,
            requires_auth: false,
            auth: Auth::None,
            config: CachedFormSchema::default(),
            secrets: CachedFormSchema::default(),
        }
    }

    /// Creates the metadata of a linked toolset, without its settings.
    pub(crate) fn of_linked(toolset: &ToolsetDescriptor) -> Self {
        let auth = toolset.auth.map(|auth| auth()).unwrap_or_default();
        let title = title_of(toolset.name, toolset.title);
        Self::new(toolset.name, toolset.description)
            .titled(title)
            .authorized_by(auth)
    }

    /// Sets the title for people. Defaults to the words of the name.
    pub fn titled(mut self, title: impl Into<String>) -> Self {
        self.title = title.into();
        self
    }

    /// Sets the authentication. Defaults to none.
    pub fn authorized_by(mut self, auth: Auth) -> Self {
        self.requires_auth = auth != Auth::None;
        self.auth = auth;
        self
    }

    /// Sets the types of the settings and of the secrets; `()` where there are none.
    pub fn configured_by<C: JsonSchema, S: JsonSchema>(mut self) -> Self {
        self.config_schema = form_schema::<C>();
        self.config_schema.iter_mut().for_each(mark_settings);
        self.secrets_schema = form_schema::<S>();
        self
    }

    /// Checks settings before they are written, and fills in their defaults.
    ///
    /// # Errors
    ///
    /// Every problem of the settings. A top-level name that the schema does not have is one.
    /// Problems show numbers and booleans; of texts they show only the length.
    pub fn check_config(&self, config: &Value) -> Result<Value, ErrorList<Problem>> {
        self.config_form().fill(config, UnknownNames::Refuse)
    }

    /// Checks secrets before they are written. The tokens of a grant may be present or missing,
    /// because they come and go with the grant.
    ///
    /// # Errors
    ///
    /// Every problem of the secrets. No problem shows a value.
    pub fn check_secrets(&self, secrets: &SecretDocument) -> Result<(), ErrorList<Problem>> {
        self.checked_secrets(secrets, UnknownNames::Refuse, self.takes_grant())
            .map(drop)
    }

    /// Checks secrets that a record keeps. Names that the schema no longer has do no harm.
    #[cfg(feature = "agents")]
    pub(crate) fn check_kept_secrets(
        &self,
        secrets: &SecretDocument,
    ) -> Result<(), ErrorList<Problem>> {
        self.checked_secrets(secrets, UnknownNames::Drop, self.takes_grant())
            .map(drop)
    }

    /// Returns the settings that decide where the toolset's secrets go, with their values in
    /// `config`.
    #[cfg(feature = "session")]
    pub fn bound_settings(&self, config: &Value) -> BoundSettings {
        BoundSettings::of(
            self.config_schema.as_ref().unwrap_or(&Value::Bool(true)),
            config,
        )
    }

    /// Decodes stored settings. They are checked again, and their defaults are filled in. Names
    /// that the schema no longer has are dropped.
    ///
    /// # Errors
    ///
    /// Every problem of the settings.
    pub fn read_config<T: DeserializeOwned>(
        &self,
        config: &Value,
    ) -> Result<T, ErrorList<Problem>> {
        let filled = self.config_form().fill(config, UnknownNames::Drop)?;
        decode_settings(if self.config_schema.is_some() {
            &filled
        } else {
            &Value::Null
        })
    }

    /// Decodes stored secrets. They are checked again.
    ///
    /// # Errors
    ///
    /// Every problem of the secrets. No problem shows a value.
    pub fn read_secrets<T: DeserializeOwned>(
        &self,
        secrets: &SecretDocument,
    ) -> Result<T, ErrorList<Problem>> {
        let value = self.checked_secrets(secrets, UnknownNames::Drop, secrets.grant().is_some())?;
        let value = if self.secrets_schema.is_some() {
            &*value
        } else {
            &Value::Null
        };
        AccessToken::with_grant(secrets.grant().cloned(), || decode_secrets(value))
    }

    /// Returns the problems of the schemas themselves, which would make a form unusable.
    #[cfg(feature = "agents")]
    pub(crate) fn problems(&self) -> Vec<String> {
        let forms = [
            (&self.config_schema, self.config_form()),
            (&self.secrets_schema, self.secrets_form()),
        ];
        forms
            .iter()
            .filter(|(schema, _)| schema.is_some())
            .flat_map(|(_, form)| form.problems())
            .collect()
    }

    /// Parses secrets and checks them. With a grant, the access token may be missing.
    fn checked_secrets(
        &self,
        secrets: &SecretDocument,
        unknown: UnknownNames,
        has_grant: bool,
    ) -> Result<WipedValue, ErrorList<Problem>> {
        let Some(mut value) = secrets.parsed() else {
            return Err(Problem::new("", "an object", "a text that is not JSON").into());
        };
        let reserved = if self.takes_grant() { TOKENS } else { &[] };
        let mut problems = self.secrets_form().check(&mut value, unknown, reserved)?;
        if has_grant {
            problems.retain(|problem| !problem.is_missing(&format!("/{ACCESS_TOKEN}")));
        }
        check_problems(problems).map(|()| value)
    }

    fn takes_grant(&self) -> bool {
        matches!(self.auth, Auth::OAuth2(_))
    }

    fn config_form(&self) -> Arc<FormSchema> {
        self.config
            .get(ValidationSubject::Settings, self.config_schema.as_ref())
    }

    fn secrets_form(&self) -> Arc<FormSchema> {
        self.secrets
            .get(ValidationSubject::Secrets, self.secrets_schema.as_ref())
    }
}

/// Generates the schema of a type; `None` for `()`.
fn form_schema<T: JsonSchema>() -> Option<Value> {
    let schema = argument_generator().into_root_schema_for::<T>().to_value();
    (schema["type"] != "null").then_some(schema)
}

/// Returns the title that was set, or the words of the name: `Google Calendar` for
/// `google_calendar`.
pub(crate) fn title_of(name: &str, title: Option<&str>) -> String {
    let capitalise = |word: &str| {
        let mut chars = word.chars();
        chars
            .next()
            .map(|first| first.to_uppercase().chain(chars).collect::<String>())
            .unwrap_or_default()
    };
    let words = || {
        name.split(['_', '-'])
            .filter(|part| !part.is_empty())
            .map(capitalise)
            .collect::<Vec<_>>()
            .join(" ")
    };
    title.map_or_else(words, str::to_owned)
}
