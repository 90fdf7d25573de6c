//! The URL of a store, which says where the servers are.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo};
use tool_core::session::StoreError;

/// The contents of a URL.
#[derive(Debug)]
pub(crate) struct Address {
    pub(crate) servers: Servers,
    pub(crate) is_tls: bool,
    /// Hosts and ports, without the secrets in the URL.
    pub(crate) shown: String,
}

/// The servers that keep a store, with the user and password of each.
#[derive(Debug)]
pub(crate) enum Servers {
    One(Box<ConnectionInfo>),
    /// Some nodes of a cluster, which name the others.
    Cluster(Vec<ConnectionInfo>),
    Sentinels(Sentinels),
}

/// Servers that know which server is the primary.
#[derive(Debug)]
pub(crate) struct Sentinels {
    pub(crate) nodes: Vec<ConnectionInfo>,
    /// The name under which the sentinels know the primary.
    pub(crate) service: String,
    /// User, password and database of the primary.
    pub(crate) primary: Box<ConnectionInfo>,
}

/// A URL that names several hosts.
struct HostList<'a> {
    /// `redis` or `rediss`.
    scheme: &'a str,
    /// User and password, up to and with the `@`.
    user: &'a str,
    hosts: Vec<&'a str>,
    path: &'a str,
    query: &'a str,
}

impl Address {
    pub(crate) fn read(url: &str) -> Result<Self, StoreError> {
        let (scheme, rest) = url
            .split_once("://")
            .ok_or_else(|| invalid("it has no scheme, for example `redis://`"))?;
        match scheme {
            "redis+cluster" => HostList::read("redis", rest)?.cluster(),
            "rediss+cluster" => HostList::read("rediss", rest)?.cluster(),
            "redis+sentinel" => HostList::read("redis", rest)?.sentinels(),
            "rediss+sentinel" => HostList::read("rediss", rest)?.sentinels(),
            _ => {
                let server = connection(url)?;
                Ok(Self {
                    is_tls: matches!(server.addr(), ConnectionAddr::TcpTls { .. }),
                    shown: server.addr().to_string(),
                    servers: Servers::One(Box::new(server)),
                })
            }
        }
    }
}

impl<'a> HostList<'a> {
    fn read(scheme: &'a str, rest: &'a str) -> Result<Self, StoreError> {
        if rest.contains('#') {
            return Err(invalid("it has a `#`; write `%23` in a password"));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // What comes before it is a password with such a character, of which no part may be shown.
        if path.contains('@') || query.contains('@') {
            return Err(invalid(
                "it has an `@` behind a `/` or `?`; write `%2F`, `%3F` and `%40` in a password",
            ));
        }
        let (user, hosts) = match authority.rfind('@') {
            Some(at) => authority.split_at(at + 1),
            None => ("", authority),
        };
        Ok(Self {
            scheme,
            user,
            hosts: hosts.split(',').collect(),
            path,
            query,
        })
    }

    /// Returns the hosts as servers with this user and password.
    fn nodes(&self, user: &str) -> Result<Vec<ConnectionInfo>, StoreError> {
        let mut nodes = Vec::with_capacity(self.hosts.len());
        for host in &self.hosts {
            nodes.push(connection(&format!("{}://{user}{host}", self.scheme))?);
        }
        Ok(nodes)
    }

    fn shown(&self) -> String {
        self.hosts.join(",")
    }

    fn is_tls(&self) -> bool {
        self.scheme == "rediss"
    }

    fn cluster(self) -> Result<Address, StoreError> {
        if !matches!(self.path, "" | "0") {
            return Err(invalid("a cluster has no databases but 0"));
        }
        if !self.query.is_empty() {
            return Err(invalid("the URL of a cluster takes no parameters"));
        }
        Ok(Address {
            servers: Servers::Cluster(self.nodes(self.user)?),
            is_tls: self.is_tls(),
            shown: self.shown(),
        })
    }

    fn sentinels(self) -> Result<Address, StoreError> {
        let (service, database) = self.path.split_once('/').unwrap_or((self.path, "0"));
        if service.is_empty() {
            return Err(invalid(
                "it names no service of the sentinels: redis+sentinel://host:26379/SERVICE",
            ));
        }
        let sentinel_user = self.sentinel_user()?;
        // Of its host only the user and the database are used.
        let primary = connection(&format!(
            "{}://{}localhost/{database}",
            self.scheme, self.user
        ))?;
        Ok(Address {
            servers: Servers::Sentinels(Sentinels {
                nodes: self.nodes(&sentinel_user)?,
                service: service.to_owned(),
                primary: Box::new(primary),
            }),
            is_tls: self.is_tls(),
            shown: format!("{} by the sentinels {}", service, self.shown()),
        })
    }

    /// Returns the user and the password that the sentinels ask for, as a part of a URL.
    fn sentinel_user(&self) -> Result<String, StoreError> {
        let mut user = "";
        let mut password = "";
        for parameter in self.query.split('&').filter(|text| !text.is_empty()) {
            match parameter.split_once('=') {
                Some(("sentinel_user", value)) => user = value,
                Some(("sentinel_password", value)) => password = value,
                _ => {
                    return Err(invalid(
                        "the URL of sentinels takes the parameters `sentinel_user` and \
                         `sentinel_password`, and no others",
                    ));
                }
            }
        }
        if password.is_empty() {
            return Ok(String::new());
        }
        Ok(format!("{user}:{password}@"))
    }
}

/// Reads the URL of one server.
fn connection(url: &str) -> Result<ConnectionInfo, StoreError> {
    // The parser's error may quote the URL with its password.
    url.into_connection_info()
        .map_err(|error| invalid(error.category()))
}

fn invalid(problem: &str) -> StoreError {
    StoreError::new(format!("invalid URL of a Redis server: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::{Address, Servers};

    #[test]
    fn hosts_of_a_cluster_have_the_user_of_the_url() {
        let address = Address::read("rediss+cluster://ada:s%23t@a:1,b:2/0").expect("a URL");
        assert_eq!(address.shown, "a:1,b:2");
        assert!(address.is_tls);
        let Servers::Cluster(nodes) = address.servers else {
            panic!("a cluster")
        };
        let shown = nodes.iter().map(|node| node.addr().to_string());
        assert_eq!(shown.collect::<Vec<_>>(), ["a:1", "b:2"]);
        for node in &nodes {
            assert_eq!(node.redis_settings().username(), Some("ada"));
            assert_eq!(node.redis_settings().password(), Some("s#t"));
        }
    }

    #[test]
    fn sentinels_have_a_user_of_their_own() {
        let url = "redis+sentinel://ada:one@a:1,b:2/main/3?sentinel_user=eve&sentinel_password=two";
        let address = Address::read(url).expect("a URL");
        assert_eq!(address.shown, "main by the sentinels a:1,b:2");
        let Servers::Sentinels(sentinels) = address.servers else {
            panic!("sentinels")
        };
        assert_eq!(sentinels.service, "main");
        let primary = sentinels.primary.redis_settings();
        assert_eq!(primary.password(), Some("one"));
        assert_eq!(primary.db(), 3);
        let sentinel = sentinels.nodes[1].redis_settings();
        assert_eq!(sentinel.username(), Some("eve"));
        assert_eq!(sentinel.password(), Some("two"));
    }

    #[test]
    fn url_that_cannot_be_used_says_what_is_wrong() {
        let cases = [
            ("localhost", "no scheme"),
            ("redis+cluster://a:1/3", "no databases but 0"),
            ("redis+cluster://a:1?x=1", "takes no parameters"),
            ("redis+sentinel://a:1", "names no service"),
            (
                "redis+sentinel://a:1/main?x=1",
                "`sentinel_password`, and no others",
            ),
            ("redis+cluster://:p#w@a:1", "has a `#`"),
            ("redis+cluster://a:x", "invalid URL"),
            ("redis+cluster://ada:12/34@a:1", "has an `@` behind"),
            ("http://a:1", "invalid URL"),
        ];
        for (url, problem) in cases {
            let error = Address::read(url).expect_err(url).to_string();
            assert!(error.contains(problem), "{url}: {error}");
        }
    }
}
