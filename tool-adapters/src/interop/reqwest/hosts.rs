//! Who is told of the trace, and that nobody else is when a request is redirected.

use reqwest::Url;
use reqwest::redirect::Policy;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Default)]
pub(crate) struct Hosts {
    names: Arc<[String]>,
    /// Whether the client has a policy of ours for redirects. A middleware cannot see which one its client has, and what
    /// it sends is sent on.
    guarded: AtomicBool,
    warned: Arc<AtomicBool>,
}

impl Clone for Hosts {
    /// The clone may go to another client: what is found out about the one's is not known of the other's.
    fn clone(&self) -> Self {
        let guarded = AtomicBool::new(self.guarded.load(Ordering::Relaxed));
        Self { names: Arc::clone(&self.names), guarded, warned: Arc::clone(&self.warned) }
    }
}

impl Hosts {
    pub(crate) fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names = names.into_iter().map(|name| name.into().to_ascii_lowercase()).collect();
        Self { names, ..Self::default() }
    }

    /// Whether a request to there takes the trace along.
    pub(crate) fn may_know(&self, url: &Url) -> bool {
        if !self.has(url) {
            return false;
        }
        let guarded = self.guarded.load(Ordering::Relaxed);
        if !guarded && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the trace context is not sent: a redirect would carry it on; build the client by \
                 `TraceMiddleware::client`, or with its `redirect_policy`"
            );
        }
        guarded
    }

    fn has(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let port = url.port_or_known_default();
        self.names.iter().any(|name| match name.strip_prefix(host) {
            Some("") => true,
            Some(rest) => rest.strip_prefix(':').is_some_and(|text| text.parse().ok() == port && port.is_some()),
            None => false,
        })
    }

    pub(crate) fn policy(&self, otherwise: Policy) -> Policy {
        self.guarded.store(true, Ordering::Relaxed);
        let hosts = self.clone();
        Policy::custom(move |attempt| {
            // The headers of the first request go along through all that follow.
            let carried = attempt.previous().first().is_some_and(|first| hosts.has(first));
            if carried && !hosts.follows(attempt.previous(), attempt.url()) {
                return attempt.stop();
            }
            otherwise.redirect(attempt)
        })
    }

    fn follows(&self, before: &[Url], next: &Url) -> bool {
        let is_bared = next.scheme() != "https" && before.iter().any(|url| url.scheme() == "https");
        self.has(next) && !is_bared
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    // S9
    #[test]
    fn a_host_is_known_by_its_whole_name_and_its_port_where_one_is_said() {
        let hosts = Hosts::new(["Stock.Internal", "api.internal:8443", "[::1]", "127.0.0.1:80"]);
        for known in [
            "http://stock.internal/",
            "https://STOCK.internal:9/x",
            "https://api.internal:8443",
            "http://[::1]:7/",
            "http://127.0.0.1/",
        ] {
            assert!(hosts.has(&url(known)), "{known}");
        }
        for other in [
            "http://stock.internal.example/",
            "http://evil-stock.internal/",
            "http://internal/",
            "https://api.internal/",
            "http://127.0.0.1:8080/",
            "http://stock.internal@evil.example/",
            "data:stock.internal",
        ] {
            assert!(!hosts.has(&url(other)), "{other}");
        }
    }

    // S9
    #[test]
    fn nobody_is_told_unless_somebody_is_named_and_redirects_are_looked_after() {
        let hosts = Hosts::new(["stock.internal"]);
        assert!(!Hosts::default().may_know(&url("http://stock.internal")));
        assert!(!hosts.may_know(&url("http://stock.internal")));
        let _policy = hosts.policy(Policy::default());
        assert!(hosts.may_know(&url("http://stock.internal")) && !hosts.may_know(&url("http://other.internal")));
    }

    // S9
    #[test]
    fn what_one_client_looks_after_is_not_known_of_the_client_of_a_clone() {
        let (hosts, known) = (Hosts::new(["stock.internal"]), url("http://stock.internal"));
        let clone = hosts.clone();
        let _policy = clone.policy(Policy::default());
        assert!(clone.may_know(&known) && !hosts.may_know(&known));
        assert!(clone.clone().may_know(&known), "it was made for such a client");
    }

    // S9
    #[test]
    fn a_redirect_does_not_leave_the_known_hosts_nor_https() {
        let hosts = Hosts::new(["a.internal", "b.internal"]);
        let (a, b, bare) = (url("https://a.internal"), url("https://b.internal"), url("http://b.internal"));
        assert!(hosts.follows(std::slice::from_ref(&a), &b));
        assert!(!hosts.follows(std::slice::from_ref(&a), &bare));
        assert!(!hosts.follows(&[a, b], &url("https://c.internal")));
        assert!(hosts.follows(&[url("http://a.internal")], &bare));
    }
}
