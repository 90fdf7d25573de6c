//! URLs that tokens and codes may go to.

use super::OAuth2Error;
use oauth2::url::{Host, Url};

/// Encrypted, unless it is this machine. A redirect URL may be an app's own scheme too.
pub(super) fn check(what: &str, url: &str, own_scheme: bool) -> Result<(), OAuth2Error> {
    let shown = url.escape_debug();
    let wrong = |why: &str| Err(OAuth2Error::Client(format!("the {what} `{shown}` {why}")));
    let Ok(parsed) = Url::parse(url) else { return wrong("is no URL") };
    if !parsed.username().is_empty() || parsed.password().is_some() {
        // Not shown: there is a password in it.
        return Err(OAuth2Error::Client(format!("the {what} holds a name or a password")));
    }
    if parsed.fragment().is_some() {
        return wrong("has a fragment, which no server would see");
    }
    match parsed.scheme() {
        "https" => Ok(()),
        "http" if is_loopback(&parsed) => Ok(()),
        "http" => wrong("is not encrypted; use https"),
        _ if own_scheme => Ok(()),
        _ => wrong("is not https"),
    }
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
