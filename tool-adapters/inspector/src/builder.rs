//! The builder of an inspector, and its server.

use crate::conversation::SharedModel;
use crate::spans::SpanLog;
use crate::state::InspectorState;
use crate::{api, page};
use axum::Router;
use std::fmt::Write;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tool_adapters_http::access::AccessRules;
use tool_adapters_http::bearer::BearerToken;
use tool_adapters_http::debug_only;
use tool_adapters_http::serve::{BoundServer, HttpLimits};
use tool_core::session::Model;
use tool_core::trace::{Collector, Redaction};
use tool_core::{CancellationToken, Runtime};

/// The bytes of the random token, which is written with two digits a byte.
const TOKEN_BYTES: usize = 24;

/// A page that tries the tools of a runtime and watches them. See [the module](crate).
///
/// ```
/// # use tool_adapters::inspector::Inspector;
/// # use tool_core::{Runtime, ToolContext};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
/// let bound = Inspector::new(&runtime).token("0123456789abcdef").bind(([127, 0, 0, 1], 0).into()).await?;
/// assert_eq!(bound.url()?, format!("http://{}/#token=0123456789abcdef", bound.address()?));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Inspector {
    runtime: Runtime,
    token: String,
    access: AccessRules,
    spans: SpanLog,
    redaction: Redaction,
    traces_process: bool,
    model: Option<SharedModel>,
    sessions_only: bool,
    shutdown: CancellationToken,
}

debug_only!(Inspector, |this| runtime: this.runtime);

impl Inspector {
    /// Creates an inspector with a random token.
    ///
    /// # Panics
    ///
    /// Panics if the operating system has no source of randomness.
    pub fn new(runtime: &Runtime) -> Self {
        Self {
            runtime: runtime.clone(),
            token: random_token(),
            access: AccessRules::default(),
            spans: SpanLog::default(),
            redaction: Redaction::new(),
            traces_process: false,
            model: None,
            sessions_only: false,
            shutdown: CancellationToken::new(),
        }
    }

    /// Sets the token that each request for data has to send: at least 16 visible ASCII characters.
    /// Defaults to a random one.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = token.into();
        self
    }

    /// Sets the allowed values of the `Host` header, in place of the loopback names: `name` for any
    /// port, or `name:port`.
    pub fn allow_hosts<T: Into<String>>(mut self, hosts: impl IntoIterator<Item = T>) -> Self {
        self.access.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the allowed values of the `Origin` header, in place of the loopback names:
    /// `https://tools.example`, or `http://localhost:*` for any port.
    pub fn allow_origins<T: Into<String>>(mut self, origins: impl IntoIterator<Item = T>) -> Self {
        self.access.origins = Some(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the redaction of the arguments and results in the spans of the page's calls. Defaults
    /// to [`Redaction::new`].
    pub fn redaction(mut self, redaction: Redaction) -> Self {
        self.redaction = redaction;
        self
    }

    /// Makes the inspector's collector that of the process once it serves, so that the page shows
    /// the spans of the whole program. Defaults to the spans of the page's own calls. Replaces a
    /// collector that was installed before.
    pub fn trace_process(mut self) -> Self {
        self.traces_process = true;
        self
    }

    /// Returns the log of spans that the page shows. As a sink of the program's own collector it
    /// receives the program's spans.
    ///
    /// ```
    /// # use tool_adapters::inspector::Inspector;
    /// # use tool_core::{Runtime, ToolContext, trace::Collector};
    /// # let runtime = Runtime::builder(ToolContext::builder().build()?).build()?;
    /// let inspector = Inspector::new(&runtime);
    /// let collector = Collector::builder().content(true).sink(inspector.span_log()).build();
    /// # Ok::<(), tool_core::RegistryErrors>(())
    /// ```
    pub fn span_log(&self) -> SpanLog {
        self.spans.clone()
    }

    /// Sets the model of the page's conversations. Without one, the page plays scripts.
    pub fn model(mut self, model: impl Model + 'static) -> Self {
        self.model = Some(SharedModel::new(model));
        self
    }

    /// Makes each call of the page one in a session, under its policy, its hooks and its limits.
    /// Defaults to calls that may also be bare.
    pub fn sessions_only(mut self) -> Self {
        self.sessions_only = true;
        self
    }

    /// Sets the token whose cancellation ends the server and the page's event streams.
    pub fn shutdown(mut self, token: CancellationToken) -> Self {
        self.shutdown = token;
        self
    }

    /// Binds an address. [`BoundServer::url`] returns the address of the page, with the token in
    /// its fragment.
    ///
    /// # Errors
    ///
    /// Returns an error if the text of the token is not one, or if the address is not a loopback
    /// address and
    /// [`allow_hosts`](Self::allow_hosts) is not set.
    pub async fn bind(self, address: SocketAddr) -> io::Result<BoundServer> {
        let access = self.access();
        let shutdown = self.shutdown.clone();
        let path = format!("/#token={}", self.token.trim());
        access
            .bind(
                address,
                self.into_router(),
                &path,
                shutdown,
                HttpLimits::default(),
                None,
            )
            .await
    }

    fn access(&self) -> AccessRules {
        AccessRules {
            token: Some(BearerToken::new(&self.token)),
            ..self.access.clone()
        }
    }

    fn into_router(self) -> Router {
        let access = self.access();
        let page_access = AccessRules {
            token: None,
            ..access.clone()
        };
        let collector = Collector::builder()
            .keep(0)
            .content(true)
            .redaction(self.redaction)
            .sink(self.spans.clone())
            .build();
        if self.traces_process {
            collector.install();
        }
        let mut state = InspectorState::new(self.runtime, collector, self.spans, self.shutdown);
        state.model = self.model;
        state.sessions_only = self.sessions_only;
        page_access
            .guard(page::router())
            .merge(access.guard(api::router(Arc::new(state))))
    }
}

/// Returns random hexadecimal digits.
///
/// # Panics
///
/// Panics if the operating system has no source of randomness.
fn random_token() -> String {
    let mut bytes = [0; TOKEN_BYTES];
    // A token that can be guessed would be worse than a panic.
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes.iter().fold(String::new(), |mut token, byte| {
        _ = write!(token, "{byte:02x}");
        token
    })
}
