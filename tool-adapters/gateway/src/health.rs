//! The routes for machines that watch the gateway: `/healthz`, `/readyz` and `/metrics`.

use crate::policy_file::Ready;
use crate::running::{Gateway, GatewayInner};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use tool_adapters_http::access::AccessRules;
use tool_adapters_http::bearer::BearerToken;
use tool_adapters_http::serve::{BoundServer, HttpLimits};
use tool_core::CancellationToken;
use tool_core::session::PrometheusText;

type Watched = Weak<GatewayInner>;

impl Gateway {
    /// Binds an address for clients over HTTP, at the path `/mcp` unless the policy sets another,
    /// and for `/healthz`, `/readyz` and `/metrics`.
    ///
    /// # Errors
    ///
    /// Returns an error if other machines can reach the address, and the policy has no
    /// `http.hosts`, or neither `http.principals` nor `http.allow_anonymous`.
    pub async fn bind(&self, address: SocketAddr) -> io::Result<BoundServer> {
        self.0.server.bind_with(address, router(&self.0)).await
    }

    /// Binds the address of `admin.listen`, for `/healthz`, `/readyz` and `/metrics` alone. Returns
    /// `None` without one.
    ///
    /// # Errors
    ///
    /// Returns an error if other machines can reach the address, and the policy has no `http.hosts`
    /// and `admin.token`.
    pub async fn bind_admin(&self) -> io::Result<Option<BoundServer>> {
        match self.0.started.admin.listen {
            Some(address) => bind(&self.0, address.0).await.map(Some),
            None => Ok(None),
        }
    }
}

/// Returns the routes. `/metrics` needs the token of `admin.token`, if there is one.
fn router(gateway: &Arc<GatewayInner>) -> Router {
    let http = &gateway.started.http;
    let admin = &gateway.started.admin;
    let access = AccessRules {
        hosts: http.hosts.clone(),
        origins: http.origins.clone(),
        ..AccessRules::default()
    };
    let with_token = AccessRules {
        token: admin.token.as_ref().map(|token| BearerToken::new(token)),
        ..access.clone()
    };
    let open = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready));
    let metrics = Router::new().route("/metrics", get(metrics));
    let state = Arc::downgrade(gateway);
    access
        .guard(open.with_state(Weak::clone(&state)))
        .merge(with_token.guard(metrics.with_state(state)))
}

/// Binds an address for the routes alone.
async fn bind(gateway: &Arc<GatewayInner>, address: SocketAddr) -> io::Result<BoundServer> {
    let http = &gateway.started.http;
    let admin = &gateway.started.admin;
    let token = admin.token.as_ref().map(|token| BearerToken::new(token));
    let access = AccessRules {
        hosts: http.hosts.clone(),
        token,
        ..AccessRules::default()
    };
    let stop = CancellationToken::new();
    let limits = HttpLimits::default();
    access
        .bind(address, router(gateway), "/readyz", stop, limits, None)
        .await
}

/// Answers 200 while calls can be served. The body has the state of each server.
async fn ready(State(gateway): State<Watched>) -> Response {
    let Some(gateway) = gateway.upgrade() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let servers = gateway.servers();
    let is_draining = gateway.runtime.is_draining();
    let store = gateway.store_check.is_up(&gateway.runtime).await;
    let mut up = servers.iter().map(|server| server.is_up);
    let are_up = if gateway.started.admin.ready == Ready::All {
        up.all(|up| up)
    } else {
        servers.is_empty() || up.any(|up| up)
    };
    let writes_audit = !gateway.audit.is_required() || gateway.audit.can_record();
    let refusal = gateway.refusal();
    let is_ready = are_up && store && writes_audit && refusal.is_none() && !is_draining;
    let state = |is_up| if is_up { "up" } else { "down" };
    let listed = servers.iter().map(|server| {
        let mut status = json!({"state": state(server.is_up)});
        if !server.quarantined.is_empty() {
            status["quarantined"] = server.quarantined.len().into();
        }
        if server.needs_login {
            status["login"] = crate::login::login_command(&server.name).into();
        }
        (server.name.clone(), status)
    });
    let body = json!({
        "ready": is_ready,
        "draining": is_draining,
        "store": state(store),
        "audit": state(gateway.audit.can_record()),
        "offer": state(refusal.is_none()),
        "servers": listed.collect::<serde_json::Map<_, _>>(),
    });
    let status = if is_ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (
        status,
        [(header::CACHE_CONTROL, "no-store")],
        axum::Json(body),
    )
        .into_response()
}

async fn metrics(State(gateway): State<Watched>) -> Response {
    let Some(gateway) = gateway.upgrade() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let mut text = PrometheusText::new();
    let servers = gateway.servers();
    text.family(
        "tool_gateway_server_up",
        "gauge",
        "1 while the server is connected.",
    );
    for server in &servers {
        text.sample(
            "tool_gateway_server_up",
            &[("server", &server.name)],
            u8::from(server.is_up),
        );
    }
    text.family(
        "tool_gateway_quarantined_tools",
        "gauge",
        "Tools of the server that are not offered.",
    );
    for server in &servers {
        text.sample(
            "tool_gateway_quarantined_tools",
            &[("server", &server.name)],
            server.quarantined.len(),
        );
    }
    let counters = [
        (
            "tool_gateway_reloads_total",
            "Reloads that were applied.",
            gateway.reloads.load(Ordering::Relaxed),
        ),
        (
            "tool_gateway_failed_reloads_total",
            "Reloads of broken files.",
            gateway.failed_reloads.load(Ordering::Relaxed),
        ),
        (
            "tool_gateway_audit_records_total",
            "Records of the audit log.",
            gateway.audit.written(),
        ),
        (
            "tool_gateway_audit_lost_total",
            "Records that the audit log has lost.",
            gateway.audit.lost(),
        ),
    ];
    for (name, help, value) in counters {
        text.family(name, "counter", help);
        text.sample(name, &[], value);
    }
    let body = gateway.runtime.metrics().prometheus() + &text.into_string();
    let headers = [
        (
            header::CONTENT_TYPE,
            "text/plain; version=0.0.4; charset=utf-8",
        ),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, body).into_response()
}
