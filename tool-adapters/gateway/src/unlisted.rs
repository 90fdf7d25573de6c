//! Resources that no server lists: those of links, and others that a client knows.

use crate::spellings::{LeftOut, spellings};
use futures_util::future::BoxFuture;
use memchr::memmem;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use tool_adapters_mcp::ImportedToolset;
use tool_core::tool::{ResourceContents, ResourceHandler, ResourceRequest, UriTemplate};
use tool_core::{ErrorKind, FunctionTool, RunContext, ToolError};

/// The links of a server that are known. Further ones replace the oldest.
const MAX_LINKS: usize = 1_000;

/// The spellings of withheld URIs up to which further ones are found. A server may declare URIs
/// that have very many.
const MAX_SPELLED: usize = 10_000;

/// Maximum number of bytes of a link, as of any URI.
const MAX_URI: usize = 2_048;

/// The servers of unlisted resources.
#[derive(Default)]
pub(crate) struct UnlistedResources(Vec<UnlistedServer>);

/// A server, and the URIs to which it has linked.
pub(crate) struct UnlistedServer {
    name: Arc<str>,
    imported: Arc<ImportedToolset>,
    withheld: WithheldResources,
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
            withheld: WithheldResources::new(quarantined),
            pages: tools.iter().filter_map(page_of).collect(),
            links: Mutex::default(),
        })
    }

    /// Returns true if the server has linked to a resource.
    fn links_to(&self, uri: &str) -> bool {
        self.pages.contains(uri) || self.links.lock().known.contains(uri)
    }
}

/// The resources that a server declares and that are not offered.
#[derive(Default)]
struct WithheldResources {
    /// The spellings of their URIs.
    uris: HashSet<String>,
    templates: Vec<UriTemplate>,
}

impl WithheldResources {
    /// Reads the keys of what is not offered.
    fn new(quarantined: &BTreeSet<String>) -> Self {
        let mut withheld = Self::default();
        for key in quarantined {
            let Some(uri) = key.strip_prefix("resource:") else {
                continue;
            };
            let forms = LeftOut::default().forms_of(uri);
            withheld.uris.extend(forms.iter().map(ToString::to_string));
            if withheld.uris.len() < MAX_SPELLED {
                let whole = spellings(uri).unwrap_or_default().into_iter();
                let whole = whole.filter(|spelling| spelling.without == LeftOut::default());
                withheld.uris.extend(whole.map(|spelling| spelling.text));
            }
            let templates = forms
                .iter()
                .filter_map(|form| form.parse::<UriTemplate>().ok());
            let templates = templates.filter(|template| !template.is_fixed());
            withheld.templates.extend(templates);
        }
        withheld
    }

    /// Returns true if a reader could take a URI for one of these resources.
    fn has(&self, uri: &str) -> bool {
        let is_withheld = |text: &str| {
            let mut templates = self.templates.iter();
            self.uris.contains(text) || templates.any(|template| template.matches(text).is_some())
        };
        match spellings(uri) {
            Some(spellings) => spellings.iter().any(|spelling| is_withheld(&spelling.text)),
            None => true,
        }
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

    /// Returns the server that offers a URI, if it is known before it is read.
    pub(crate) fn server_of(&self, uri: &str) -> Option<&Arc<str>> {
        let server = *self.candidates(uri).first()?;
        let is_known = self.0.len() == 1 || server.links_to(uri);
        (is_known && !server.withheld.has(uri)).then_some(&server.name)
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
            .filter(|server| !server.withheld.has(uri))
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

    fn withheld(key: &str) -> WithheldResources {
        WithheldResources::new(&BTreeSet::from([key.to_owned()]))
    }

    // G3
    #[test]
    fn any_spelling_of_a_withheld_uri_is_withheld() {
        let withheld = withheld("resource:DB://Users/%61ll?x=1");
        for uri in [
            "db://users/all?x=1",
            "DB://Users/%61ll?x=1",
            "db://USERS/a/../all?x=1",
        ] {
            assert!(withheld.has(uri), "{uri}");
        }
        for uri in ["db://users/other", "db://users/all?x=2"] {
            assert!(!withheld.has(uri), "{uri}");
        }
    }

    // G3
    #[test]
    fn a_uri_of_a_withheld_template_is_withheld() {
        for template in ["resource:notes://{id}", "resource:NOTES://{id}"] {
            let withheld = withheld(template);
            for uri in ["notes://7", "NOTES://7", "notes://a/../7"] {
                assert!(withheld.has(uri), "{template}: {uri}");
            }
            assert!(!withheld.has("notes://7/more"), "{template}");
            assert!(!withheld.has("other://7"), "{template}");
        }
    }
}
