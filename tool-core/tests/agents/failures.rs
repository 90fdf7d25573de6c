//! Everything that may be wrong with a record, by the means by which it comes about: the others work, and the row stays.

use crate::support::{
    Plan, Probe, agents, builder, failed, give, keys, load, mail_and_chat, names,
};
use crate::support_store::Line;
use serde_json::{Value, json};
use std::sync::Arc;
use tool_core::agents::AgentStoreError;
use tool_core::agents::KeyError;
use tool_core::agents::{
    AgentErrorKind, AgentToolStore, AgentTools, Agents, Keyring, MemoryAgentToolStore, RecordWrite,
    SealedSecrets, SecretsWrite,
};
use tool_core::schemars::JsonSchema;
use tool_core::serde::Deserialize;
use tool_core::tool::BoundSettings;
use tool_core::tool::SecretDocument;
use tool_core::toolset;
use tool_core::{Configure, ErrorKind, FunctionTool, RawTool, RunContext, Secret, ToolError};

struct Shop;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
#[allow(dead_code, reason = "only its schema is asked for")]
struct Settings {
    #[schemars(range(max = 50))]
    vat: u8,
    #[schemars(extend("x-binds-secret" = false))]
    name: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
#[allow(dead_code, reason = "only its schema is asked for")]
struct Secrets {
    api_key: Secret,
}

impl Configure for Shop {
    type Config = Settings;
    type Secrets = Secrets;

    async fn configure(_: Settings, _: Secrets) -> Result<Self, ToolError> {
        Ok(Self)
    }
}

/// Sells things.
#[toolset(name = "shop")]
impl Shop {
    /// Tells a price.
    #[tool]
    fn price(&self) -> u32 {
        7
    }
}

const CANARY: &str = "canary-7f3a91";

/// A shop whose row is what `spoil` makes of it, beside a toolset that works.
async fn spoilt(
    store: &Arc<MemoryAgentToolStore>,
    first: Keyring,
    then: Keyring,
    spoil: impl AsyncFnOnce(&MemoryAgentToolStore, AgentTools),
) -> (Agents, AgentErrorKind) {
    let chat = Probe::new("chat", ["post"]);
    let agents = builder(Arc::clone(store), [&chat])
        .keys(first)
        .build()
        .expect("sound");
    give(&agents, "alice", "chat").await;
    let draft = agents
        .add("alice", "shop")
        .config(json!({"vat": 19, "name": "x"}));
    let record = draft
        .secrets(json!({"api_key": CANARY}))
        .save()
        .await
        .expect("written");
    spoil(store, record).await;
    let row = store.get("alice", "shop").await.expect("up");
    let agents = builder(Arc::clone(store), [&chat])
        .keys(then)
        .build()
        .expect("sound");
    let loaded = load(&agents, "alice").await;
    assert_eq!(names(&loaded), ["post"], "the others work");
    let (tool, kind) = failed(&loaded)[0];
    assert_eq!(tool, "shop");
    let error = agents
        .executor("alice")
        .run_tool_action("shop", "price", "{}")
        .await
        .expect_err("it failed");
    assert_eq!(&error.kind, kind);
    let shown = format!("{error} {error:?} {loaded:?}");
    assert!(
        !shown.contains(CANARY)
            && error
                .to_string()
                .contains("toolset `shop` of agent `alice`"),
        "{shown}"
    );
    assert_eq!(
        store.get("alice", "shop").await.expect("up"),
        row,
        "the row is left as it is"
    );
    (agents, kind.clone())
}

async fn write(
    store: &MemoryAgentToolStore,
    record: &AgentTools,
    change: impl FnOnce(&mut RecordWrite),
) {
    let mut write = RecordWrite::of(record);
    change(&mut write);
    store.write(&write).await.expect("written");
}

fn set(record: &AgentTools, bytes: impl FnOnce(&mut Vec<u8>)) -> SecretsWrite {
    let sealed = record.secrets.as_ref().expect("secrets");
    let mut changed = sealed.bytes().to_vec();
    bytes(&mut changed);
    SecretsWrite::Set(SealedSecrets::new(sealed.key(), changed))
}

#[tokio::test]
async fn without_any_key_secrets_stay_shut() {
    let keys = keys("k");
    let (_, kind) = spoilt(&Arc::default(), keys, Keyring::none(), async |_, _| ()).await;
    assert_eq!(kind, AgentErrorKind::Key(KeyError::Missing));
}

#[tokio::test]
async fn a_key_of_another_id_does_not_open_them() {
    let (_, kind) = spoilt(&Arc::default(), keys("old"), keys("new"), async |_, _| ()).await;
    assert_eq!(
        kind,
        AgentErrorKind::Key(KeyError::Unknown { key: "old".into() })
    );
}

#[tokio::test]
async fn another_key_of_the_same_id_does_not_open_them() {
    let (_, kind) = spoilt(&Arc::default(), keys("k"), keys("k"), async |_, _| ()).await;
    assert_eq!(
        kind,
        AgentErrorKind::Key(KeyError::Wrong { key: "k".into() })
    );
}

#[tokio::test]
async fn a_row_that_was_tampered_with_does_not_open() {
    let keys = keys("k");
    let flip = async |store: &MemoryAgentToolStore, record: AgentTools| {
        let secrets = set(&record, |bytes| *bytes.last_mut().expect("bytes") ^= 1);
        write(store, &record, |write| write.secrets = secrets).await;
    };
    let (_, kind) = spoilt(&Arc::default(), keys.clone(), keys, flip).await;
    assert_eq!(kind, AgentErrorKind::Key(KeyError::Tampered));
}

#[tokio::test]
async fn secrets_that_were_moved_here_from_another_agent_do_not_open() {
    let keys = keys("k");
    let sealed = keys
        .seal(
            "mallory",
            "shop",
            &BoundSettings::none(),
            &SecretDocument::from_value(json!({"api_key": CANARY})),
        )
        .expect("sealed");
    let moved = async |store: &MemoryAgentToolStore, record: AgentTools| {
        write(store, &record, |write| {
            write.secrets = SecretsWrite::Set(sealed);
        })
        .await;
    };
    let (_, kind) = spoilt(&Arc::default(), keys.clone(), keys, moved).await;
    assert_eq!(kind, AgentErrorKind::Key(KeyError::Tampered));
}

#[tokio::test]
async fn settings_written_by_hand_report_every_problem() {
    let keys = keys("k");
    let bad = async |store: &MemoryAgentToolStore, record: AgentTools| {
        write(store, &record, |write| write.config = json!({"vat": 70})).await;
    };
    let (agents, kind) = spoilt(&Arc::default(), keys.clone(), keys, bad).await;
    let AgentErrorKind::InvalidConfig(problems) = kind else {
        panic!("{kind:?}")
    };
    let places = problems
        .iter()
        .map(|problem| problem.pointer.as_str())
        .collect::<Vec<_>>();
    assert!(
        places.len() == 2 && places.contains(&"/vat"),
        "{problems:?}"
    );
    let record = agents.record("alice", "shop").await.expect("a record");
    agents
        .edit(&record)
        .config(json!({"vat": 7, "name": "x"}))
        .save()
        .await
        .expect("written");
    assert_eq!(names(&load(&agents, "alice").await), ["post", "price"]);
}

#[tokio::test]
async fn secrets_that_do_not_fit_are_told_without_their_values() {
    let keys = keys("k");
    let sealed = keys
        .seal(
            "alice",
            "shop",
            &BoundSettings::none(),
            &SecretDocument::from_value(json!({"apikey": CANARY})),
        )
        .expect("sealed");
    let bad = async |store: &MemoryAgentToolStore, record: AgentTools| {
        write(store, &record, |write| {
            write.secrets = SecretsWrite::Set(sealed);
        })
        .await;
    };
    let (_, kind) = spoilt(&Arc::default(), keys.clone(), keys, bad).await;
    assert!(
        matches!(kind, AgentErrorKind::InvalidSecrets(_)),
        "{kind:?}"
    );
}

#[tokio::test]
async fn settings_and_secrets_are_told_together() {
    let keys = keys("k");
    let bad = async |store: &MemoryAgentToolStore, record: AgentTools| {
        write(store, &record, |write| {
            write.config = json!({"vat": 70, "name": "x"});
            write.secrets = SecretsWrite::Clear;
        })
        .await;
    };
    let (_, kind) = spoilt(&Arc::default(), keys.clone(), keys, bad).await;
    let AgentErrorKind::Several(kinds) = &kind else {
        panic!("{kind:?}")
    };
    assert!(
        matches!(
            kinds[..],
            [
                AgentErrorKind::InvalidConfig(_),
                AgentErrorKind::InvalidSecrets(_)
            ]
        ),
        "{kinds:?}"
    );
}

#[tokio::test]
async fn a_row_that_holds_no_record_is_told_and_the_others_work() {
    let (line, chat) = (Line::default(), Probe::new("chat", ["post"]));
    let agents = builder(line.clone(), [&chat]).build().expect("sound");
    give(&agents, "alice", "chat").await;
    line.spoil("mail", "its config is no JSON");
    let loaded = load(&agents, "alice").await;
    assert_eq!(names(&loaded), ["post"]);
    assert_eq!(
        failed(&loaded),
        [(
            "mail",
            &AgentErrorKind::Store(AgentStoreError::Unreadable("its config is no JSON".into()))
        )]
    );
    let error = agents
        .executor("alice")
        .run_tool_action("mail", "send", "{}")
        .await
        .expect_err("unreadable");
    assert!(
        error.to_string().contains("`mail`") && error.to_string().contains("no JSON"),
        "{error}"
    );
}

#[tokio::test]
async fn failing_toolset_leaves_the_others_working() {
    for (plan, kind) in [
        (Plan::RefusesSettings, ErrorKind::Auth),
        (Plan::DoesNotOpen, ErrorKind::Transient),
    ] {
        let (mail, chat) = (Probe::new("mail", ["send"]), Probe::new("chat", ["post"]));
        mail.plan(plan);
        let agents = agents([&mail, &chat]);
        give(&agents, "alice", "chat").await;
        agents.add("alice", "mail").save().await.expect("written");
        let loaded = load(&agents, "alice").await;
        assert_eq!(names(&loaded), ["post"]);
        assert!(
            matches!(failed(&loaded)[..], [("mail", AgentErrorKind::Failed(error))] if error.kind() == kind)
        );
        assert_eq!((chat.counts(), mail.opened.get()), ((1, 1, 0), 0));
    }
}

#[tokio::test(start_paused = true)]
async fn hanging_toolset_is_given_up_and_closed() {
    for (plan, closed) in [(Plan::HangsWhileConfigured, 0), (Plan::HangsWhileOpened, 1)] {
        let (mail, chat, agents) = mail_and_chat(plan).await;
        let loaded = load(&agents, "alice").await;
        assert_eq!(names(&loaded), ["post"]);
        assert!(
            loaded.failures()[0].to_string().contains("longer than 30s"),
            "{}",
            loaded.failures()[0]
        );
        drop(loaded);
        agents.close().await;
        assert_eq!((mail.closed.get(), chat.counts()), (closed, (1, 1, 1)));
    }
}

// A toolset whose own tools are unsound is not offered.
#[tokio::test]
async fn a_toolset_whose_tools_are_unsound_is_told_so() {
    let mail = Probe::new("mail", ["send", "se nd"]);
    let agents = agents([&mail]);
    // Such a name cannot be checked against what the factory says, so it is written past the form.
    agents.add("alice", "mail").save().await.expect("written");
    let loaded = load(&agents, "alice").await;
    assert!(
        loaded.failures()[0].to_string().contains("se nd"),
        "{:?}",
        loaded.failures()
    );
    assert_eq!(mail.counts(), (1, 0, 0));
}

#[tokio::test]
async fn a_raw_tool_is_as_good_as_any() {
    let tool = FunctionTool::raw(
        RawTool {
            name: "now".into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
        },
        async |_: Value, _: &RunContext| Ok(Value::Null),
    );
    let agents = Agents::builder(MemoryAgentToolStore::new())
        .with(tool)
        .build()
        .expect("sound");
    assert_eq!(names(&load(&agents, "alice").await), ["now"]);
}
