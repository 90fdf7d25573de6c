//! A call: from the arguments to the request, and from the answer to the result.

use crate::answer::{convert_answer, incomplete, unsent};
use crate::encode::{escape, escape_cookie, has_dot_segment};
use crate::multipart::{MultipartBody, multipart};
use crate::numbers::use_integers;
use crate::plan::{BodyForm, Location, PathPart, Plan};
use crate::redact::Secrets;
use crate::security::{Credential, Placement};
use crate::style::{Style, form_pairs, header_text, path_text, query_pairs};
use reqwest::header::{self, HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::sync::Arc;
use tool_adapters_http::egress::{EgressError, EgressRequest, RunContextExt};
use tool_core::schema::percent_decode;
use tool_core::{RunContext, Secret, ToolError, ToolOutput};

/// The state of a tool.
pub(crate) struct Call {
    pub(crate) plan: Plan,
    pub(crate) server: Url,
    pub(crate) credentials: Vec<Credential>,
    /// The hosts to which redirects may lead.
    pub(crate) hosts: Arc<BTreeSet<String>>,
    pub(crate) is_idempotent: bool,
}

/// The parts of a request that come from the arguments.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    pub(crate) path: String,
    pub(crate) query: Vec<String>,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
    pub(crate) cookies: Vec<String>,
    pub(crate) body: Option<WrittenBody>,
}

/// A body as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct WrittenBody {
    pub(crate) media_type: String,
    pub(crate) bytes: Vec<u8>,
}

impl Call {
    pub(crate) async fn call(
        &self,
        mut arguments: Value,
        ctx: &RunContext,
    ) -> Result<ToolOutput, ToolError> {
        use_integers(&mut arguments);
        let Value::Object(arguments) = arguments else {
            return Err(ToolError::permanent(
                "expected the arguments to be an object",
            ));
        };
        let parts = self.parts(&arguments).map_err(ToolError::permanent)?;
        let mut tokens = Vec::with_capacity(self.credentials.len());
        for credential in &self.credentials {
            tokens.push(credential.token.get().await?);
        }
        let mut secrets = Secrets::default();
        let (status, answer) = self.send(&parts, &tokens, &mut secrets, ctx).await?;
        if status != StatusCode::UNAUTHORIZED {
            return answer;
        }
        // The token was revoked before it expired.
        let mut is_new = false;
        for (credential, token) in self.credentials.iter().zip(&mut tokens) {
            if let Ok(other) = credential.token.rejected(token).await {
                *token = other;
                is_new = true;
            }
        }
        if is_new {
            self.send(&parts, &tokens, &mut secrets, ctx).await?.1
        } else {
            answer
        }
    }

    async fn send(
        &self,
        parts: &Parts,
        tokens: &[Secret],
        secrets: &mut Secrets,
        ctx: &RunContext,
    ) -> Result<(StatusCode, Result<ToolOutput, ToolError>), ToolError> {
        let request = self.request(parts, tokens, secrets, ctx)?;
        let allows = |host: &str| self.hosts.contains(host);
        let lost = |error: EgressError| incomplete(error, self.is_idempotent);
        let sent = request.send_within(&allows).await;
        let answer = sent.map_err(|error| {
            if error.was_sent() {
                lost(error)
            } else {
                unsent(error)
            }
        })?;
        let status = answer.status();
        Ok((
            status,
            convert_answer(answer, secrets, self.is_idempotent).await,
        ))
    }

    /// Writes the arguments in the notation of the API.
    pub(crate) fn parts(&self, arguments: &Map<String, Value>) -> Result<Parts, String> {
        let mut parts = Parts {
            path: self.path(arguments)?,
            query: self.plan.query.clone(),
            ..Parts::default()
        };
        for parameter in &self.plan.parameters {
            let Some(value) = arguments
                .get(&parameter.property)
                .filter(|value| !value.is_null())
            else {
                continue;
            };
            let problem = |problem: String| format!("`{}`: {problem}", parameter.property);
            match parameter.location {
                Location::Path => {}
                Location::Query => {
                    let pairs =
                        query_pairs(parameter.style, parameter.explode, &parameter.name, value);
                    for pair in pairs.map_err(problem)? {
                        if pair.is_chosen && self.has_query_name(&pair.key) {
                            let taken =
                                format!("`{}` is another parameter", pair.key.escape_debug());
                            return Err(problem(taken));
                        }
                        parts.query.push(pair.text);
                    }
                }
                Location::Header => {
                    let text =
                        header_text(parameter.style, parameter.explode, value).map_err(problem)?;
                    let Some(text) = text else {
                        continue;
                    };
                    let name = HeaderName::try_from(&parameter.name)
                        .map_err(|error| problem(error.to_string()))?;
                    let value = HeaderValue::from_bytes(text.as_bytes())
                        .map_err(|error| problem(error.to_string()))?;
                    parts.headers.push((name, value));
                }
                Location::Cookie => {
                    if !has_cookie_notation(parameter.style, parameter.explode, value) {
                        return Err(problem("expected a text, a number or a boolean".to_owned()));
                    }
                    let pairs =
                        query_pairs(parameter.style, parameter.explode, &parameter.name, value);
                    parts
                        .cookies
                        .extend(pairs.map_err(problem)?.into_iter().map(|pair| pair.text));
                }
            }
        }
        parts.body = self.body(arguments)?;
        Ok(parts)
    }

    fn path(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let mut path = self.server.path().trim_end_matches('/').to_owned();
        for part in &self.plan.path {
            match part {
                PathPart::Fixed(text) => path += text,
                PathPart::Parameter(index) => {
                    let Some(parameter) = self.plan.parameters.get(*index) else {
                        continue;
                    };
                    let value = arguments.get(&parameter.property).unwrap_or(&Value::Null);
                    let text =
                        path_text(parameter.style, parameter.explode, &parameter.name, value);
                    path +=
                        &text.map_err(|problem| format!("`{}`: {problem}", parameter.property))?;
                }
            }
        }
        if has_dot_segment(&path) {
            return Err("expected texts that leave the path as it is, got `.` or `..`".to_owned());
        }
        Ok(path)
    }

    /// Returns true for a name that the document, and not a value, gives a part of the query.
    fn has_query_name(&self, name: &str) -> bool {
        let is_parameter = self
            .plan
            .parameters
            .iter()
            .any(|own| own.location == Location::Query && own.name == name);
        let is_fixed = self
            .plan
            .query
            .iter()
            .any(|pair| fixed_name(pair).as_deref() == Some(name));
        is_parameter
            || is_fixed
            || self
                .credentials
                .iter()
                .any(|credential| credential.placement.is_at("query", name))
    }

    fn body(&self, arguments: &Map<String, Value>) -> Result<Option<WrittenBody>, String> {
        let Some(body) = &self.plan.body else {
            return Ok(None);
        };
        let Some(value) = arguments.get(&body.property) else {
            return Ok(None);
        };
        let text = match (&body.form, value) {
            (BodyForm::Json, value) => value.to_string(),
            (BodyForm::Text, Value::String(text)) => text.clone(),
            (BodyForm::Form(styles), Value::Object(members)) => {
                form_pairs(members, |name| styles.get(name).copied())?.join("&")
            }
            (BodyForm::Multipart(forms), Value::Object(members)) => {
                let MultipartBody { media_type, bytes } = multipart(members, forms)?;
                return Ok(Some(WrittenBody { media_type, bytes }));
            }
            (BodyForm::Text, _) => {
                return Err(format!("expected `{}` to be a text", body.property));
            }
            (BodyForm::Form(_) | BodyForm::Multipart(_), _) => {
                return Err(format!("expected `{}` to be an object", body.property));
            }
        };
        Ok(Some(WrittenBody {
            media_type: body.media_type.clone(),
            bytes: text.into_bytes(),
        }))
    }

    /// Builds the request. It goes to the server's origin and to no path but the planned one.
    fn request(
        &self,
        parts: &Parts,
        tokens: &[Secret],
        secrets: &mut Secrets,
        ctx: &RunContext,
    ) -> Result<EgressRequest, ToolError> {
        let mut query = parts.query.clone();
        let mut headers = parts.headers.clone();
        let mut cookies = parts.cookies.clone();
        for (credential, token) in self.credentials.iter().zip(tokens) {
            secrets.add(token);
            let text = credential.placement.text(token);
            secrets.add(&text);
            match &credential.placement {
                Placement::Query(name) => {
                    query.push(format!("{}={}", escape(name), escape(text.expose())));
                }
                Placement::Cookie(name) => {
                    cookies.push(format!("{name}={}", escape_cookie(text.expose())));
                }
                Placement::Header(name) => headers.push((name.clone(), key_header(&text)?)),
                Placement::Bearer | Placement::Basic => {
                    headers.push((header::AUTHORIZATION, key_header(&text)?));
                }
            }
        }
        let url = self.url(&parts.path, &query)?;
        let mut request = ctx
            .http()
            .map_err(unsent)?
            .request(self.plan.method.clone(), &url);
        if !cookies.is_empty() {
            let text = Secret::from(cookies.join("; "));
            headers.push((header::COOKIE, key_header(&text)?));
        }
        headers.push((
            header::ACCEPT,
            HeaderValue::from_static("application/json, text/*;q=0.9, */*;q=0.5"),
        ));
        let body = parts.body.clone();
        request = request.map(|mut request| {
            for (name, value) in headers {
                request = request.header(name, value);
            }
            match body {
                Some(body) => request
                    .header(header::CONTENT_TYPE, body.media_type)
                    .body(body.bytes),
                None => request,
            }
        });
        Ok(request)
    }

    fn url(&self, path: &str, query: &[String]) -> Result<Url, ToolError> {
        let mut url = self.server.clone();
        url.set_path(path);
        if !query.is_empty() {
            url.set_query(Some(&query.join("&")));
        }
        if url.path() != path || url.origin() != self.server.origin() {
            return Err(ToolError::permanent(
                "the arguments do not fit into the path of the request",
            ));
        }
        Ok(url)
    }
}

/// Returns true for a value that is one pair of a cookie.
fn has_cookie_notation(style: Style, explode: bool, value: &Value) -> bool {
    let has_members = value.is_array() || value.is_object();
    style == Style::Json || !explode || !has_members
}

/// Returns the name of a fixed pair of the query, as a server decodes it.
fn fixed_name(pair: &str) -> Option<String> {
    let name = pair.split('=').next()?.replace('+', " ");
    percent_decode(&name).or(Some(name))
}

/// Returns the header of a credential, which no log shows.
fn key_header(text: &Secret) -> Result<HeaderValue, ToolError> {
    let mut value = HeaderValue::from_bytes(text.expose().as_bytes()).map_err(|_| {
        ToolError::internal("a credential has characters that a header cannot have")
    })?;
    value.set_sensitive(true);
    Ok(value)
}
