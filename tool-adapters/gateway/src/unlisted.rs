//! Resources that no server lists: those of links, and others that a client knows.

use crate::spellings::spellings;
use futures_util::future::BoxFuture;
use memchr::memmem;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use tool_adapters_mcp::ImportedToolset;
use tool_core::tool::{ResourceContents, ResourceHandler, ResourceRequest};
use tool_core::{ErrorKind, FunctionTool, RunContext, ToolError};

/// The links of a server that are known. Further ones replace the oldest.
const MAX_LINKS: usize = 1_000;

/// Maximum number of bytes of a link, as of any URI.
const MAX_URI: usize = 2_048;

/// The servers of unlisted resources.
#[derive(Default)]
pub(crate) struct UnlistedResources(Vec<UnlistedServer>);

/// A server, and the URIs to which it has linked.
pub(crate) struct UnlistedServer {
    name: Arc<str>,
    imported: Arc<ImportedToolset>,
    /// The keys of what the server declares and is not offered.
    quarantined: BTreeSet<String>,
    /// The pages of its tools.
    pages: HashSet<String>,
    links: Mutex<Links>,
}

/// The URIs of links, the oldest first.
#[derive(Clone, Default)]
struct Links {
    known: HashSet<String>,
    order: VecDeque<String>,
}

impl Links {
    fn add(&mut self, uri: &str) {
        if uri.len() > MAX_URI || !self.known.insert(uri.to_owned()) {
            return;
        }
        self.order.push_back(uri.to_owned());
        if self.order.len() > MAX_LINKS
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }
}

impl UnlistedServer {
    /// Creates a server whose tools are those that are offered. `None` if it has no resources, or
    /// only pinned ones are offered.
    pub(crate) fn new(
        name: &Arc<str>,
        imported: &Arc<ImportedToolset>,
        quarantined: &BTreeSet<String>,
        tools: &[FunctionTool],
    ) -> Option<Self> {
        if !imported.has_unlisted_resources() {
            return None;
        }
        Some(Self {
            name: Arc::clone(name),
            imported: Arc::clone(imported),
            quarantined: quarantined.clone(),
            pages: tools.iter().filter_map(page_of).collect(),
            links: Mutex::default(),
        })
    }

    /// Returns true if the server has linked to a resource.
    fn links_to(&self, uri: &str) -> bool {
        self.pages.contains(uri) || self.links.lock().known.contains(uri)
    }

    /// Returns true if no spelling of a URI is one that the server declares and that is not
    /// offered.
    fn may_have(&self, uri: &str) -> bool {
        let is_free = |text: &str| !self.quarantined.contains(&format!("resource:{text}"));
        spellings(uri)
            .is_some_and(|spellings| spellings.iter().all(|spelling| is_free(&spelling.text)))
    }
}

/// Returns the URI of the page that shows the results of a tool (MCP Apps).
fn page_of(tool: &FunctionTool) -> Option<String> {
    let meta = tool.definition().declared()?.get("_meta")?;
    let uri = meta
        .get("ui")
        .and_then(|ui| ui.get("resourceUri"))
        .or_else(|| meta.get("ui/resourceUri"))?;
    uri.as_str().map(str::to_owned)
}

impl UnlistedResources {
    /// Creates the resources of these servers. The links that were known before are kept.
    pub(crate) fn new(servers: Vec<UnlistedServer>, before: Option<&Self>) -> Self {
        for server in &servers {
            let same =
                before.and_then(|before| before.0.iter().find(|known| known.name == server.name));
            if let Some(same) = same {
                let links = same.links.lock().clone();
                *server.links.lock() = links;
            }
        }
        Self(servers)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true for a result that may have links.
    pub(crate) fn may_link(result: &str) -> bool {
        memmem::find(result.as_bytes(), b"\"resource").is_some()
    }

    /// Notes the links in the result of a server.
    pub(crate) fn note(&self, server: &str, result: &str) {
        #[derive(Deserialize)]
        struct Linking {
            content: Vec<Map<String, Value>>,
        }
        let Some(server) = self.0.iter().find(|known| *known.name == *server) else {
            return;
        };
        let Ok(Linking { content }) = serde_json::from_str(result) else {
            return;
        };
        let mut links = server.links.lock();
        for part in content {
            let linked = part.get("uri").or_else(|| part.get("resource")?.get("uri"));
            if let Some(uri) = linked.and_then(Value::as_str) {
                links.add(uri);
            }
        }
    }

    /// Returns the servers to ask for a URI: those that have linked to it, or all.
    fn candidates(&self, uri: &str) -> Vec<&UnlistedServer> {
        let linking = self
            .0
            .iter()
            .filter(|server| server.links_to(uri))
            .collect::<Vec<_>>();
        if linking.is_empty() {
            self.0.iter().collect()
        } else {
            linking
        }
    }

    /// Returns the server that has a URI, if it is known before it is read.
    pub(crate) fn server_of(&self, uri: &str) -> Option<&Arc<str>> {
        match self.candidates(uri).as_slice() {
            [server, ..] if self.0.len() == 1 || server.links_to(uri) => Some(&server.name),
            _ => None,
        }
    }

    async fn read_any(
        &self,
        uri: &str,
        ctx: &RunContext,
    ) -> Result<Vec<ResourceContents>, ToolError> {
        let mut error = None::<ToolError>;
        for server in self
            .candidates(uri)
            .into_iter()
            .filter(|server| server.may_have(uri))
        {
            match server.imported.read_unlisted(uri, ctx).await {
                Ok(contents) => {
                    server.links.lock().add(uri);
                    return Ok(contents);
                }
                Err(failed)
                    if matches!(failed.kind(), ErrorKind::Cancelled | ErrorKind::Timeout) =>
                {
                    return Err(failed);
                }
                // Servers that do not know a resource say so in several ways.
                Err(failed) => {
                    error = error
                        .filter(|first| first.kind() != ErrorKind::NotFound)
                        .or(Some(failed));
                }
            }
        }
        Err(error.unwrap_or_else(|| ToolError::not_found("there is no such resource")))
    }
}

/// The handler of unlisted resources.
pub(crate) struct UnlistedHandler(pub(crate) Arc<UnlistedResources>);

impl ResourceHandler for UnlistedHandler {
    fn read<'a>(
        &'a self,
        request: ResourceRequest,
        ctx: &'a RunContext,
    ) -> BoxFuture<'a, Result<Vec<ResourceContents>, ToolError>> {
        Box::pin(async move { self.0.read_any(&request.uri, ctx).await })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_links_are_forgotten() {
        let mut links = Links::default();
        for at in 0..=MAX_LINKS {
            links.add(&format!("a:{at}"));
            links.add("a:1");
        }
        links.add(&"a".repeat(MAX_URI + 1));
        assert_eq!(
            (links.known.len(), links.order.len()),
            (MAX_LINKS, MAX_LINKS)
        );
        assert!(!links.known.contains("a:0") && links.known.contains("a:1"));
    }
}
