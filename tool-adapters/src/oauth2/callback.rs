//! What a browser comes back with.

use super::OAuth2Error;
use oauth2::url::form_urlencoded;
use std::fmt;
use tool_core::Secret;
use zeroize::Zeroizing;

/// Longer ones are not looked at.
const MOST: usize = 16 * 1024;

/// What a browser comes back with: a query, or a code and a state.
#[derive(Clone)]
pub struct Callback(Kind);

#[derive(Clone)]
enum Kind {
    Query(Zeroizing<String>),
    Parts(Parsed),
}

/// What stands in it.
#[derive(Clone, Default)]
pub(super) struct Parsed {
    code: Option<Secret>,
    pub(super) state: Secret,
    pub(super) issuer: Option<String>,
    error: Option<String>,
    description: Option<String>,
}

/// An answer that is no refusal.
pub(super) struct Answered {
    pub(super) code: Secret,
}

impl Callback {
    /// A code and the state that came with it.
    pub fn new(code: impl Into<Secret>, state: impl Into<Secret>) -> Self {
        Self(Kind::Parts(Parsed { code: Some(code.into()), state: state.into(), ..Parsed::default() }))
    }

    pub(super) fn parsed(self) -> Result<Parsed, OAuth2Error> {
        match self.0 {
            Kind::Parts(parts) => Ok(parts),
            Kind::Query(query) if query.len() > MOST => Err(OAuth2Error::Callback("it is too long".into())),
            Kind::Query(query) => parse(&query),
        }
    }
}

/// A query with or without its `?`, or the whole URL.
impl From<&str> for Callback {
    fn from(query: &str) -> Self {
        Self(Kind::Query(Zeroizing::new(query.to_owned())))
    }
}

/// The same.
impl From<String> for Callback {
    fn from(query: String) -> Self {
        Self(Kind::Query(Zeroizing::new(query)))
    }
}

impl fmt::Debug for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

fn parse(query: &str) -> Result<Parsed, OAuth2Error> {
    let query = query.split_once('?').map_or(query, |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let mut parsed = Parsed::default();
    let mut state = None;
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let twice = match &*name {
            "code" => parsed.code.replace(Secret::from(&*value)).is_some(),
            "state" => state.replace(Secret::from(&*value)).is_some(),
            "iss" => parsed.issuer.replace(value.into_owned()).is_some(),
            "error" => parsed.error.replace(value.into_owned()).is_some(),
            "error_description" => parsed.description.replace(value.into_owned()).is_some(),
            // What providers add, such as `scope` and `session_state`.
            _ => false,
        };
        if twice {
            return Err(OAuth2Error::Callback(format!("`{name}` stands in it twice")));
        }
    }
    parsed.state = state.unwrap_or_default();
    Ok(parsed)
}

impl Parsed {
    /// The code, unless somebody said no.
    pub(super) fn answered(self) -> Result<Answered, OAuth2Error> {
        if let Some(error) = self.error {
            return Err(OAuth2Error::denied(&error, self.description.as_deref()));
        }
        match self.code.filter(|code| !code.is_empty()) {
            Some(code) => Ok(Answered { code }),
            None => Err(OAuth2Error::Callback("there is no `code` in it".into())),
        }
    }
}
