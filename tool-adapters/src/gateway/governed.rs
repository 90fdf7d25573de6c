//! The tools of all servers under the policies, as one context.

use crate::gateway::policy::GatewayPolicy;
use crate::gateway::upstream::{Upstream, quarantined};
use crate::mcp::ImportedToolset;
use std::collections::HashMap;
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

/// The tools that are offered, and the server of each.
pub(crate) struct Offer {
    pub(crate) tools: ToolContext,
    pub(crate) servers: HashMap<String, Arc<str>>,
    /// The tools that are left out because another server has a tool of that name.
    pub(crate) clashes: Vec<String>,
}

/// Collects the tools of all servers. Of two tools of one name, the one of the earlier server is offered.
pub(crate) fn offer<'a>(
    upstreams: impl Iterator<Item = &'a Upstream>,
    policy: &GatewayPolicy,
) -> Result<Offer, RegistryErrors> {
    let (mut servers, mut clashes) = (HashMap::<String, Arc<str>>::new(), Vec::new());
    let mut builder =
        ToolContext::builder().max_argument_bytes(policy.max_arguments).max_output_bytes(policy.max_result);
    for upstream in upstreams {
        let Some(imported) = upstream.toolset() else { continue };
        let server: Arc<str> = upstream.route.entry.name.as_str().into();
        let hidden = quarantined(&imported).into_iter().map(|tool| upstream.route.offered_name(&tool));
        let hidden = hidden.collect::<std::collections::HashSet<_>>();
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
        builder = builder.with(GovernedToolset { server: server.to_string(), tools, _imported: imported });
    }
    Ok(Offer { tools: builder.build()?, servers, clashes })
}

fn functions(imported: &Arc<ImportedToolset>) -> impl Iterator<Item = FunctionTool> + use<> {
    let tools = Arc::clone(imported).tools().into_iter();
    tools.filter_map(|tool| match tool {
        Tool::Function(tool) => Some(tool),
        _ => None,
    })
}
