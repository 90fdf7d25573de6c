//! Logging from a running tool, to the program's log and to the client of the session.

use crate::call::context::RunContext;
use crate::call::log_message::{LogLevel, LogMessage};
use crate::call::progress::call_listener;
use crate::json::nested::unless_too_deep;
use crate::text::{escape_invisible, truncate};
use serde_json::Value;

/// The characters of a message's data as JSON.
const MAX_DATA: usize = 16 << 10;
/// The characters of a logger's name.
const MAX_NAME: usize = 200;

macro_rules! event {
    ($level:expr, $($fields:tt)*) => {
        match $level {
            tracing::Level::DEBUG => tracing::debug!($($fields)*),
            tracing::Level::INFO => tracing::info!($($fields)*),
            tracing::Level::WARN => tracing::warn!($($fields)*),
            _ => tracing::error!($($fields)*),
        }
    };
}

/// # Logs
impl RunContext {
    /// Logs a message: to `tracing` with the target `tool_core::log`, and to the session's client
    /// if it takes messages of this level.
    ///
    /// It never waits. An MCP server sends the message as `notifications/message`, and drops it if
    /// the client takes them too slowly. The data are redacted by the policy's rules
    /// ([`Policy::redaction`](crate::Policy::redaction)) before they leave the call. Messages after
    /// the end of the call reach `tracing` only.
    ///
    /// ```
    /// use tool_core::call::{LogLevel, LogMessage};
    /// use tool_core::serde_json::json;
    /// use tool_core::testing::Client;
    /// use tool_core::{RunContext, ToolContext, tool};
    ///
    /// /// Sign in.
    /// #[tool]
    /// fn sign_in(ctx: &RunContext) {
    ///     ctx.log(LogLevel::Info, "mail", json!({"user": "ada", "password": "swordfish"}));
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), tool_core::RegistryErrors> {
    /// let client = Client::new(ToolContext::builder().with(sign_in).build()?).on_log(|message: &LogMessage| {
    ///     assert_eq!((message.logger.as_str(), &message.data["user"]), ("mail", &json!("ada")));
    ///     assert!(!message.data.to_string().contains("swordfish"));
    /// });
    /// client.call_ok::<()>("sign_in", "{}").await;
    /// # Ok(())
    /// # }
    /// ```
    pub fn log(&self, level: LogLevel, logger: impl AsRef<str>, data: impl Into<Value>) {
        let listener = self.log_listener();
        if listener.is_none() && level.of_tracing() > tracing::level_filters::LevelFilter::current()
        {
            return;
        }
        let shown = match unless_too_deep(data.into()) {
            Some(Value::String(text)) => self
                .redaction()
                .json(&Value::from(truncate(&text, MAX_DATA)).to_string()),
            Some(data) => self.redaction().json_up_to(&data.to_string(), MAX_DATA),
            None => "\"[data that nest too deep]\"".to_owned(),
        };
        let logger = escape_invisible(&truncate(logger.as_ref(), MAX_NAME));
        let (session, call_id, tool) = self.origin();
        event!(level.of_tracing(), target: "tool_core::log", tool, call_id, logger, %level, data = %shown, "a tool logged a message");
        if let Some(listener) = listener {
            let data = serde_json::from_str(&shown).unwrap_or(Value::String(shown));
            let message = LogMessage {
                session,
                call_id,
                tool,
                level,
                logger,
                data,
            };
            call_listener("log messages", || listener(&message));
        }
    }
}
