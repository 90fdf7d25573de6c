//! The way to servers: a proxy, and the certificates that are trusted beside those of the system.

use crate::egress::addresses::normalised_host;
use http::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, ClientBuilder, NoProxy, Proxy, Url};
use std::fmt;
use std::sync::Arc;

/// The hosts that are never reached by a proxy.
const LOCAL: &str = "localhost,127.0.0.0/8,::1";

/// The proxies that are used, and the hosts that are reached without them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxySettings {
    /// The proxy for `https` URLs.
    pub https: Option<String>,
    /// The proxy for `http` URLs.
    pub http: Option<String>,
    /// Names, suffixes of names, addresses and networks, separated by commas.
    pub no_proxy: String,
}

impl ProxySettings {
    /// Reads the variables that most programs know.
    pub fn from_env(get: impl Fn(&str) -> Option<String>) -> Self {
        let get = |name: &str| {
            let value = get(name).or_else(|| get(&name.to_ascii_lowercase()));
            value.filter(|value| !value.is_empty())
        };
        // A server may set `HTTP_PROXY` for a program that it starts, from a header of a request.
        let is_cgi = get("REQUEST_METHOD").is_some();
        let all = get("ALL_PROXY");
        Self {
            https: get("HTTPS_PROXY").or_else(|| all.clone()),
            http: get("HTTP_PROXY").filter(|_| !is_cgi).or(all),
            no_proxy: get("NO_PROXY").unwrap_or_default(),
        }
    }
}

/// The way to servers.
#[derive(Clone)]
pub struct Network {
    proxies: Vec<Proxy>,
    /// Decides as the proxies do.
    matcher: Option<Arc<Matcher>>,
    /// The hosts of the proxies, which the operator has chosen.
    proxy_hosts: Vec<String>,
    certificates: Vec<Certificate>,
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address of a proxy may have a password.
        f.debug_struct("Network")
            .field("proxy_hosts", &self.proxy_hosts)
            .finish_non_exhaustive()
    }
}

impl Network {
    /// Makes the way. Fails with the problem of a proxy's address.
    pub fn new(settings: &ProxySettings, certificates: Vec<Certificate>) -> Result<Self, String> {
        let mut network = Self {
            proxies: Vec::new(),
            matcher: None,
            proxy_hosts: Vec::new(),
            certificates,
        };
        let no_proxy = format!("{LOCAL},{}", settings.no_proxy.replace("*.", "."));
        let mut matcher = Matcher::builder().no(no_proxy.clone());
        for (scheme, address) in [("https", &settings.https), ("http", &settings.http)] {
            let Some(address) = address else { continue };
            let url = proxy_url(address)?;
            let proxy = if scheme == "https" {
                Proxy::https(url.clone())
            } else {
                Proxy::http(url.clone())
            };
            let proxy = proxy.map_err(|_| "expected the address of a proxy".to_owned())?;
            network
                .proxies
                .push(proxy.no_proxy(NoProxy::from_string(&no_proxy)));
            network
                .proxy_hosts
                .extend(url.host_str().map(str::to_owned));
            matcher = if scheme == "https" {
                matcher.https(url.to_string())
            } else {
                matcher.http(url.to_string())
            };
        }
        if !network.proxies.is_empty() {
            network.matcher = Some(Arc::new(matcher.build()));
        }
        Ok(network)
    }

    /// Returns true if requests to a URL go to a proxy.
    pub(crate) fn is_proxied(&self, url: &Url) -> bool {
        let Some(matcher) = &self.matcher else {
            return false;
        };
        url.as_str()
            .parse::<Uri>()
            .is_ok_and(|uri| matcher.intercept(&uri).is_some())
    }

    /// Returns true for the name of a proxy.
    pub(crate) fn is_proxy_host(&self, name: &str) -> bool {
        self.proxy_hosts
            .iter()
            .any(|host| normalised_host(name).as_deref() == Some(host))
    }

    /// Sends the requests of a client on this way.
    pub(crate) fn apply(&self, builder: ClientBuilder) -> ClientBuilder {
        let builder = if self.certificates.is_empty() {
            builder
        } else {
            builder.tls_certs_merge(self.certificates.iter().cloned())
        };
        self.proxies
            .iter()
            .cloned()
            .fold(builder, ClientBuilder::proxy)
    }
}

/// Parses the address of a proxy. One without a scheme is `http`.
pub fn proxy_url(address: &str) -> Result<Url, String> {
    let address = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    let url = Url::parse(&address)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    // The address may have a password.
    url.ok_or_else(|| {
        "expected the address of a proxy, such as \"http://proxy.example:3128\"".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).expect("a URL")
    }

    // C19
    #[test]
    fn variables_of_the_environment_name_the_proxies() {
        let set = |pairs: &'static [(&str, &str)]| {
            let get = |name: &str| {
                pairs
                    .iter()
                    .find(|(own, _)| *own == name)
                    .map(|(_, value)| (*value).to_owned())
            };
            Network::new(&ProxySettings::from_env(get), Vec::new()).expect("a way")
        };
        let none = set(&[]);
        assert!(!none.is_proxied(&url("https://mcp.example/mcp")));
        let network = set(&[
            ("HTTPS_PROXY", "http://user:secret@proxy.corp:3128"),
            ("no_proxy", "direct.example,.internal.example,10.0.0.0/8"),
        ]);
        for proxied in [
            "https://mcp.example/mcp",
            "https://notdirect.example/",
            "https://11.0.0.1/",
        ] {
            assert!(network.is_proxied(&url(proxied)), "{proxied}");
        }
        for direct in [
            "http://mcp.example/mcp",
            "https://direct.example/",
            "https://a.internal.example/",
            "https://10.1.2.3/",
            "https://localhost/",
            "https://127.0.0.1:8443/",
            "https://[::1]/",
        ] {
            assert!(!network.is_proxied(&url(direct)), "{direct}");
        }
        assert!(network.is_proxy_host("PROXY.corp") && !network.is_proxy_host("mcp.example"));
        assert!(!format!("{network:?}").contains("secret"));
        let all = set(&[
            ("all_proxy", "proxy.corp:3128"),
            ("REQUEST_METHOD", "GET"),
            ("HTTP_PROXY", "http://evil.example"),
        ]);
        assert!(all.is_proxied(&url("http://mcp.example/")) && !all.is_proxy_host("evil.example"));
    }

    #[test]
    fn addresses_of_proxies_are_checked() {
        for address in ["ftp://proxy", "http://", "socks5://proxy:1080", ""] {
            assert!(proxy_url(address).is_err(), "{address}");
        }
        for address in [
            "proxy.corp:3128",
            "https://proxy.corp",
            "http://10.0.0.1:3128",
        ] {
            proxy_url(address).expect(address);
        }
    }
}
