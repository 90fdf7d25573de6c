//! Ten toolsets of three actions each, with settings and secrets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_core::{Configure, Secret, Timestamp, ToolError, toolset};

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Settings {
    /// The URL of the service
    #[schemars(url)]
    base_url: String,
    /// The timeout in milliseconds
    #[serde(default = "timeout")]
    #[schemars(range(min = 1, max = 60_000))]
    timeout_ms: u32,
    /// The first page
    #[serde(default)]
    folders: Vec<String>,
}

fn timeout() -> u32 {
    5_000
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct Secrets {
    /// The key of the service
    api_key: Secret,
    /// For what only its owner may do
    owner_password: Option<Secret>,
}

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Urgency {
    Low,
    Normal,
    High,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub(crate) struct Place {
    /// Street and number
    street: String,
    /// Two letters
    #[schemars(length(min = 2, max = 2))]
    country: String,
}

macro_rules! services {
    ($($type:ident $name:literal $send:ident $find:ident $plan:ident;)*) => {
        $(
            pub(crate) struct $type {
                settings: Settings,
                secrets: Secrets,
            }

            impl Configure for $type {
                type Config = Settings;
                type Secrets = Secrets;

                async fn configure(settings: Settings, secrets: Secrets) -> Result<Self, ToolError> {
                    Ok(Self { settings, secrets })
                }
            }

            /// A service with three actions.
            #[toolset(name = $name)]
            impl $type {
                /// Send a message.
                #[tool(category = "action")]
                async fn $send(
                    &self,
                    /// The recipient
                    to: Vec<String>,
                    /// The subject
                    #[arg(length(1..=200))]
                    subject: String,
                    /// The text
                    body: Option<&str>,
                    /// The urgency
                    #[arg(default = Urgency::Normal)]
                    urgency: Urgency,
                ) -> Result<usize, ToolError> {
                    let key = self.secrets.api_key.expose().len() + self.secrets.owner_password.iter().count();
                    Ok(to.len() + subject.len() + body.map_or(0, str::len) + urgency as usize + key)
                }

                /// Find what fits.
                #[tool(category = "retrieval")]
                fn $find(
                    &self,
                    /// The words
                    words: &str,
                    /// Maximum number of results
                    #[arg(default = 10, range(1..=100))]
                    limit: u32,
                    /// Nothing older
                    since: Option<Timestamp>,
                ) -> Vec<String> {
                    let since = since.map(|since| since.to_string());
                    [words.to_owned()].into_iter().chain(since).take(limit as usize).collect()
                }

                /// Plan a visit.
                #[tool(category = "action", timeout = "5s")]
                async fn $plan(
                    &self,
                    /// The place
                    place: Place,
                    /// When
                    at: Timestamp,
                    /// In minutes
                    #[arg(default = 30, range(5..=480))]
                    minutes: u32,
                ) -> Result<Place, ToolError> {
                    tracing::trace!(%at, minutes, folders = ?self.settings.folders, url = self.settings.base_url, self.settings.timeout_ms);
                    Ok(place)
                }
            }
        )*

        /// Their names.
        pub(crate) const NAMES: [&str; 10] = [$($name),*];
    };
}

services! {
    Mail "mail" mail_send mail_find mail_plan;
    Chat "chat" chat_post chat_search chat_meet;
    Tickets "tickets" tickets_open tickets_list tickets_visit;
    Crm "crm" crm_note crm_lookup crm_call;
    Shop "shop" shop_order shop_browse shop_deliver;
    Bank "bank" bank_pay bank_statements bank_appoint;
    Wiki "wiki" wiki_write wiki_read wiki_workshop;
    Travel "travel" travel_book travel_search travel_visit;
    Health "health" health_message health_records health_appoint;
    Fleet "fleet" fleet_dispatch fleet_locate fleet_service;
}

/// The settings of one of them.
pub(crate) fn settings(name: &str) -> Value {
    json!({"base_url": format!("https://{name}.example.com/v1"), "folders": ["inbox", "later"]})
}

/// Its secrets.
pub(crate) fn secrets(name: &str) -> Value {
    json!({"api_key": format!("key-of-{name}-0123456789abcdef"), "owner_password": "correct horse battery staple"})
}
