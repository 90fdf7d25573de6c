//! The settings, and the toolset that is built from them. The model sees none of this.

use super::api::Api;
use super::toolset::GoogleCalendar;
use schemars::JsonSchema;
use serde::Deserialize;
use tool_core::tool::AccessToken;
use tool_core::{Configure, ToolError};

/// The settings. Doc comments become the descriptions of a settings form.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("required" = ["calendar_id"]))]
pub(crate) struct Config {
    /// Which calendar: "primary", or the address of another one
    #[serde(default = "primary")]
    pub(crate) calendar_id: String,
    /// Length of an event in minutes, where the model names none
    #[serde(default = "half_an_hour")]
    #[schemars(range(min = 5, max = 480))]
    pub(crate) default_event_duration: u32,
    /// Ask a person before an event is created
    #[serde(default)]
    pub(crate) confirm_events: bool,
    /// The URL of the API
    #[serde(default = "google")]
    pub(crate) base_url: String,
}

/// The secrets. A form hides them, and `Debug` does not print them.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Secrets {
    /// An OAuth 2 access token with the scopes of the toolset. Of a grant in a database, it stays good
    #[serde(default)]
    pub(crate) access_token: AccessToken,
}

fn primary() -> String {
    "primary".to_owned()
}

fn half_an_hour() -> u32 {
    30
}

fn google() -> String {
    "https://www.googleapis.com/calendar/v3".to_owned()
}

impl Configure for GoogleCalendar {
    type Config = Config;
    type Secrets = Secrets;

    async fn configure(config: Config, secrets: Secrets) -> Result<Self, ToolError> {
        let api = Api::new(&config.base_url, &config.calendar_id, secrets.access_token)?;
        Ok(Self { config, api })
    }
}
