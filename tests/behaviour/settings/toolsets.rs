//! Toolsets with settings of every kind.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::HashMap;
use tool_core::tool::{AccessToken, BasicAuth};
use tool_core::{Auth, Configure, Secret, ToolError, toolset};

/// Sends letters.
pub struct Post {
    settings: PostSettings,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct PostSettings {
    /// The address of the post office
    server: String,
    /// The port there
    #[serde(default = "submission")]
    #[schemars(range(min = 1))]
    port: u16,
    /// The salutation of letters
    #[serde(default)]
    #[schemars(length(max = 10))]
    greeting: String,
    /// The allowed operations
    #[serde(default)]
    limits: Limits,
    /// The recipient of replies
    #[serde(default)]
    reply_to: Option<Mailbox>,
    /// When letters go
    #[serde(default)]
    delivery: Delivery,
    /// Other servers
    #[serde(default)]
    relays: Vec<Relay>,
    #[serde(default)]
    encrypted: bool,
}

#[derive(Deserialize, Serialize, JsonSchema)]
#[serde(default)]
pub struct Limits {
    #[schemars(range(min = 1, max = 1000))]
    per_hour: u32,
    size: u32,
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Mailbox {
    #[serde(default = "office")]
    name: String,
    address: String,
}

#[derive(Default, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "when", rename_all = "snake_case")]
pub enum Delivery {
    #[default]
    Now,
    Later {
        #[serde(default = "two")]
        hours: u32,
    },
    Nightly {
        #[serde(default = "two")]
        hour: u32,
    },
}

#[derive(Deserialize, Serialize, JsonSchema)]
pub struct Relay {
    host: String,
    #[serde(default = "submission")]
    port: u16,
}

#[derive(Deserialize, JsonSchema)]
pub struct PostSecrets {
    /// The password of the mailbox
    #[schemars(length(min = 8))]
    password: Secret,
    /// Another way in
    #[serde(default)]
    #[expect(dead_code, reason = "read by serde alone")]
    api_key: Option<Secret>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            per_hour: 60,
            size: 1000,
        }
    }
}

fn submission() -> u16 {
    587
}

fn office() -> String {
    "Office".to_owned()
}

fn two() -> u32 {
    2
}

impl Configure for Post {
    type Config = PostSettings;
    type Secrets = PostSecrets;

    async fn configure(settings: PostSettings, secrets: PostSecrets) -> Result<Self, ToolError> {
        match settings.server.as_str() {
            "panic" => panic!("cannot use {}", secrets.password.expose()),
            "refuse" => Err(ToolError::auth(format!(
                "`{}` is not welcome",
                secrets.password.expose()
            ))),
            _ => Ok(Self { settings }),
        }
    }
}

/// Send letters.
#[toolset(name = "settings_post", title = "Post", prefix = "post", auth = Auth::ApiKey)]
impl Post {
    /// Tell all settings.
    #[tool]
    fn settings(&self) -> serde_json::Value {
        serde_json::to_value(&self.settings).unwrap_or_default()
    }

    /// Send a letter.
    #[tool(category = "action")]
    fn send(&self, to: String) -> String {
        to
    }
}

/// Files at a provider that a person grants access to.
pub struct Drive {
    token: AccessToken,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveSecrets {
    access_token: AccessToken,
    /// Not of the grant
    folder_key: Option<Secret>,
}

impl Configure for Drive {
    type Config = ();
    type Secrets = DriveSecrets;

    async fn configure((): (), secrets: DriveSecrets) -> Result<Self, ToolError> {
        _ = secrets.folder_key;
        Ok(Self {
            token: secrets.access_token,
        })
    }
}

/// Read files.
#[toolset(name = "settings_drive", auth = Auth::oauth2("acme", ["read"], "https://acme.example/a", "https://acme.example/t"))]
impl Drive {
    /// Tell the token.
    #[tool]
    async fn drive_token(&self) -> Result<String, ToolError> {
        Ok(self.token.get().await?.expose().to_owned())
    }
}

/// Takes a code by rules that no schema says.
pub struct Door;

#[derive(Deserialize, JsonSchema)]
pub struct DoorSettings {
    rooms: HashMap<String, Room>,
}

#[derive(Deserialize, JsonSchema)]
pub struct Room {
    #[serde(default)]
    #[expect(dead_code, reason = "read by serde alone")]
    code: Option<Code>,
}

#[derive(JsonSchema)]
#[schemars(transparent)]
pub struct Code(#[expect(dead_code, reason = "read by serde alone")] String);

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let sound = text.chars().all(char::is_numeric);
        if sound {
            Ok(Self(text))
        } else {
            Err(serde::de::Error::custom(format!(
                "a code is of digits, not {text:?}"
            )))
        }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct DoorSecrets {
    #[expect(dead_code, reason = "read by serde alone")]
    master: Code,
    #[expect(dead_code, reason = "read by serde alone")]
    login: BasicAuth,
}

impl Configure for Door {
    type Config = DoorSettings;
    type Secrets = DoorSecrets;

    async fn configure(settings: DoorSettings, _: DoorSecrets) -> Result<Self, ToolError> {
        _ = settings.rooms;
        Ok(Self)
    }
}

/// Open doors.
#[toolset(name = "settings_door", auth = Auth::Basic)]
impl Door {
    /// Open one.
    #[tool]
    fn open_door(&self) {}
}

/// Needs nothing.
#[derive(Default)]
pub struct Plain;

/// Count.
#[toolset(name = "settings_plain")]
impl Plain {
    /// Count to one.
    #[tool]
    fn settings_one(&self) -> u32 {
        1
    }
}
