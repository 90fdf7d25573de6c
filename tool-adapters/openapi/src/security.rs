//! Credentials: the schemes of a document, and the place of a credential in a request.

use crate::document::{Document, Operation};
use crate::headers::is_of_the_connection;
use crate::refusal::RefusalReason;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::HeaderName;
use serde_json::Value;
use std::collections::BTreeMap;
use tool_core::Secret;
use tool_core::text::truncate;
use tool_core::tool::AccessToken;

/// The place of a credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    Header(HeaderName),
    Query(String),
    Cookie(String),
    Bearer,
    Basic,
}

/// A credential of an operation.
#[derive(Clone)]
pub(crate) struct Credential {
    pub(crate) placement: Placement,
    pub(crate) token: AccessToken,
}

impl Placement {
    /// Returns true if a parameter would take the place of the credential.
    pub(crate) fn is_at(&self, location: &str, name: &str) -> bool {
        match self {
            Self::Header(own) => location == "header" && own.as_str().eq_ignore_ascii_case(name),
            Self::Query(own) => location == "query" && own == name,
            Self::Cookie(own) => location == "cookie" && own == name,
            Self::Bearer | Self::Basic => {
                location == "header" && name.eq_ignore_ascii_case("authorization")
            }
        }
    }

    /// Returns the text that is sent for a credential.
    pub(crate) fn text(&self, secret: &Secret) -> Secret {
        match self {
            Self::Bearer => format!("Bearer {}", secret.expose()).into(),
            Self::Basic => format!("Basic {}", STANDARD.encode(secret.expose())).into(),
            _ => secret.clone(),
        }
    }
}

/// Returns the names of the document's schemes.
pub(crate) fn scheme_names(document: &Document) -> impl Iterator<Item = &str> {
    let schemes = document
        .root()
        .pointer("/components/securitySchemes")
        .and_then(Value::as_object);
    schemes.into_iter().flatten().map(|(name, _)| name.as_str())
}

/// Returns the credentials of an operation: those of the first alternative for which the program
/// has all.
pub(crate) fn credentials(
    document: &Document,
    operation: &Operation<'_>,
    known: &BTreeMap<String, AccessToken>,
    may_be_missing: bool,
) -> Result<Vec<Credential>, RefusalReason> {
    let security = operation
        .body
        .get("security")
        .or_else(|| document.root().get("security"));
    let Some(alternatives) = security
        .and_then(Value::as_array)
        .filter(|list| !list.is_empty())
    else {
        return Ok(Vec::new());
    };
    let mut names = Vec::new();
    let mut is_optional = false;
    for alternative in alternatives.iter().filter_map(Value::as_object) {
        if alternative.is_empty() {
            is_optional = true;
            continue;
        }
        let found = alternative.keys().map(|name| {
            Some(Credential {
                placement: placement(document, name)?,
                token: known.get(name)?.clone(),
            })
        });
        if let Some(found) = found.collect::<Option<Vec<_>>>() {
            return Ok(found);
        }
        names.push(
            alternative
                .keys()
                .map(|name| format!("`{}`", name.escape_debug()))
                .collect::<Vec<_>>()
                .join(" with "),
        );
    }
    if is_optional || may_be_missing {
        return Ok(Vec::new());
    }
    Err(RefusalReason::Credentials(truncate(
        &names.join(" or "),
        500,
    )))
}

/// Returns the place of a scheme's credential. Schemes that need more than a fixed text have none.
fn placement(document: &Document, name: &str) -> Option<Placement> {
    let scheme = document
        .root()
        .get("components")?
        .get("securitySchemes")?
        .get(name)?;
    let scheme = document.resolve(scheme, "the security scheme").ok()?;
    let text = |key: &str| scheme.get(key).and_then(Value::as_str);
    match text("type")? {
        "apiKey" => {
            let name = text("name")?;
            match text("in")? {
                "header" => {
                    let name = HeaderName::try_from(name).ok()?;
                    (!is_of_the_connection(name.as_str())).then_some(Placement::Header(name))
                }
                "query" => Some(Placement::Query(name.to_owned())),
                // A cookie's name is a token, as that of a header.
                "cookie" => HeaderName::try_from(name)
                    .ok()
                    .map(|_| Placement::Cookie(name.to_owned())),
                _ => None,
            }
        }
        "http" => match text("scheme")?.to_ascii_lowercase().as_str() {
            "bearer" => Some(Placement::Bearer),
            "basic" => Some(Placement::Basic),
            _ => None,
        },
        "oauth2" | "openIdConnect" => Some(Placement::Bearer),
        _ => None,
    }
}
