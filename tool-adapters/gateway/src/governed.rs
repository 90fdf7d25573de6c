//! The tools, prompts and resources of all servers under the policies, as one context.

use crate::policy::GatewayPolicy;
use crate::unlisted::{UnlistedHandler, UnlistedResources, UnlistedServer};
use crate::upstream::{Upstream, quarantined};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tool_adapters_mcp::{ImportedToolset, messages};
use tool_core::session::CONTROL_TOOL_NAMES;
use tool_core::text::{escape_invisible, shown_tool_name};
use tool_core::tool::{Prompt, Resource};
use tool_core::{FunctionTool, RegistryErrors, Tool, ToolContext, Toolset};

/// The owner of the names of control tools, in clashes.
const GATEWAY: &str = "the gateway";

/// The offered tools, prompts and resources of a server. The connection lasts for as long as they
/// do.
struct GovernedToolset {
    server: String,
    tools: Vec<Tool>,
    prompts: Vec<Prompt>,
    resources: Vec<Resource>,
    _imported: Arc<ImportedToolset>,
}

impl Toolset for GovernedToolset {
    fn id(&self) -> &str {
        &self.server
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }

    fn prompts(self: Arc<Self>) -> Vec<Prompt> {
        self.prompts.clone()
    }

    fn resources(self: Arc<Self>) -> Vec<Resource> {
        self.resources.clone()
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

/// The tools, prompts and resources that are offered.
pub(crate) struct Offer {
    pub(crate) tools: ToolContext,
    /// The server of each tool by its name, of each `prompt:NAME` and of each `resource:URI`.
    pub(crate) servers: HashMap<String, Arc<str>>,
    /// The tools, prompts and resources that are left out because another server, or the gateway,
    /// has one of that name or URI.
    pub(crate) clashes: Vec<String>,
    /// The servers whose tools cannot stand beside those of the servers before them, each with the
    /// reason.
    pub(crate) refused: Vec<String>,
    pub(crate) unlisted: Arc<UnlistedResources>,
    pub(crate) sources: OfferSources,
}

/// Collects the tools, prompts and resources of all servers. Of two of one name or URI, that of the
/// earlier server is offered.
///
/// A name that begins with the prefix of another server, and not only with that of its own, belongs
/// to the other one: without this, the server `git` could offer `git_hub_search` in the place of a
/// tool of the server `git_hub`. The names of control tools belong to the gateway.
///
/// A resource that no server lists is read where the policy allows its URI. `before` has the links
/// that are known.
pub(crate) fn offer(
    upstreams: &[Upstream],
    policy: &Arc<GatewayPolicy>,
    before: Option<&UnlistedResources>,
) -> Result<Offer, RegistryErrors> {
    let mut sources = Vec::new();
    let mut unlisted = Vec::new();
    let mut toolsets = Vec::new();
    let mut names = Taken {
        prefixes: upstreams
            .iter()
            .map(|upstream| {
                (
                    upstream.route.offered_name(""),
                    upstream.route.entry.name.clone(),
                )
            })
            .collect(),
        ..Taken::default()
    };
    for upstream in upstreams {
        let Some(imported) = upstream.toolset() else {
            continue;
        };
        let server: Arc<str> = upstream.route.entry.name.as_str().into();
        let quarantined = quarantined(&imported);
        let mut hidden = quarantined
            .iter()
            .map(|tool| upstream.route.offered_name(tool))
            .collect::<HashSet<_>>();
        // Tools of the earlier connection may be offered after a reload has switched them off.
        let own_names = imported.own_names();
        let off = own_names
            .iter()
            .filter(|tool| upstream.route.entry.tools.off(tool).is_some());
        hidden.extend(off.map(|tool| upstream.route.offered_name(&imported.offered_key(tool))));
        let mut tools = Vec::new();
        let mut offered = Vec::new();
        for tool in functions(&imported) {
            let name = tool.name();
            if hidden.contains(name) || !policy.allows_tool(name) {
                continue;
            }
            if !names.take("", name, &server) {
                continue;
            }
            imported.set_resend(upstream.route.own_name(name), policy.resends(name));
            tools.push(Tool::Function(policy.govern(&tool, &server)));
            offered.push(tool);
        }
        unlisted.extend(UnlistedServer::new(
            &server,
            &imported,
            &quarantined,
            &offered,
        ));
        let is_offered = |kind: &str, name: &str, own: &str| {
            policy.allows(name) && !quarantined.contains(&format!("{kind}:{own}"))
        };
        let mut own_prompts = Toolset::prompts(Arc::clone(&imported));
        own_prompts.retain(|prompt| {
            let own = upstream.route.own_name(prompt.name());
            is_offered("prompt", prompt.name(), own)
                && names.take("prompt:", prompt.name(), &server)
        });
        let mut own_resources = Toolset::resources(Arc::clone(&imported));
        own_resources.retain(|resource| {
            let uri = resource.uri();
            let is_allowed = resource.definition().is_template() || policy.allows_uri(uri);
            is_allowed && is_offered("resource", uri, uri) && names.take("resource:", uri, &server)
        });
        let only_allowed = |resource: Resource| {
            let policy = Arc::clone(policy);
            resource.only(move |uri| policy.allows_uri(uri))
        };
        sources.push((Arc::clone(&imported), quarantined));
        toolsets.push(Arc::new(GovernedToolset {
            server: server.to_string(),
            tools,
            prompts: own_prompts,
            resources: own_resources.into_iter().map(only_allowed).collect(),
            _imported: imported,
        }));
    }
    let sources = OfferSources {
        policy: Arc::clone(policy),
        servers: sources,
    };
    let mut refused = Vec::new();
    let unlisted = Arc::new(UnlistedResources::new(unlisted, before));
    let tools = match context(&toolsets, &unlisted, policy) {
        Ok(tools) => tools,
        Err(_) => context_of_fitting(toolsets, &unlisted, policy, &mut refused)?,
    };
    Ok(Offer {
        tools,
        servers: names.servers,
        clashes: names.clashes,
        refused,
        unlisted,
        sources,
    })
}

fn context(
    toolsets: &[Arc<GovernedToolset>],
    unlisted: &Arc<UnlistedResources>,
    policy: &Arc<GatewayPolicy>,
) -> Result<ToolContext, RegistryErrors> {
    let mut builder = ToolContext::builder()
        .max_argument_bytes(policy.file.limits.max_arguments.0)
        .max_output_bytes(policy.file.limits.max_result.0);
    for toolset in toolsets {
        builder = builder.with(Arc::clone(toolset));
    }
    if !unlisted.is_empty() {
        let policy = Arc::clone(policy);
        let resources = Resource::unlisted(UnlistedHandler(Arc::clone(unlisted)));
        builder = builder.with_resource(resources.only(move |uri| policy.allows_uri(uri)));
    }
    builder.build()
}

/// Builds a context of the servers that fit together: one that does not harms itself alone.
fn context_of_fitting(
    toolsets: Vec<Arc<GovernedToolset>>,
    unlisted: &Arc<UnlistedResources>,
    policy: &Arc<GatewayPolicy>,
    refused: &mut Vec<String>,
) -> Result<ToolContext, RegistryErrors> {
    let mut fitting = Vec::new();
    for toolset in toolsets {
        let server = toolset.server.clone();
        fitting.push(toolset);
        if let Err(errors) = context(&fitting, unlisted, policy) {
            fitting.pop();
            refused.push(escape_invisible(&format!(
                "the tools of `{server}` are not offered: {}",
                messages(&errors)
            )));
        }
    }
    context(&fitting, unlisted, policy)
}

/// The clashes that are reported. A server may have any number of names.
const MAX_CLASHES: usize = 100;

/// The names and URIs that are taken.
#[derive(Default)]
struct Taken {
    /// The server of each, after its kind.
    servers: HashMap<String, Arc<str>>,
    clashes: Vec<String>,
    /// The beginnings of the servers' names, each with its server.
    prefixes: Vec<(String, String)>,
}

impl Taken {
    /// Takes a name for a server. Returns false, and notes the clash, if it belongs to another one.
    fn take(&mut self, kind: &str, name: &str, server: &Arc<str>) -> bool {
        let key = format!("{kind}{name}");
        let shown = if kind.is_empty() {
            shown_tool_name(name)
        } else {
            name.to_owned()
        };
        let is_reserved = kind.is_empty() && CONTROL_TOOL_NAMES.contains(&&*shown);
        let other = self
            .servers
            .get(&key)
            .map(|other| &**other)
            .or_else(|| self.owner(kind, &shown, server));
        let other = if is_reserved { Some(GATEWAY) } else { other };
        let Some(other) = other.map(str::to_owned) else {
            self.servers.insert(key, Arc::clone(server));
            return true;
        };
        if self.clashes.len() < MAX_CLASHES {
            let clash = format!("`{key}` of `{server}` is left out, as it is a name of `{other}`");
            self.clashes.push(escape_invisible(&clash));
        }
        false
    }

    /// Returns the other server whose prefix a name has, if it is longer than that of its own.
    fn owner(&self, kind: &str, name: &str, server: &str) -> Option<&str> {
        let begins = self
            .prefixes
            .iter()
            .filter(|(prefix, _)| kind != "resource:" && name.starts_with(prefix));
        let longest = begins.map(|(prefix, _)| prefix.len()).max()?;
        let mut owners = self
            .prefixes
            .iter()
            .filter(|(prefix, _)| prefix.len() == longest && name.starts_with(prefix));
        owners
            .clone()
            .all(|(_, owner)| owner != server)
            .then(|| owners.next().map(|(_, owner)| &**owner))
            .flatten()
    }
}

fn functions(imported: &Arc<ImportedToolset>) -> impl Iterator<Item = FunctionTool> + use<> {
    let tools = Arc::clone(imported).tools().into_iter();
    tools.filter_map(|tool| match tool {
        Tool::Function(tool) => Some(tool),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spelling_takes_the_prefix_of_another_server() {
        let prefixes = ["git", "git_hub"].map(|server| (format!("{server}_"), server.to_owned()));
        let mut names = Taken {
            prefixes: prefixes.into(),
            ..Taken::default()
        };
        for name in [
            "git_hub_search",
            "git_hub:search",
            "git_hub/search",
            "git:hub_search",
        ] {
            assert!(!names.take("", name, &"git".into()), "{name}");
        }
        assert!(names.take("", "git_hub_search", &"git_hub".into()));
        assert!(names.take("", "git_find", &"git".into()));
    }

    #[test]
    fn the_names_of_control_tools_are_taken() {
        let mut names = Taken::default();
        for name in [
            "search_tools",
            "search:tools",
            "cancel_call",
            "list_running_calls",
            "get_tool_guide",
        ] {
            assert!(!names.take("", name, &"one".into()), "{name}");
        }
        assert!(
            names.take("", "x_search_tools", &"one".into())
                && names.take("prompt:", "cancel_call", &"one".into())
        );
        assert_eq!(
            names.clashes[0],
            "`search_tools` of `one` is left out, as it is a name of `the gateway`"
        );
    }

    #[test]
    fn clashes_show_no_invisible_characters() {
        let mut names = Taken::default();
        let taken = ["one", "two"]
            .map(|server| names.take("resource:", "file:///\u{202e}a", &server.into()));
        assert_eq!(taken, [true, false]);
        assert!(
            names.clashes[0].contains(r"file:///\u{202e}a"),
            "{}",
            names.clashes[0]
        );
    }

    #[test]
    fn a_server_with_many_names_fills_no_log() {
        let (mut names, [one, two]) = (Taken::default(), ["one", "two"].map(Arc::<str>::from));
        let mut taken = (0..1_000).map(|n| {
            (
                names.take("", &n.to_string(), &one),
                names.take("", &n.to_string(), &two),
            )
        });
        assert!(taken.all(|taken| taken == (true, false)));
        assert_eq!(names.clashes.len(), MAX_CLASHES);
        assert_eq!(
            names.clashes[0],
            "`0` of `two` is left out, as it is a name of `one`"
        );
    }
}
