//! The guard of the connections of a `reqwest` client.

use crate::egress::error::EgressError;
use crate::egress::policy::EgressPolicy;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, Proxy, redirect};
use std::sync::Arc;

/// The proxy of requests to refused addresses. The resolver refuses its name, so that no connection
/// is made.
const REFUSED: &str = "http://refused.invalid";
const REFUSED_NAME: &str = "refused.invalid";

/// Returns a builder for a `reqwest` client whose connections go to allowed addresses only, for
/// crates that take such a client. Prefer [`EgressClient`](super::EgressClient), which also limits
/// the size of answers.
///
/// The client checks each name that it resolves, connects to the checked addresses, and checks
/// addresses in URLs, also behind redirects. It uses no proxy, as a proxy would resolve names
/// itself. Setting another resolver, proxy or redirect policy on the builder removes that part of
/// the guard. On a redirect to another origin, `reqwest` removes `Authorization` and cookies, but
/// sends other headers and the body along.
///
/// # Errors
///
/// Returns an error if the policy has invalid settings.
///
/// ```
/// use std::time::Duration;
/// use tool_adapters::egress::{EgressPolicy, client_builder};
///
/// // For a crate that takes a client of `reqwest`.
/// let client = client_builder(EgressPolicy::new().only_allowed().allow_host("api.example"))?;
/// let client = client.connect_timeout(Duration::from_secs(2)).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn client_builder(policy: EgressPolicy) -> Result<ClientBuilder, EgressError> {
    policy.check()?;
    let policy = Arc::new(policy);
    // A URL's address does not reach the resolver. The proxy's rule sees each connection, so it is
    // the place for this check.
    let rules = Arc::clone(&policy);
    let refuse = Proxy::custom(move |url| rules.check_url(url).is_err().then_some(REFUSED));
    Ok(on_its_way(
        guarded(Arc::clone(&policy)).proxy(refuse),
        &policy,
    ))
}

/// Returns a builder for a client that sends requests to the origin of one URL only, which is
/// checked here, and not with each request. It needs a redirect policy that stays at this origin.
pub fn client_builder_for(
    policy: EgressPolicy,
    url: &reqwest::Url,
) -> Result<ClientBuilder, EgressError> {
    policy.check()?;
    policy.check_url(url)?;
    let policy = Arc::new(policy);
    Ok(on_its_way(guarded(Arc::clone(&policy)), &policy))
}

/// Sends the requests of a client on the way that the policy names.
fn on_its_way(builder: ClientBuilder, policy: &EgressPolicy) -> ClientBuilder {
    if let Some(network) = &policy.network {
        return network.apply(builder);
    }
    builder
}

fn guarded(policy: Arc<EgressPolicy>) -> ClientBuilder {
    let builder = Client::builder()
        .timeout(policy.timeout)
        .redirect(redirect_policy(Arc::clone(&policy)));
    // A `Referer` would carry the query of a URL to the next server.
    builder
        .referer(false)
        .no_proxy()
        .dns_resolver(GuardedResolver(policy))
}

fn redirect_policy(policy: Arc<EgressPolicy>) -> redirect::Policy {
    redirect::Policy::custom(move |attempt| {
        if attempt.previous().len() > policy.max_redirects {
            return attempt.error(EgressError::TooManyRedirects {
                limit: policy.max_redirects,
            });
        }
        match policy.check_url(attempt.url()) {
            Ok(()) => attempt.follow(),
            Err(refused) => attempt.error(refused),
        }
    })
}

/// Resolves names to allowed addresses.
struct GuardedResolver(Arc<EgressPolicy>);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = Arc::clone(&self.0);
        Box::pin(async move {
            if name.as_str() == REFUSED_NAME {
                let host = "an address of the URL".to_owned();
                let kind = "not public";
                return Err(EgressError::NotPublic { host, kind }.into());
            }
            // The operator has chosen the proxy.
            if policy
                .network
                .as_ref()
                .is_some_and(|network| network.is_proxy_host(name.as_str()))
            {
                return Ok(Box::new(policy.lookup(name.as_str(), 0).await?.into_iter()) as Addrs);
            }
            // `reqwest` sets the port.
            let found = policy.resolve(name.as_str(), 0).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}
