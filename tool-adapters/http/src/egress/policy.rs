//! The rules for requests of tools: the hosts, the networks and the limits.

use crate::egress::addresses::{behind_nat64, normalised_host, parse_network, special_range};
use crate::egress::error::EgressError;
use crate::egress::network::Network;
use ipnet::IpNet;
use reqwest::Url;
use reqwest::dns::Resolve;
use std::collections::BTreeSet;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tool_adapters_providers::Provider;
use tool_adapters_providers::spec::Endpoint;

/// The rules for requests of tools. By default every public host is allowed, and no other.
///
/// ```
/// use tool_adapters::egress::{EgressClient, EgressPolicy};
///
/// let policy = EgressPolicy::new().allow_host("intranet.example").allow_network("10.20.0.0/16").max_body(1 << 20);
/// let client = EgressClient::new(policy)?;
/// # Ok::<(), tool_adapters::egress::EgressError>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct EgressPolicy {
    hosts: BTreeSet<String>,
    networks: Vec<IpNet>,
    loopback: bool,
    nat64: bool,
    only_allowed: bool,
    resolver: Option<Arc<dyn Resolve>>,
    pub(crate) network: Option<Arc<Network>>,
    problems: Vec<String>,
    pub(crate) max_redirects: usize,
    pub(crate) max_body: usize,
    pub(crate) timeout: Duration,
}

impl Default for EgressPolicy {
    fn default() -> Self {
        Self {
            hosts: BTreeSet::new(),
            networks: Vec::new(),
            loopback: false,
            nat64: false,
            only_allowed: false,
            resolver: None,
            network: None,
            problems: Vec::new(),
            max_redirects: 5,
            max_body: 8 << 20,
            timeout: Duration::from_secs(30),
        }
    }
}

impl EgressPolicy {
    /// Creates the default policy: all public hosts, at most 5 redirects, 8 MiB and 30 s.
    pub fn new() -> Self {
        Self::default()
    }

    /// Allows a host at every address that its name resolves to, such as `intranet.example` or
    /// `fd00::1`, on every port.
    pub fn allow_host(mut self, host: impl AsRef<str>) -> Self {
        let host = host.as_ref();
        match normalised_host(host) {
            Some(host) => _ = self.hosts.insert(host),
            None => self.problems.push(format!(
                "expected the name of a host without a scheme and a port, got `{}`",
                host.escape_debug()
            )),
        }
        self
    }

    /// Allows the addresses of a network, such as `10.20.0.0/16`, or a single address.
    pub fn allow_network(mut self, network: impl AsRef<str>) -> Self {
        let network = network.as_ref();
        match parse_network(network) {
            Some(network) => self.networks.push(network),
            None => {
                self.problems.push(format!(
                    "expected a network such as 10.20.0.0/16, got `{}`",
                    network.escape_debug()
                ));
            }
        }
        self
    }

    /// Allows the loopback addresses of this machine, `127.0.0.0/8` and `::1`, for tests and local
    /// services.
    pub fn allow_loopback(self) -> Self {
        Self {
            loopback: true,
            ..self
        }
    }

    /// Allows the addresses of NAT64, `64:ff9b::/96`, whose IPv4 address is allowed. A machine
    /// without IPv4 needs it.
    /// [`allow_network`](Self::allow_network) with this range would allow private addresses too.
    pub fn allow_nat64(self) -> Self {
        Self {
            nat64: true,
            ..self
        }
    }

    /// Refuses public hosts too, except those that [`allow_host`](Self::allow_host) and
    /// [`allow_network`](Self::allow_network) name. A model that reads foreign texts can then send nothing elsewhere.
    ///
    /// Names have to be named by `allow_host`: others are not resolved, because a question to a
    /// name server carries data too. Networks and loopback then allow URLs with addresses only.
    pub fn only_allowed(self) -> Self {
        Self {
            only_allowed: true,
            ..self
        }
    }

    /// Sets the maximum number of redirects. Defaults to 5.
    pub fn max_redirects(self, limit: usize) -> Self {
        Self {
            max_redirects: limit,
            ..self
        }
    }

    /// Sets the maximum size of an answer's body in bytes, after decompression. Defaults to 8 MiB.
    pub fn max_body(self, bytes: usize) -> Self {
        Self {
            max_body: bytes,
            ..self
        }
    }

    /// Sets the limit of the whole exchange, from the first connection to the last byte behind all
    /// redirects. Defaults to 30 s.
    pub fn timeout(self, limit: Duration) -> Self {
        Self {
            timeout: limit.min(tool_core::time::CENTURY),
            ..self
        }
    }

    /// Sets the resolver in place of the system's. The guard checks its answers too.
    pub fn resolver(self, resolver: impl Resolve + 'static) -> Self {
        Self {
            resolver: Some(Arc::new(resolver)),
            ..self
        }
    }

    /// Checks the settings, and reports all problems.
    pub fn check(&self) -> Result<(), EgressError> {
        if self.problems.is_empty() {
            Ok(())
        } else {
            Err(EgressError::Policy {
                problems: self.problems.clone(),
            })
        }
    }

    /// Checks a URL before a request: its scheme, its credentials, and its host as far as it is
    /// known without resolution.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is refused. A name that passes may still resolve to a refused
    /// address.
    pub fn check_url(&self, url: &Url) -> Result<(), EgressError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(EgressError::Scheme {
                scheme: url.scheme().to_owned(),
            });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(EgressError::Credentials);
        }
        let host = url.host_str().unwrap_or_default();
        match literal(host) {
            _ if self.is_allowed_host(host) => Ok(()),
            Some(address) => self.check_host_addr(&address.to_string(), address),
            None if self.only_allowed => Err(EgressError::NotAllowed {
                host: host.to_owned(),
            }),
            // The addresses of a name are checked once it is resolved.
            None => Ok(()),
        }
    }

    /// Returns true if the usage that an answer reports counts as the cost of the tool.
    pub(crate) fn trusts_usage(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let is_host_of = |provider: &Provider| matches!(provider.spec().endpoint, Endpoint::Http(http) if http.server.is_at(host));
        self.is_allowed_host(host)
            || (url.scheme() == "https" && Provider::ALL.iter().any(is_host_of))
    }

    /// Checks an address of a host before a connection to it.
    fn check_host_addr(&self, host: &str, address: IpAddr) -> Result<(), EgressError> {
        let address = behind_nat64(address)
            .filter(|_| self.nat64)
            .map_or(address, IpAddr::V4);
        let in_network = self
            .networks
            .iter()
            .any(|network| network.contains(&address));
        if in_network || (self.loopback && address.is_loopback()) {
            return Ok(());
        }
        let host = || host.to_owned();
        match special_range(address) {
            Some(kind) => Err(EgressError::NotPublic { host: host(), kind }),
            None if self.only_allowed => Err(EgressError::NotAllowed { host: host() }),
            None => Ok(()),
        }
    }

    /// Resolves a host, and returns those of its addresses that are allowed. Connect to one of
    /// these, and do not resolve the name again: the next answer may be another one.
    ///
    /// # Errors
    ///
    /// Returns an error if the policy does not allow the name, or if it has no address, or none
    /// that is allowed.
    pub async fn resolve(&self, host: &str, port: u16) -> Result<Vec<SocketAddr>, EgressError> {
        let is_allowed = self.is_allowed_host(host);
        if self.only_allowed && !is_allowed && literal(host).is_none() {
            return Err(EgressError::NotAllowed {
                host: host.to_owned(),
            });
        }
        let failed = |source| EgressError::Resolve {
            host: host.to_owned(),
            source,
        };
        let found = tokio::time::timeout(self.timeout, self.lookup(host, port)).await;
        let mut found = found
            .map_err(|late| failed(Arc::new(late)))?
            .map_err(|error| failed(error.into()))?;
        let mut refusal = None;
        found.retain(|address| {
            let check = if is_allowed {
                Ok(())
            } else {
                self.check_host_addr(host, address.ip())
            };
            check
                .map_err(|error| refusal = Some((error, address.ip())))
                .is_ok()
        });
        if let Some((error, address)) = refusal {
            tracing::warn!(host = %host.escape_debug(), %address, %error, "refused an address");
            if found.is_empty() {
                return Err(error);
            }
        }
        if found.is_empty() {
            return Err(failed(Arc::new(std::io::Error::other(
                "the name has no address",
            ))));
        }
        found
            .iter_mut()
            .filter(|address| address.port() == 0)
            .for_each(|address| address.set_port(port));
        Ok(found)
    }

    /// Resolves a host without a check.
    pub(crate) async fn lookup(
        &self,
        host: &str,
        port: u16,
    ) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
        match &self.resolver {
            Some(resolver) if literal(host).is_none() => {
                Ok(resolver.resolve(host.parse()?).await?.collect())
            }
            _ => {
                let host = host.trim_start_matches('[').trim_end_matches(']');
                Ok(tokio::net::lookup_host((host, port)).await?.collect())
            }
        }
    }

    fn is_allowed_host(&self, host: &str) -> bool {
        !self.hosts.is_empty()
            && normalised_host(host).is_some_and(|host| self.hosts.contains(&host))
    }
}

debug_only!(
    EgressPolicy, |this| hosts: this.hosts, networks: this.networks, loopback: this.loopback,
    nat64: this.nat64, only_allowed: this.only_allowed, max_redirects: this.max_redirects, max_body: this.max_body,
    timeout: this.timeout
);

/// Returns the address of a host that is one.
fn literal(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[')
        .trim_end_matches(']')
        .parse()
        .ok()
}

impl EgressPolicy {
    /// Sets the way to servers. By default it is direct.
    pub fn network(mut self, network: Network) -> Self {
        self.network = Some(Arc::new(network));
        self
    }

    /// Returns true if requests to a URL go to a proxy.
    pub fn is_proxied(&self, url: &Url) -> bool {
        self.network
            .as_ref()
            .is_some_and(|network| network.is_proxied(url))
    }

    /// Checks the address of a URL that a proxy resolves, as far as it is known here. One that is
    /// not known here is known to the proxy only.
    ///
    /// # Errors
    ///
    /// Returns an error if all addresses of the name are refused.
    pub async fn check_proxied(&self, url: &Url) -> Result<(), EgressError> {
        if !self.is_proxied(url) {
            return Ok(());
        }
        self.check_url(url)?;
        match self.resolve(url.host_str().unwrap_or_default(), 0).await {
            Err(error @ (EgressError::NotPublic { .. } | EgressError::NotAllowed { .. })) => {
                Err(error)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(policy: &EgressPolicy, url: &str) -> Result<(), EgressError> {
        policy.check_url(&Url::parse(url).expect("a URL"))
    }

    #[test]
    fn allows_named_hosts_and_networks_and_no_others() {
        let policy = EgressPolicy::new()
            .allow_host("fd00::1")
            .allow_host("[fd00::2]")
            .allow_host("10.9.9.9")
            .allow_network("10.20.0.0/16");
        for allowed in [
            "http://[fd00::1]/",
            "http://[FD00:0::2]:8080/",
            "http://10.9.9.9/",
            "http://10.20.255.255/",
        ] {
            check(&policy, allowed).expect(allowed);
        }
        for refused in [
            "http://[fd00::3]/",
            "http://10.9.9.8/",
            "http://10.21.0.0/",
            "http://127.0.0.1/",
        ] {
            check(&policy, refused).expect_err(refused);
        }
    }

    #[test]
    fn refuses_public_hosts_that_are_not_named() {
        let policy = EgressPolicy::new().allow_host("Api.Example").only_allowed();
        for allowed in ["https://api.example/", "https://API.example.:8443/x"] {
            check(&policy, allowed).expect(allowed);
        }
        for refused in [
            "https://api.example.org/",
            "https://evil.example/",
            "https://1.1.1.1/",
        ] {
            let error = check(&policy, refused).expect_err(refused);
            assert!(matches!(error, EgressError::NotAllowed { .. }), "{error}");
        }
    }

    #[test]
    fn nat64_reaches_public_addresses_only() {
        let policy = EgressPolicy::new().allow_nat64();
        check(&policy, "http://[64:ff9b::1.1.1.1]/").expect("a public address");
        check(&EgressPolicy::new(), "http://[64:ff9b::1.1.1.1]/").expect_err("by default");
        for address in [
            "127.0.0.1",
            "10.0.0.1",
            "169.254.169.254",
            "168.63.129.16",
            "100.64.0.1",
            "224.0.0.1",
            "0.0.0.0",
        ] {
            check(&policy, &format!("http://[64:ff9b::{address}]/")).expect_err(address);
            check(&policy, &format!("http://[64:ff9b:1::{address}]/")).expect_err(address);
        }
    }

    #[test]
    fn reports_all_invalid_settings() {
        let policy = EgressPolicy::new()
            .allow_host("http://a")
            .allow_host("a:80")
            .allow_network("10.0.0.0/33");
        let error = policy
            .allow_host("")
            .allow_host("intranet.example")
            .check()
            .expect_err("invalid");
        let EgressError::Policy { problems } = &error else {
            panic!("{error}")
        };
        assert_eq!(problems.len(), 4, "{error}");
    }

    #[test]
    fn refuses_other_schemes_and_credentials() {
        let policy = EgressPolicy::new();
        for url in [
            "ftp://a.example/",
            "file:///etc/passwd",
            "gopher://a.example:6379/_x",
            "data:,x",
            "ws://a.example",
        ] {
            assert!(
                matches!(check(&policy, url), Err(EgressError::Scheme { .. })),
                "{url}"
            );
        }
        for url in [
            "https://user@a.example/",
            "https://:word@a.example/",
            "http://a.example%20@127.0.0.1/",
        ] {
            assert!(
                matches!(check(&policy, url), Err(EgressError::Credentials)),
                "{url}"
            );
        }
    }
}
