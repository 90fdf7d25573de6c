//! Shared by the tests: toolsets that count their uses, and agents that have them.

use serde_json::{Value, json};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tool_core::agents::{
    AgentErrorKind, Agents, AgentsBuilder, Keyring, LoadedAgent, MemoryAgentToolStore,
};
use tool_core::describe::Action;
use tool_core::tool::{
    ConfigureError, Configured, LifecycleFuture, SecretDocument, ToolsetFactory, ToolsetMetadata,
};
use tool_core::{FunctionTool, RawTool, RunContext, Tool, ToolError, ToolResponse, Toolset};

/// The misbehaviour of a toolset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Plan {
    #[default]
    Works,
    RefusesSettings,
    /// Tries the token that it is given, which is the first one where it holds `canary-first`.
    RefusesFirstToken,
    PanicsWhileConfigured,
    HangsWhileConfigured,
    DoesNotOpen,
    PanicsWhileOpened,
    HangsWhileOpened,
    DoesNotClose,
    HangsWhileClosed,
}

/// Any value.
type Settings = std::collections::BTreeMap<String, Value>;

/// A toolset that counts what is done with its instances, which clones of this share.
#[derive(Clone)]
pub(crate) struct Probe {
    metadata: Arc<ToolsetMetadata>,
    tools: Vec<&'static str>,
    pub(crate) configured: Counter,
    pub(crate) opened: Counter,
    pub(crate) closed: Counter,
    pub(crate) called: Counter,
    plan: Arc<Mutex<Plan>>,
    /// The time that configuring and opening take.
    slow: Option<Duration>,
    options: fn(FunctionTool) -> FunctionTool,
}

impl Probe {
    pub(crate) fn new(name: &str, tools: impl IntoIterator<Item = &'static str>) -> Self {
        Self {
            metadata: Arc::new(
                ToolsetMetadata::new(name, "Counts.").configured_by::<Settings, ()>(),
            ),
            tools: tools.into_iter().collect(),
            configured: Counter::default(),
            opened: Counter::default(),
            closed: Counter::default(),
            called: Counter::default(),
            plan: Arc::default(),
            slow: None,
            options: |tool| tool,
        }
    }

    pub(crate) fn slow(self, time: Duration) -> Self {
        Self {
            slow: Some(time),
            ..self
        }
    }

    pub(crate) fn options(self, options: fn(FunctionTool) -> FunctionTool) -> Self {
        Self { options, ..self }
    }

    pub(crate) fn metadata_with(
        self,
        change: impl FnOnce(ToolsetMetadata) -> ToolsetMetadata,
    ) -> Self {
        Self {
            metadata: Arc::new(change((*self.metadata).clone())),
            ..self
        }
    }

    /// The behaviour of its next instances.
    pub(crate) fn plan(&self, plan: Plan) {
        *self.plan.lock().expect("no panic") = plan;
    }

    fn planned(&self) -> Plan {
        *self.plan.lock().expect("no panic")
    }

    /// The number of instances that were configured, opened and closed.
    pub(crate) fn counts(&self) -> (u32, u32, u32) {
        (self.configured.get(), self.opened.get(), self.closed.get())
    }

    async fn wait(&self) {
        match self.slow {
            Some(time) => tokio::time::sleep(time).await,
            None => tokio::task::yield_now().await,
        }
    }

    async fn made(&self, config: Value, secrets: SecretDocument) -> Configured {
        self.configured.add();
        self.wait().await;
        let plan = self.planned();
        let secret = secrets.expose().to_owned();
        match plan {
            Plan::RefusesSettings => Err(ConfigureError::Failed(ToolError::auth(format!(
                "refused {secret}"
            )))),
            Plan::RefusesFirstToken if secret.contains("canary-first") => Err(
                ConfigureError::Failed(ToolError::auth("the token is no longer good")),
            ),
            Plan::PanicsWhileConfigured => panic!("boom with {secret}"),
            Plan::HangsWhileConfigured => std::future::pending().await,
            _ => Ok(Arc::new(Made::new(self.clone(), plan, config, secret)) as Arc<dyn Toolset>),
        }
    }
}

impl ToolsetFactory for Probe {
    fn metadata(&self) -> &ToolsetMetadata {
        &self.metadata
    }

    fn actions(&self) -> Vec<Action> {
        let tools = self
            .tools
            .iter()
            .fold(tool_core::ToolContext::builder(), |tools, name| {
                tools.with(raw(name))
            });
        let listed = tools.build().expect("sound tools").actions();
        listed
            .into_iter()
            .flat_map(|listed| listed.actions)
            .collect()
    }

    fn configure(
        &self,
        config: Value,
        secrets: SecretDocument,
    ) -> Pin<Box<dyn Future<Output = Configured> + Send + '_>> {
        Box::pin(self.made(config, secrets))
    }
}

fn declared(name: &str) -> RawTool {
    RawTool {
        name: name.into(),
        description: "Counts.".into(),
        parameters: json!({"type": "object"}),
    }
}

/// A tool by itself.
pub(crate) fn raw(name: &str) -> FunctionTool {
    FunctionTool::raw(declared(name), async |_: Value, _: &RunContext| {
        Ok(json!("by itself"))
    })
}

/// The instance of a record.
struct Made {
    probe: Probe,
    plan: Plan,
    secret: String,
    tools: Vec<Tool>,
}

/// The settings that its tools see.
struct Known {
    config: Value,
    called: Counter,
}

impl Made {
    fn new(probe: Probe, plan: Plan, config: Value, secret: String) -> Self {
        let tool = |name: &&str| {
            let known = Known {
                config: config.clone(),
                called: probe.called.clone(),
            };
            let tool = FunctionTool::raw_with(declared(name), known, answer);
            Tool::Function((probe.options)(tool))
        };
        let tools = probe.tools.iter().map(tool).collect();
        Self {
            probe,
            plan,
            secret,
            tools,
        }
    }
}

/// The settings that its instance was made of, after so many `seconds`; what `nested` names is called first.
async fn answer(known: &Known, arguments: Value, ctx: &RunContext) -> Result<Value, ToolError> {
    known.called.add();
    if let Some(seconds) = arguments["seconds"].as_u64() {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
    match arguments["nested"].as_str() {
        Some(nested) => {
            let inner = ctx.call(nested, "{}").await;
            Ok(
                json!({"inner": inner.data_json(), "error": inner.error().map(|error| error.message.clone())}),
            )
        }
        None => Ok(known.config.clone()),
    }
}

impl Toolset for Made {
    fn id(&self) -> &str {
        &self.probe.metadata.name
    }

    fn tools(self: Arc<Self>) -> Vec<Tool> {
        self.tools.clone()
    }

    fn setup(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            self.probe.wait().await;
            match self.plan {
                Plan::DoesNotOpen => {
                    return Err(ToolError::transient(format!(
                        "no connection with {}",
                        self.secret
                    )));
                }
                Plan::PanicsWhileOpened => panic!("boom with {}", self.secret),
                Plan::HangsWhileOpened => std::future::pending().await,
                _ => {}
            }
            self.probe.opened.add();
            Ok(())
        })
    }

    fn close(&self) -> LifecycleFuture<'_> {
        Box::pin(async {
            self.probe.closed.add();
            match self.plan {
                Plan::DoesNotClose => Err(ToolError::internal(format!(
                    "still busy with {}",
                    self.secret
                ))),
                Plan::HangsWhileClosed => std::future::pending().await,
                _ => Ok(()),
            }
        })
    }
}

/// Counts what happens. A clone counts the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(Arc<AtomicU32>);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Keys to seal with, the active one under this id.
pub(crate) fn keys(id: &str) -> Keyring {
    Keyring::parse(&Keyring::generate(id).expect("randomness")).expect("a sound line")
}

/// Agents over a store of their own that have these toolsets.
pub(crate) fn agents<const N: usize>(probes: [&Probe; N]) -> Agents {
    builder(MemoryAgentToolStore::new(), probes)
        .build()
        .expect("sound toolsets")
}

pub(crate) fn builder<const N: usize>(
    store: impl tool_core::agents::DynAgentToolStore,
    probes: [&Probe; N],
) -> AgentsBuilder {
    let builder = Agents::builder(store).keys(keys("k"));
    probes
        .into_iter()
        .fold(builder, |builder, probe| builder.factory(probe.clone()))
}

/// Two toolsets, of which the first behaves as planned. Alice has both.
pub(crate) async fn mail_and_chat(plan: Plan) -> (Probe, Probe, Agents) {
    let (mail, chat) = (Probe::new("mail", ["send"]), Probe::new("chat", ["post"]));
    mail.plan(plan);
    let agents = agents([&mail, &chat]);
    give(&agents, "alice", "mail").await;
    give(&agents, "alice", "chat").await;
    (mail, chat, agents)
}

/// Gives an agent a toolset.
pub(crate) async fn give(agents: &Agents, agent: &str, tool: &str) {
    agents.add(agent, tool).save().await.expect("written");
}

/// Writes a record anew, without a change.
pub(crate) async fn touch(agents: &Agents, agent: &str, tool: &str) {
    let record = agents.record(agent, tool).await.expect("a record");
    agents.edit(&record).save().await.expect("written");
}

pub(crate) async fn load(agents: &Agents, agent: &str) -> Arc<LoadedAgent> {
    agents.executor(agent).load().await.expect("loaded")
}

/// The names of the tools, in order.
pub(crate) fn names(loaded: &Arc<LoadedAgent>) -> Vec<String> {
    loaded
        .tools()
        .definitions()
        .map(|tool| tool.name().to_owned())
        .collect()
}

/// The toolsets that failed, and how.
pub(crate) fn failed(loaded: &Arc<LoadedAgent>) -> Vec<(&str, &AgentErrorKind)> {
    loaded
        .failures()
        .iter()
        .map(|failure| (failure.tool.as_str(), &failure.kind))
        .collect()
}

/// The kind of error; `None` for a success.
pub(crate) fn kind(response: &ToolResponse) -> Option<tool_core::ErrorKind> {
    response.error().map(|error| error.kind)
}

/// Lets other tasks get on, until nothing more happens.
pub(crate) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}
