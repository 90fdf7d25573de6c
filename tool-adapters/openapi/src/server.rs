//! The server of an operation: its URL, with variables, and the hosts that the program allows.

use crate::document::{Document, Operation};
use crate::refusal::RefusalReason;
use reqwest::Url;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use tool_core::text::truncate;

/// The server of an operation.
pub(crate) struct Server {
    pub(crate) url: Url,
    /// True if the program set the URL, and not the document.
    pub(crate) is_programs: bool,
}

/// Returns the server of an operation: its own, or the base URL, or the document's first.
pub(crate) fn server(
    document: &Document,
    operation: &Operation<'_>,
    base_url: Option<&Url>,
    variables: &BTreeMap<String, String>,
) -> Result<Server, RefusalReason> {
    let own = operation.member("servers").and_then(first);
    let (declared, base_url) = match (own, base_url) {
        (None, Some(base_url)) => {
            return Ok(Server {
                url: base_url.clone(),
                is_programs: true,
            });
        }
        (Some(own), base_url) => (Some(own), base_url),
        (None, None) => (document.root().get("servers").and_then(first), None),
    };
    let invalid = |text: &str, problem: &str| {
        RefusalReason::Server(format!(
            "`{}` {problem}",
            truncate(text, 200).escape_debug()
        ))
    };
    let Some(declared) = declared else {
        return Err(RefusalReason::Server(
            "the document names none; set `base_url`".to_owned(),
        ));
    };
    let template = declared
        .get("url")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let text = substitute(
        template,
        declared.get("variables").and_then(Value::as_object),
        variables,
    )?;
    let url = match (Url::parse(&text), base_url) {
        (Ok(url), _) => url,
        (Err(_), Some(base)) => base
            .join(&text)
            .map_err(|_| invalid(&text, "is not a URL"))?,
        (Err(_), None) => return Err(invalid(&text, "is relative; set `base_url`")),
    };
    check_base(&url).map_err(|problem| invalid(&text, problem))?;
    let is_programs = base_url.is_some_and(|base| base.origin() == url.origin());
    Ok(Server { url, is_programs })
}

/// Checks a URL to which paths are appended.
pub(crate) fn check_base(url: &Url) -> Result<(), &'static str> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err("has another scheme than http and https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("contains a user name or a password");
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("has a query or a fragment");
    }
    if url.host_str().is_none_or(str::is_empty) {
        Err("has no host")
    } else {
        Ok(())
    }
}

/// Returns the names of the variables of the document's servers.
pub(crate) fn variable_names(document: &Document) -> Vec<&str> {
    let mut servers = list(document.root()).collect::<Vec<_>>();
    for operation in document.operations() {
        servers.extend(
            operation
                .member("servers")
                .and_then(Value::as_array)
                .into_iter()
                .flatten(),
        );
    }
    let variables = servers
        .into_iter()
        .filter_map(|server| server.get("variables")?.as_object());
    variables
        .flat_map(|variables| variables.keys().map(String::as_str))
        .collect()
}

fn list(root: &Value) -> impl Iterator<Item = &Value> {
    root.get("servers")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
}

fn first(servers: &Value) -> Option<&Value> {
    servers.as_array()?.first()
}

fn substitute(
    template: &str,
    declared: Option<&Map<String, Value>>,
    chosen: &BTreeMap<String, String>,
) -> Result<String, RefusalReason> {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        let variable = declared.and_then(|all| all.get(name));
        let default = variable
            .and_then(|variable| variable.get("default"))
            .and_then(scalar_text);
        let Some(value) = chosen.get(name).cloned().or(default) else {
            let problem = format!(
                "the variable `{}` has no value; set `server_variable`",
                name.escape_debug()
            );
            return Err(RefusalReason::Server(problem));
        };
        let allowed = variable
            .and_then(|variable| variable.get("enum"))
            .and_then(Value::as_array);
        if allowed.is_some_and(|allowed| {
            !allowed.is_empty()
                && !allowed
                    .iter()
                    .any(|allowed| scalar_text(allowed).as_ref() == Some(&value))
        }) {
            let problem = format!(
                "the variable `{}` does not allow `{}`",
                name.escape_debug(),
                value.escape_debug()
            );
            return Err(RefusalReason::Server(problem));
        }
        text += before;
        text += &value;
        rest = after;
    }
    Ok(text + rest)
}

/// Returns the text of a value of a variable. YAML without quotes has a number or a boolean there.
fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
