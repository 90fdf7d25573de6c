//! An agent's tools as they were made from its records at one moment. A toolset is closed when
//! nothing uses it any more.

use crate::agents::error::{AgentError, AgentErrorKind};
use crate::agents::grant::Grant;
use crate::agents::tokens::Tokens;
use crate::arguments::problem::Problem;
use crate::call::error::{ErrorList, ToolError};
use crate::registry::{RegistryErrors, ToolContext};
use crate::session::control_tools::CONTROL_TOOLS;
use crate::text::hex;
use crate::time;
use crate::tool::definition::normalise_name;
use crate::tool::invocation::Scrub;
use crate::tool::{FunctionTool, MappedToolset, Prompt, Resource, SecretDocument, Tool, Toolset};
use crate::trace::redaction::Redaction;
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};
use tokio_util::task::TaskTracker;

/// The tools of an agent as they were made from its records at one moment. It does not change when
/// the records do.
pub struct LoadedAgent {
    pub(crate) agent: Arc<str>,
    pub(crate) version: u64,
    pub(crate) tools: ToolContext,
    pub(crate) failures: Vec<AgentError>,
    /// Sorted by name.
    pub(crate) toolsets: Vec<LoadedToolset>,
    loaded_at: Instant,
    /// The time to try failed toolsets again.
    pub(crate) retry_at: Option<Instant>,
}

/// The outcome of loading one record.
#[derive(Clone)]
pub(crate) struct LoadedToolset {
    /// The toolset's name.
    pub(crate) tool: String,
    /// The record's version.
    pub(crate) version: u64,
    pub(crate) disabled_actions: BTreeSet<String>,
    /// The digest of the record's settings.
    pub(crate) settings: [u8; 32],
    pub(crate) state: ToolsetState,
}

#[derive(Clone)]
pub(crate) enum ToolsetState {
    Disabled,
    Failed(AgentErrorKind),
    Ready(Arc<ReadyToolset>),
}

impl LoadedAgent {
    /// Returns the agent's id.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the version of the records, or 0 if the agent never had a record.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the tools: those that every agent has, then those of the agent's toolsets, sorted by
    /// the toolsets' names.
    ///
    /// The toolsets stay open as long as this context, or one made from it, exists. A session keeps
    /// them open until it ends; a clone of [`Session::tools`](crate::Session::tools) does not.
    pub fn tools(&self) -> &ToolContext {
        &self.tools
    }

    /// Returns the reasons why toolsets are missing, sorted by the toolsets' names. Disabled
    /// toolsets are not failures.
    pub fn failures(&self) -> &[AgentError] {
        &self.failures
    }

    /// Combines toolsets, which are sorted by name, with the tools that every agent has. The
    /// context of `before` is used again if the toolsets are the same.
    pub(crate) fn assemble(
        base: &ToolContext,
        retry_failed: Duration,
        agent: &Arc<str>,
        version: u64,
        mut toolsets: Vec<LoadedToolset>,
        before: Option<&Self>,
    ) -> Self {
        exclude_collisions(base, &mut toolsets);
        exclude_published_collisions(base, &mut toolsets);
        let same = before.filter(|before| same_tools(&before.toolsets, &toolsets));
        let tools = match same {
            Some(before) => before.tools.clone(),
            None => combine(base, agent, &toolsets).unwrap_or_else(|error| {
                // Unreachable: each toolset was checked by itself, and no two have a name in
                // common.
                tracing::error!(agent = %agent.escape_debug(), %error, "failed to combine an agent's tools");
                base.clone()
            }),
        };
        let failures = toolsets
            .iter()
            .flat_map(|toolset| toolset.failures(agent))
            .collect::<Vec<_>>();
        // Names collide until a record changes.
        let may_recover = failures
            .iter()
            .any(|failure| !matches!(failure.kind, AgentErrorKind::Collision(_)));
        let loaded_at = Instant::now();
        let retry_at = may_recover.then(|| time::after(loaded_at, retry_failed));
        Self {
            agent: Arc::clone(agent),
            version,
            tools,
            failures,
            toolsets,
            loaded_at,
            retry_at,
        }
    }

    /// Returns the outcome of loading the record of a toolset.
    pub(crate) fn toolset(&self, tool: &str) -> Option<&LoadedToolset> {
        let index = self
            .toolsets
            .binary_search_by(|toolset| toolset.tool.as_str().cmp(tool))
            .ok()?;
        self.toolsets.get(index)
    }

    /// Returns true if a toolset must be made again although no record has changed.
    pub(crate) fn is_due(&self, retry_failed: Duration) -> bool {
        self.retry_at.is_some_and(|at| at <= Instant::now())
            || self.stale(retry_failed).next().is_some()
    }

    /// Returns true if no toolset holds a copy of an expired token.
    pub(crate) fn is_usable(&self) -> bool {
        let mut grants = self
            .toolsets
            .iter()
            .filter_map(|toolset| toolset.ready()?.copied.as_ref());
        !grants.any(|grant| grant.has_expired())
    }

    /// Returns the toolsets that hold a copy of a token that has expired, or that is due and was
    /// not refreshed for a while.
    pub(crate) fn stale(&self, retry_failed: Duration) -> impl Iterator<Item = &LoadedToolset> {
        let retry = self.loaded_at.elapsed() >= retry_failed;
        self.toolsets.iter().filter(move |toolset| {
            let copied = toolset.ready().and_then(|ready| ready.copied.as_ref());
            copied.is_some_and(|grant| grant.is_due() && (retry || grant.has_expired()))
        })
    }
}

impl std::fmt::Debug for LoadedAgent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedAgent")
            .field("agent", &self.agent)
            .field("version", &self.version)
            .field("tools", &self.tools)
            .field("failures", &self.failures)
            .finish_non_exhaustive()
    }
}

impl LoadedToolset {
    pub(crate) fn ready(&self) -> Option<&Arc<ReadyToolset>> {
        match &self.state {
            ToolsetState::Ready(ready) => Some(ready),
            ToolsetState::Disabled | ToolsetState::Failed(_) => None,
        }
    }

    /// Returns the function tools that the toolset offers.
    fn functions(&self) -> impl Iterator<Item = &FunctionTool> {
        let tools = self.ready().map_or(&[][..], |ready| &ready.offered.tools);
        tools.iter().filter_map(|tool| match tool {
            Tool::Function(tool) => Some(tool),
            Tool::Provider(_) | Tool::Toolset(_) => None,
        })
    }

    fn failures(&self, agent: &str) -> Vec<AgentError> {
        let kinds = match &self.state {
            ToolsetState::Disabled => &[],
            ToolsetState::Failed(kind) => std::slice::from_ref(kind),
            ToolsetState::Ready(ready) => &*ready.failures,
        };
        kinds
            .iter()
            .map(|kind| AgentError::new(agent, &*self.tool, kind.clone()))
            .collect()
    }
}

fn combine(
    base: &ToolContext,
    agent: &Arc<str>,
    toolsets: &[LoadedToolset],
) -> Result<ToolContext, RegistryErrors> {
    let ready = || toolsets.iter().filter_map(LoadedToolset::ready);
    let opened = ready()
        .map(|ready| Arc::clone(&ready.opened))
        .collect::<Vec<_>>();
    let offered = ready().map(|ready| Arc::clone(&ready.offered) as Arc<dyn Toolset>);
    let mut settings = Sha256::new();
    for toolset in toolsets.iter().filter(|toolset| toolset.ready().is_some()) {
        settings.update((toolset.tool.len() as u64).to_be_bytes());
        settings.update(&toolset.tool);
        settings.update(toolset.version.to_be_bytes());
        settings.update(toolset.settings);
    }
    base.to_builder().with_all(offered).build_for_agent(
        agent,
        &hex(&settings.finalize()),
        Arc::new(opened),
    )
}

/// Of two toolsets with a tool name in common, the first keeps its tools and the other fails.
fn exclude_collisions(base: &ToolContext, toolsets: &mut [LoadedToolset]) {
    let named = |tools: &[FunctionTool], owner: &str| {
        tools
            .iter()
            .map(|tool| (normalise_name(tool.name()), owner.to_owned()))
            .collect::<Vec<_>>()
    };
    let mut owners = HashMap::new();
    owners.extend(named(base.function_tools(), "every agent"));
    let mut all = toolsets
        .iter()
        .flat_map(LoadedToolset::functions)
        .chain(base.function_tools());
    let has_cancellable = all.any(|tool| tool.definition().flags().cancellable);
    drop(all);
    if has_cancellable {
        // The runtime adds its control tools.
        owners.extend(named(&*CONTROL_TOOLS, "the runtime"));
    }
    for toolset in toolsets {
        let tools = toolset.functions().cloned().collect::<Vec<_>>();
        let collisions = tools.iter().filter_map(|tool| {
            let owner = owners.get(&normalise_name(tool.name()))?;
            Some(format!(
                "`{}` is a tool of {owner}",
                tool.name().escape_debug()
            ))
        });
        let collisions = collisions.collect::<Vec<_>>();
        if collisions.is_empty() {
            owners.extend(named(
                &tools,
                &format!("toolset `{}`", toolset.tool.escape_debug()),
            ));
        } else {
            let reason = format!(
                "{}; give one of them a `prefix`, or disable the action",
                collisions.join(", ")
            );
            toolset.state = ToolsetState::Failed(AgentErrorKind::Collision(reason));
        }
    }
}

/// Of two toolsets with a prompt or a URI in common, the first keeps its own and the other fails.
fn exclude_published_collisions(base: &ToolContext, toolsets: &mut [LoadedToolset]) {
    let mut owners = HashMap::new();
    owners.extend(
        published_by(base.prompts(), base.resources()).map(|name| (name, "every agent".to_owned())),
    );
    for toolset in toolsets {
        let Some(ready) = toolset.ready() else {
            continue;
        };
        let offered = || published_by(&ready.offered.prompts, &ready.offered.resources);
        let collision =
            offered().find_map(|name| Some(format!("{name} is one of {}", owners.get(&name)?)));
        match collision {
            None => owners.extend(
                offered().map(|name| (name, format!("toolset `{}`", toolset.tool.escape_debug()))),
            ),
            Some(collision) => {
                let reason = format!("{collision}; rename one of them");
                toolset.state = ToolsetState::Failed(AgentErrorKind::Collision(reason));
            }
        }
    }
}

/// Describes prompts and resources, each by what only one may have.
fn published_by<'a>(
    prompts: &'a [Prompt],
    resources: &'a [Resource],
) -> impl Iterator<Item = String> + 'a {
    let prompts = prompts
        .iter()
        .map(|prompt| format!("the prompt `{}`", prompt.name().escape_debug()));
    prompts.chain(
        resources
            .iter()
            .map(|resource| format!("the resource `{}`", resource.uri().escape_debug())),
    )
}

/// Returns true if both have the same ready toolsets, and so the same tools.
fn same_tools(before: &[LoadedToolset], now: &[LoadedToolset]) -> bool {
    let ready = |toolsets: &[LoadedToolset]| {
        toolsets
            .iter()
            .filter_map(LoadedToolset::ready)
            .map(Arc::as_ptr)
            .collect::<Vec<_>>()
    };
    ready(before) == ready(now)
}

/// Removes the secrets of a record from the errors of its toolset.
pub(crate) struct SecretScrubber {
    pub(crate) secrets: SecretDocument,
    /// The grant whose tokens replace some of the secrets.
    pub(crate) grant: Option<Arc<Grant>>,
}

impl SecretScrubber {
    /// Returns an error of the toolset without the secrets.
    pub(crate) fn scrub(&self, error: ToolError) -> ToolError {
        let Some(grant) = &self.grant else {
            return self.secrets.scrub(error);
        };
        let error = Tokens::without_plain(&self.secrets).scrub(error);
        Tokens::without_plain(&grant.put_into(&self.secrets)).scrub(error)
    }

    /// Returns the reason why the toolset does not work, without the secrets.
    pub(crate) fn scrub_kind(&self, kind: AgentErrorKind) -> AgentErrorKind {
        // A factory that is written by hand may quote a secret in any text.
        let scrub = |text: String| self.scrub(ToolError::permanent(text)).message().to_owned();
        let scrub_problem = |Problem {
                                 pointer,
                                 expected,
                                 got,
                                 hint,
                             }| Problem {
            pointer: scrub(pointer),
            expected: scrub(expected),
            got: scrub(got),
            hint: hint.map(scrub),
        };
        let scrub_all = |problems: ErrorList<Problem>| problems.map(scrub_problem);
        match kind {
            AgentErrorKind::InvalidConfig(problems) => {
                AgentErrorKind::InvalidConfig(scrub_all(problems))
            }
            AgentErrorKind::InvalidSecrets(problems) => {
                AgentErrorKind::InvalidSecrets(scrub_all(problems))
            }
            AgentErrorKind::Several(kinds) => AgentErrorKind::Several(
                kinds
                    .into_iter()
                    .map(|kind| self.scrub_kind(kind))
                    .collect(),
            ),
            AgentErrorKind::Failed(error) => AgentErrorKind::Failed(self.scrub(error)),
            other => other,
        }
    }
}

/// A toolset that was opened. The cache, every context with its tools and every open session share
/// it. Dropping the last reference closes it, on the tokio runtime that opened it.
pub(crate) struct OpenedToolset {
    pub(crate) agent: Arc<str>,
    pub(crate) tool: String,
    /// The toolset by itself, with those of its nested toolsets that opened.
    pub(crate) tools: ToolContext,
    pub(crate) scrubber: Arc<SecretScrubber>,
    /// Longest time that closing may take.
    pub(crate) close_timeout: Duration,
    pub(crate) runtime: Handle,
    pub(crate) tasks: TaskTracker,
}

impl Drop for OpenedToolset {
    fn drop(&mut self) {
        let tools = self.tools.clone();
        let scrubber = Arc::clone(&self.scrubber);
        let close_timeout = self.close_timeout;
        let agent = Arc::clone(&self.agent);
        let tool = std::mem::take(&mut self.tool);
        let close = async move {
            let agent = agent.escape_debug();
            let toolset = tool.escape_debug();
            let Ok(failures) = timeout(close_timeout, tools.close()).await else {
                tracing::error!(%agent, %toolset, timeout = ?close_timeout, "failed to close a toolset in time");
                return;
            };
            for failure in failures {
                let error = Redaction::new().text(scrubber.scrub(failure.error).message());
                tracing::error!(%agent, %toolset, %error, "failed to close a toolset");
            }
        };
        self.tasks.spawn_on(close, &self.runtime);
    }
}

/// A toolset that works, as the record offers it to the agent.
pub(crate) struct ReadyToolset {
    pub(crate) opened: Arc<OpenedToolset>,
    /// The tools that the record does not disable.
    pub(crate) offered: Arc<MappedToolset>,
    /// The names of all function tools, disabled ones too.
    pub(crate) actions: Vec<String>,
    /// The reasons why some nested toolsets did not open.
    pub(crate) failures: Vec<AgentErrorKind>,
    /// The grant, if the toolset holds a copy of its token.
    pub(crate) copied: Option<Arc<Grant>>,
}

impl ReadyToolset {
    pub(crate) fn new(
        toolset: &dyn Toolset,
        opened: OpenedToolset,
        disabled: &BTreeSet<String>,
        failures: Vec<AgentErrorKind>,
        copied: Option<Arc<Grant>>,
    ) -> Self {
        let actions = opened
            .tools
            .function_tools()
            .iter()
            .map(|tool| tool.name().to_owned())
            .collect();
        let tools = opened
            .tools
            .flatten()
            .filter(|tool| !(tool.is_function_tool() && disabled.contains(tool.id())));
        let tools = tools.map(|tool| match tool {
            Tool::Function(tool) => {
                let scrubber = Arc::clone(&opened.scrubber);
                Tool::Function(tool.scrubbed_by(Arc::new(move |error| scrubber.scrub(error))))
            }
            other => other,
        });
        // Nothing inside it is opened or closed, as `opened` does that.
        let (prompts, resources) = scrubbed(&opened);
        let mut offered =
            MappedToolset::like(toolset, tools.collect(), &[]).publishing(prompts, resources);
        offered.id.clone_from(&opened.tool);
        Self {
            opened: Arc::new(opened),
            offered: Arc::new(offered),
            actions,
            failures,
            copied,
        }
    }
}

/// Returns the prompts and resources of a toolset, whose errors contain no secrets.
fn scrubbed(opened: &OpenedToolset) -> (Vec<Prompt>, Vec<Resource>) {
    let scrub = || {
        let scrubber = Arc::clone(&opened.scrubber);
        Arc::new(move |error: ToolError| scrubber.scrub(error)) as Arc<Scrub>
    };
    let prompts = opened
        .tools
        .prompts()
        .iter()
        .map(|prompt| Prompt(prompt.0.clone().scrubbed_by(scrub())));
    let resources = opened
        .tools
        .resources()
        .iter()
        .map(|resource| Resource(resource.0.clone().scrubbed_by(scrub())));
    (prompts.collect(), resources.collect())
}
