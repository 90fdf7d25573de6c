//! The tools of all servers under the policies, as one context.

use crate::gateway::policy::GatewayPolicy;
use crate::gateway::upstream::{Upstream, quarantined};
use crate::mcp::ImportedToolset;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tool_core::{FunctionTool, RegistryErrors, Tool, ToolContext, Toolset};

/// The offered tools of a server. The connection lasts for as long as they do.
struct GovernedToolset {
    server: String,
    tools: Vec<Tool>,
    _imported: Arc<ImportedToolset>,
}

impl Toolset for GovernedToolset {
    fn id(&self) -> &str {
        &self.server
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }

    fn has_lifecycle(&self) -> bool {
        false
    }
}

/// The parts of an offer. Equal sources make equal offers.
pub(crate) struct OfferSources {
    policy: Arc<GatewayPolicy>,
    servers: Vec<(Arc<ImportedToolset>, BTreeSet<String>)>,
}

impl OfferSources {
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same = |(one, other): (&(Arc<_>, BTreeSet<_>), &(Arc<_>, BTreeSet<_>))| {
            Arc::ptr_eq(&one.0, &other.0) && one.1 == other.1
        };
        Arc::ptr_eq(&self.policy, &other.policy)
            && self.servers.len() == other.servers.len()
            && self.servers.iter().zip(&other.servers).all(is_same)
    }
}

/// The tools that are offered, and the server of each.
pub(crate) struct Offer {
    pub(crate) tools: ToolContext,
    pub(crate) servers: HashMap<String, Arc<str>>,
    /// The tools that are left out because another server has a tool of that name.
    pub(crate) clashes: Vec<String>,
    pub(crate) sources: OfferSources,
}

/// Collects the tools of all servers. Of two tools of one name, the one of the earlier server is offered.
pub(crate) fn offer<'a>(
    upstreams: impl Iterator<Item = &'a Upstream>,
    policy: &Arc<GatewayPolicy>,
) -> Result<Offer, RegistryErrors> {
    let (mut servers, mut clashes, mut sources) = (HashMap::<String, Arc<str>>::new(), Vec::new(), Vec::new());
    let mut builder =
        ToolContext::builder().max_argument_bytes(policy.max_arguments).max_output_bytes(policy.max_result);
    for upstream in upstreams {
        let Some(imported) = upstream.toolset() else { continue };
        let server: Arc<str> = upstream.route.entry.name.as_str().into();
        let quarantined = quarantined(&imported);
        let hidden = quarantined.iter().map(|tool| upstream.route.offered_name(tool)).collect::<HashSet<_>>();
        let mut tools = Vec::new();
        for tool in functions(&imported) {
            let name = tool.name();
            if hidden.contains(name) || !policy.allows(name) {
                continue;
            }
            if let Some(other) = servers.get(name) {
                clashes.push(format!("`{name}` of `{server}` is left out, as `{other}` has a tool of that name"));
                continue;
            }
            servers.insert(name.to_owned(), Arc::clone(&server));
            tools.push(Tool::Function(policy.govern(&tool, &server)));
        }
        sources.push((Arc::clone(&imported), quarantined));
        builder = builder.with(GovernedToolset { server: server.to_string(), tools, _imported: imported });
    }
    let sources = OfferSources { policy: Arc::clone(policy), servers: sources };
    Ok(Offer { tools: builder.build()?, servers, clashes, sources })
}

fn functions(imported: &Arc<ImportedToolset>) -> impl Iterator<Item = FunctionTool> + use<> {
    let tools = Arc::clone(imported).tools().into_iter();
    tools.filter_map(|tool| match tool {
        Tool::Function(tool) => Some(tool),
        _ => None,
    })
}
