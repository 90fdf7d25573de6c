//! The hosts to which the trace is propagated, and the trace context as headers.

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;
use reqwest::redirect::Policy;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tool_core::trace::DistributedContext;

/// Reads the trace of a request from its headers, for [`trace::import`](tool_core::trace::import). Ignores the baggage
/// with the run and the customer, as any client may send any value.
pub fn extract(headers: &HeaderMap) -> DistributedContext {
    DistributedContext::from_pairs(pairs(headers))
}

/// Reads the trace of a request of a trusted client, including the run and the customer.
pub fn extract_trusted(headers: &HeaderMap) -> DistributedContext {
    DistributedContext::from_trusted_pairs(pairs(headers))
}

fn pairs(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers.iter().filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)))
}

/// Adds the context to a request that has no `traceparent`.
pub(crate) fn inject(context: &DistributedContext, headers: &mut HeaderMap) {
    if headers.contains_key("traceparent") {
        return;
    }
    for (name, value) in context.to_pairs() {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct AllowedHosts {
    names: Arc<[String]>,
    /// True once a redirect policy was made for the client. A middleware cannot see the policy of its client.
    has_policy: AtomicBool,
    warned: Arc<AtomicBool>,
}

impl Clone for AllowedHosts {
    /// Copies `has_policy`, because the clone may get into another client.
    fn clone(&self) -> Self {
        let has_policy = AtomicBool::new(self.has_policy.load(Ordering::Relaxed));
        Self { names: Arc::clone(&self.names), has_policy, warned: Arc::clone(&self.warned) }
    }
}

impl AllowedHosts {
    pub(crate) fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names = names.into_iter().map(|name| name.into().to_ascii_lowercase()).collect();
        Self { names, ..Self::default() }
    }

    /// Returns true if a request to this URL may carry the trace.
    pub(crate) fn may_propagate(&self, url: &Url) -> bool {
        if !self.contains(url) {
            return false;
        }
        let has_policy = self.has_policy.load(Ordering::Relaxed);
        if !has_policy && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the trace is not propagated, because a redirect would carry it to other hosts; build the client with \
                 `TraceMiddleware::client`, or with its `redirect_policy`"
            );
        }
        has_policy
    }

    fn contains(&self, url: &Url) -> bool {
        let Some(host) = url.host_str() else { return false };
        let port = url.port_or_known_default();
        self.names.iter().any(|name| match name.strip_prefix(host) {
            Some("") => true,
            Some(rest) => rest.strip_prefix(':').is_some_and(|text| text.parse().ok() == port && port.is_some()),
            None => false,
        })
    }

    pub(crate) fn redirect_policy(&self, policy: Policy) -> Policy {
        self.has_policy.store(true, Ordering::Relaxed);
        let hosts = self.clone();
        Policy::custom(move |attempt| {
            // The headers of the first request are sent with every request that follows.
            let has_trace = attempt.previous().first().is_some_and(|first| hosts.contains(first));
            if has_trace && !hosts.may_follow(attempt.previous(), attempt.url()) {
                return attempt.stop();
            }
            policy.redirect(attempt)
        })
    }

    fn may_follow(&self, previous: &[Url], next: &Url) -> bool {
        let is_downgrade = next.scheme() != "https" && previous.iter().any(|url| url.scheme() == "https");
        self.contains(next) && !is_downgrade
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
    fn matches_whole_host_names_and_given_ports() {
        let hosts = AllowedHosts::new(["Stock.Internal", "api.internal:8443", "[::1]", "127.0.0.1:80"]);
        for known in [
            "http://stock.internal/",
            "https://STOCK.internal:9/x",
            "https://api.internal:8443",
            "http://[::1]:7/",
            "http://127.0.0.1/",
        ] {
            assert!(hosts.contains(&url(known)), "{known}");
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
            assert!(!hosts.contains(&url(other)), "{other}");
        }
    }

    // S9
    #[test]
    fn propagates_to_named_hosts_with_a_redirect_policy_only() {
        let hosts = AllowedHosts::new(["stock.internal"]);
        assert!(!AllowedHosts::default().may_propagate(&url("http://stock.internal")));
        assert!(!hosts.may_propagate(&url("http://stock.internal")));
        let _policy = hosts.redirect_policy(Policy::default());
        assert!(
            hosts.may_propagate(&url("http://stock.internal")) && !hosts.may_propagate(&url("http://other.internal"))
        );
    }

    // S9
    #[test]
    fn the_policy_of_a_clone_does_not_affect_the_original() {
        let (hosts, known) = (AllowedHosts::new(["stock.internal"]), url("http://stock.internal"));
        let clone = hosts.clone();
        let _policy = clone.redirect_policy(Policy::default());
        assert!(clone.may_propagate(&known) && !hosts.may_propagate(&known));
        assert!(clone.clone().may_propagate(&known), "a clone of the clone has the policy");
    }

    // S9
    #[test]
    fn redirects_stay_on_allowed_hosts_and_https() {
        let hosts = AllowedHosts::new(["a.internal", "b.internal"]);
        let (a, b, plain) = (url("https://a.internal"), url("https://b.internal"), url("http://b.internal"));
        assert!(hosts.may_follow(std::slice::from_ref(&a), &b));
        assert!(!hosts.may_follow(std::slice::from_ref(&a), &plain));
        assert!(!hosts.may_follow(&[a, b], &url("https://c.internal")));
        assert!(hosts.may_follow(&[url("http://a.internal")], &plain));
    }
}
