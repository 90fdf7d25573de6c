//! Toolsets that need a grant.

use crate::{misbehaving, provider};
use std::sync::OnceLock;
use tool_core::schemars::JsonSchema;
use tool_core::serde::Deserialize;
use tool_core::tool::AccessToken;
use tool_core::{Auth, Configure, Secret, ToolError, toolset};

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
pub(crate) struct Live {
    access_token: AccessToken,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
pub(crate) struct Copy {
    access_token: String,
}

fn place() -> String {
    provider::address().unwrap_or_else(|| "http://127.0.0.1:9".into())
}

fn grant() -> Auth {
    let (place, scopes) = (place(), ["calendar.events", "calendar.readonly"]);
    Auth::oauth2(
        "oidc-provider",
        scopes,
        format!("{place}/auth?display=page"),
        format!("{place}/token"),
    )
}

/// Asks the service as the holder of the token.
async fn ask(token: &str) -> Result<String, ToolError> {
    let request = reqwest::Client::new()
        .get(format!("{}/calendar", place()))
        .bearer_auth(token);
    let response = request
        .send()
        .await
        .map_err(|_| ToolError::transient("no answer"))?;
    match response.status().as_u16() {
        200 => response
            .text()
            .await
            .map_err(|_| ToolError::transient("no answer")),
        401 => Err(ToolError::auth("the service says 401")),
        status => Err(ToolError::permanent(format!("status {status}"))),
    }
}

/// Follows its grant.
struct Calendar(Live);

impl Configure for Calendar {
    type Config = ();
    type Secrets = Live;

    async fn configure((): (), secrets: Live) -> Result<Self, ToolError> {
        Ok(Self(secrets))
    }
}

/// A calendar.
#[toolset(name = "calendar", auth = grant())]
impl Calendar {
    /// List events.
    #[tool]
    async fn events(&self) -> Result<String, ToolError> {
        ask(self.0.access_token.get().await?.expose()).await
    }
}

/// Holds a copy of its token.
struct Copied(String);

impl Configure for Copied {
    type Config = ();
    type Secrets = Copy;

    async fn configure((): (), secrets: Copy) -> Result<Self, ToolError> {
        Ok(Self(secrets.access_token))
    }
}

/// A calendar that holds a copy of its token.
#[toolset(name = "copied_calendar", auth = grant())]
impl Copied {
    /// List events.
    #[tool]
    async fn copied_events(&self) -> Result<String, ToolError> {
        ask(&self.0).await
    }
}

/// Sends its token to the address in its settings.
struct Movable;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
#[allow(dead_code, reason = "only the schema counts")]
pub(crate) struct Place {
    base_url: String,
    #[schemars(extend("x-binds-secret" = false))]
    note: Option<String>,
}

impl Configure for Movable {
    type Config = Place;
    type Secrets = Live;

    async fn configure(_: Place, _: Live) -> Result<Self, ToolError> {
        Ok(Self)
    }
}

/// A toolset at an address of its settings.
#[toolset(name = "movable", auth = Auth::oauth2("misbehaving", ["all"], misbehaving::auth_url(), misbehaving::token_url()))]
impl Movable {
    /// Do nothing.
    #[tool]
    fn rest_here() -> u8 {
        0
    }
}

/// At a provider that does what it should not.
struct Edge(Live);

impl Configure for Edge {
    type Config = ();
    type Secrets = Live;

    async fn configure((): (), secrets: Live) -> Result<Self, ToolError> {
        Ok(Self(secrets))
    }
}

/// A toolset at a provider that misbehaves.
#[toolset(name = "edge", auth = Auth::oauth2("misbehaving", ["all"], misbehaving::auth_url(), misbehaving::token_url()))]
impl Edge {
    /// Tell the length of the token.
    #[tool]
    async fn length(&self) -> Result<usize, ToolError> {
        Ok(self.0.access_token.get().await?.expose().len())
    }

    /// Ask the service, again with another token if it refuses the first.
    #[tool]
    async fn ask(&self) -> Result<u16, ToolError> {
        let token = self.0.access_token.get().await?;
        let mut status = status(&token).await?;
        if status == 401 {
            status = self::status(&self.0.access_token.rejected(&token).await?).await?;
        }
        if status == 200 {
            Ok(status)
        } else {
            Err(ToolError::auth("the service refuses the request"))
        }
    }
}

async fn status(token: &Secret) -> Result<u16, ToolError> {
    static CLIENT: OnceLock<reqwest::Client> = OnceLock::new();
    // Each test has its own runtime, and no connection outlives it.
    let client = || {
        reqwest::Client::builder()
            .pool_max_idle_per_host(0)
            .build()
            .expect("a client")
    };
    let answer = CLIENT
        .get_or_init(client)
        .get(misbehaving::service())
        .bearer_auth(token.expose())
        .send()
        .await;
    answer
        .map(|answer| answer.status().as_u16())
        .map_err(|_| ToolError::transient("no answer"))
}

/// Needs no grant.
struct Plain;

impl Configure for Plain {
    type Config = ();
    type Secrets = ();

    async fn configure((): (), (): ()) -> Result<Self, ToolError> {
        Ok(Self)
    }
}

/// A toolset without a grant.
#[toolset(name = "plain")]
impl Plain {
    /// Answer.
    #[tool]
    fn answer() -> u8 {
        42
    }
}
