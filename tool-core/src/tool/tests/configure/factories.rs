//! Factories of toolsets that are linked in.

use crate::agents::catalog::linked_factories;
use crate::call::context::RunContext;
use crate::call::error::{ErrorKind, ToolError};
use crate::registry::ToolContext;
use crate::tool::configure::credentials::Auth;
use crate::tool::configure::credentials::{AccessToken, Secret, TokenSource};
use crate::tool::configure::secret_document::SecretDocument;
use crate::tool::configure::{Configure, ConfigureError, ToolsetFactory};
use futures_util::FutureExt;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tool_macros::toolset;

struct Shop(ShopSettings, ShopSecrets);

#[derive(Deserialize, JsonSchema)]
struct ShopSettings {
    #[serde(default = "euro")]
    currency: String,
}

#[derive(Deserialize, JsonSchema)]
struct ShopSecrets {
    #[serde(default)]
    access_token: AccessToken,
    #[serde(default)]
    pin: String,
}

fn euro() -> String {
    "EUR".to_owned()
}

impl Configure for Shop {
    type Config = ShopSettings;
    type Secrets = ShopSecrets;

    async fn configure(settings: ShopSettings, secrets: ShopSecrets) -> Result<Self, ToolError> {
        // Panics and errors may come at any await.
        tokio::task::yield_now().await;
        match settings.currency.as_str() {
            "panic" => panic!("no shop with {}", secrets.pin),
            "value" => std::panic::panic_any(7_u8),
            "quote" => Err(ToolError::auth(format!(
                "bad pin {:?}; see ?pin={}",
                secrets.pin, "p%22in%2F1"
            ))),
            _ => Ok(Self(settings, secrets)),
        }
    }
}

/// Sell things.
#[toolset(name = "factories_shop", auth = Auth::oauth2("acme", ["sell"], "https://acme.example/a", "https://acme.example/t"))]
impl Shop {
    /// Tell the currency and the token.
    #[tool]
    async fn factories_tell(&self) -> Result<String, ToolError> {
        let token = self.1.access_token.get().await?;
        Ok(format!("{} {}", self.0.currency, token.expose()))
    }
}

/// Needs nothing.
#[derive(Default)]
struct Plain;

/// Count.
#[toolset(name = "factories_plain")]
impl Plain {
    /// Count to one.
    #[tool]
    fn factories_one() -> u32 {
        1
    }
}

/// Breaks while it is made.
struct Broken;

impl Default for Broken {
    fn default() -> Self {
        panic!("not by default")
    }
}

/// Break.
#[toolset(name = "factories_broken", discover = false)]
impl Broken {
    /// Break again.
    #[tool]
    fn factories_break() {}
}

/// A grant whose tokens are numbered.
#[derive(Default)]
struct Numbered(AtomicU32);

impl TokenSource for Numbered {
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<Secret, ToolError>> + Send + '_>> {
        let number = self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(Ok(Secret::from(format!("t{number}")))))
    }
}

fn factory(name: &str) -> Option<Arc<dyn ToolsetFactory>> {
    linked_factories()
        .into_iter()
        .map(|(factory, _)| factory)
        .find(|factory| factory.metadata().name == name)
}

async fn shop(
    config: Value,
    secrets: impl Into<SecretDocument>,
) -> Result<ToolContext, ConfigureError> {
    let shop = factory("factories_shop")
        .expect("linked")
        .configure(config, secrets.into())
        .await?;
    Ok(ToolContext::builder().with(shop).build().expect("sound"))
}

async fn told(tools: &ToolContext) -> Value {
    let response = tools
        .call("factories_tell", "{}", &RunContext::detached())
        .await;
    response.data().unwrap_or_else(|_| json!(response.error()))
}

// A8
#[tokio::test]
async fn creates_a_linked_toolset_with_defaults() {
    let tools = shop(json!({}), json!({"access_token": "t"}))
        .await
        .expect("made");
    assert_eq!(told(&tools).await, json!("EUR t"));
    // What earlier versions took does not stand in the way.
    let tools = shop(
        json!({"currency": "CHF", "old": 1}),
        json!({"access_token": "t", "old": 1}),
    )
    .await
    .expect("made");
    assert_eq!(told(&tools).await, json!("CHF t"));
}
#[tokio::test]
async fn an_access_token_uses_the_grant_of_its_secrets() {
    for secrets in [
        json!({"access_token": "old", "refresh_token": "r"}),
        json!({"refresh_token": "r"}),
        json!({}),
    ] {
        let secrets = SecretDocument::from(secrets).with_grant(Arc::new(Numbered::default()));
        let tools = shop(json!({}), secrets).await.expect("made");
        assert_eq!(
            (told(&tools).await, told(&tools).await),
            (json!("EUR t0"), json!("EUR t1"))
        );
    }
    // The next secrets that are read have none.
    assert_eq!(
        told(
            &shop(json!({}), json!({"access_token": "own"}))
                .await
                .expect("made")
        )
        .await,
        json!("EUR own")
    );
    assert_eq!(
        told(&shop(json!({}), json!({})).await.expect("made")).await["type"],
        "AUTH"
    );
}
#[tokio::test]
async fn creates_a_default_toolset_of_an_empty_object() {
    let plain = factory("factories_plain").expect("linked");
    for config in [json!({}), json!(null), json!({"old": 1})] {
        assert!(
            plain
                .configure(config, SecretDocument::none())
                .await
                .is_ok()
        );
    }
    let refused = plain
        .configure(json!([]), SecretDocument::none())
        .await
        .err()
        .expect("refused");
    assert_eq!(
        refused.to_string(),
        "the settings do not fit their schema:\n- expected an object, got an array of 0 items"
    );
    assert_eq!(plain.actions()[0].name, "factories_one");
}

// L35: `discover = false` opts out
#[test]
fn an_undiscoverable_toolset_has_no_factory() {
    assert!(factory("factories_broken").is_none());
}

// C3
#[tokio::test]
async fn reports_invalid_settings_and_secrets_together() {
    let refused = shop(json!({"currency": 7}), json!({"pin": 7}))
        .await
        .expect_err("refused");
    assert!(
        matches!(&refused, ConfigureError::Both { config, secrets } if config.len() == 1 && secrets.len() == 1)
    );
    assert_eq!(
        refused.to_string(),
        "the settings do not fit their schema:\n- `/currency`: expected a string, got 7\n\
         the secrets do not fit their schema:\n- `/pin`: expected a string, got a number"
    );
    assert!(matches!(
        shop(json!({}), json!({"pin": 7})).await,
        Err(ConfigureError::Secrets(_))
    ));
    assert!(matches!(
        shop(json!({"currency": 7}), json!({})).await,
        Err(ConfigureError::Config(_))
    ));
}

// T1, T6
#[tokio::test]
async fn a_panic_becomes_an_error_without_secrets() {
    for currency in ["panic", "value"] {
        let refused = shop(json!({"currency": currency}), json!({"pin": "4711-4711"})).await;
        let Err(ConfigureError::Failed(error)) = refused else {
            panic!("made")
        };
        assert_eq!(error.kind(), ErrorKind::Internal);
        assert!(
            error.message().starts_with("`configure` panicked: ")
                && !error.message().contains("4711"),
            "{error}"
        );
    }
}

// T1
#[tokio::test]
async fn removes_secrets_from_a_toolset_error() {
    let Err(ConfigureError::Failed(error)) =
        shop(json!({"currency": "quote"}), json!({"pin": "p\"in/1"})).await
    else {
        panic!("made")
    };
    assert_eq!(error.message(), "bad pin \"[hidden]\"; see ?pin=[hidden]");
}

// T9
#[test]
fn deep_settings_do_not_configure_a_toolset() {
    let configure = || {
        let deep = (0..100_000).fold(Value::Null, |inner, _| Value::Array(vec![inner]));
        let plain = factory("factories_plain").expect("linked");
        let configured = plain.configure(deep, SecretDocument::none()).now_or_never();
        assert!(matches!(configured, Some(Err(ConfigureError::Config(_)))));
    };
    std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(configure)
        .expect("a thread")
        .join()
        .expect("no panic");
}
