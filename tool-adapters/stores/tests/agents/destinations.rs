//! Settings that decide where secrets go, changed in the database and by forms that keep the secrets.

use crate::manual_changes::Database;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool_core::agents::{AgentErrorKind, Agents, Keyring};
use tool_core::schemars::JsonSchema;
use tool_core::serde::Deserialize;
use tool_core::{Configure, Secret, ToolError, toolset};

const OLD: &str = "old:1111111111111111111111111111111111111111111111111111111111111111";
const NEW: &str = "new:2222222222222222222222222222222222222222222222222222222222222222";
const MUTANTS: usize = 1_000;

/// Number of times that a courier got its secrets, and so could have connected.
static CONNECTED: AtomicUsize = AtomicUsize::new(0);

/// Serialises the tests, which share the counter.
static TURN: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

struct Courier;

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
#[allow(dead_code, reason = "only the schema counts")]
struct Settings {
    base_url: String,
    #[serde(default)]
    proxy: Option<String>,
    smtp_host: String,
    #[schemars(extend("x-binds-secret" = true))]
    smtp_port: u16,
    certificate: String,
    route: Route,
    routes: Vec<Route>,
    dsn: String,
    apihost: String,
    #[serde(rename = "IMAPServers")]
    imap_servers: Vec<String>,
    place: String,
    region: String,
    limit: u32,
    #[schemars(extend("x-binds-secret" = false))]
    greeting: String,
    #[schemars(extend("x-binds-secret" = false))]
    server_notes: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
#[allow(dead_code, reason = "only the schema counts")]
struct Route {
    #[schemars(extend("format" = "uri"))]
    to: String,
    #[schemars(extend("x-binds-secret" = false))]
    note: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
#[allow(dead_code, reason = "only the schema counts")]
struct Secrets {
    api_key: Secret,
}

impl Configure for Courier {
    type Config = Settings;
    type Secrets = Secrets;

    async fn configure(_: Settings, _: Secrets) -> Result<Self, ToolError> {
        CONNECTED.fetch_add(1, Ordering::SeqCst);
        Ok(Self)
    }
}

/// Bring things.
#[toolset(name = "courier")]
impl Courier {
    /// Bring a thing.
    #[tool]
    fn bring() -> u8 {
        1
    }
}

fn settings() -> Value {
    json!({
        "base_url": "https://api.example.com/v1", "smtp_host": "mail.example.com", "smtp_port": 587,
        "certificate": "-----BEGIN CERTIFICATE-----", "route": {"to": "https://relay.example.com", "note": "one"},
        "routes": [{"to": "https://a.example.com", "note": "a"}, {"to": "https://b.example.com", "note": "b"}],
        "region": "eu-west-1", "limit": 5, "greeting": "Hello", "server_notes": "slow on Mondays",
        "dsn": "db.example.com", "apihost": "a.example.com", "IMAPServers": ["b.example.com"], "place": "https://c.example.com",
    })
}

/// The settings that secrets are bound to.
const BOUND: [&str; 13] = [
    "/IMAPServers",
    "/apihost",
    "/base_url",
    "/certificate",
    "/dsn",
    "/place",
    "/proxy",
    "/region",
    "/route/to",
    "/routes/0/to",
    "/routes/1/to",
    "/smtp_host",
    "/smtp_port",
];

/// Returns settings of which one bound value differs, with its pointer. All are different.
fn mutants() -> Vec<(&'static str, Value)> {
    let (mut known, mut all, mut seed) = (
        BTreeSet::from([settings().to_string()]),
        Vec::new(),
        7_usize,
    );
    while all.len() < MUTANTS {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let pointer = BOUND[(seed >> 33) % BOUND.len()];
        let mut mutant = settings();
        mutant["proxy"] = json!("");
        let value = mutant.pointer_mut(pointer).expect("a setting");
        *value = mutated(value, seed >> 17);
        if pointer != "/proxy" {
            mutant.as_object_mut().expect("an object").remove("proxy");
        }
        if known.insert(mutant.to_string()) {
            all.push((pointer, mutant));
        }
    }
    all
}

fn mutated(value: &Value, seed: usize) -> Value {
    if let Some(items) = value.as_array() {
        return json!([mutated(&items[0], seed)]);
    }
    let Some(text) = value.as_str() else {
        return json!(1 + seed % 65_000);
    };
    let at = seed % (text.len() + 1);
    let letter = char::from(b'!' + u8::try_from(seed / 64 % 90).expect("small"));
    let (before, after) = text.split_at(at);
    json!(match seed % 5 {
        0 => format!("{before}{letter}{after}"),
        1 => format!("{before}{letter}{}", after.get(1..).unwrap_or_default()),
        2 => format!("https://evil-{}.example/?{text}", seed % 997),
        3 => format!("{before}\u{200b}{after}#{}", seed % 31),
        _ => format!("{text}.evil{}.example", seed % 997),
    })
}

async fn agents(database: &Database, keys: &[&str]) -> Agents {
    let keys = Keyring::parse(&keys.join("\n")).expect("keys");
    Agents::builder(database.driver().await.0)
        .keys(keys)
        .build()
        .expect("sound")
}

/// Writes settings into the row, beside the program.
async fn write(database: &Database, config: &Value) {
    let config = config.to_string().replace('\'', "''");
    let sql = format!(
        "UPDATE tool_agent_records SET config = '{config}' WHERE agent_id = 'alice' AND tool = 'courier'"
    );
    database.by_hand(&sql).await.expect("it is changed");
}

/// Loads the agent and returns the problem of its courier.
async fn problem(agents: &Agents) -> Option<AgentErrorKind> {
    let loaded = agents.executor("alice").load().await.expect("loads");
    loaded
        .failures()
        .first()
        .map(|failure| failure.kind.clone())
}

async fn add(agents: &Agents) {
    let record = agents
        .add("alice", "courier")
        .config(settings())
        .secrets(json!({"api_key": "k-1"}));
    record.save().await.expect("saved");
}

fn changed(pointer: &str) -> AgentErrorKind {
    AgentErrorKind::DestinationChanged {
        settings: vec![pointer.to_owned()],
    }
}

// C12
#[tokio::test]
async fn settings_changed_by_sql_get_no_secrets() {
    let _turn = TURN.lock().await;
    for database in Database::all().await {
        let agents = agents(&database, &[OLD]).await;
        add(&agents).await;
        assert_eq!(problem(&agents).await, None);
        let before = CONNECTED.load(Ordering::SeqCst);
        for (pointer, mutant) in mutants() {
            write(&database, &mutant).await;
            assert_eq!(problem(&agents).await, Some(changed(pointer)), "{mutant}");
        }
        assert_eq!(CONNECTED.load(Ordering::SeqCst), before);
        write(&database, &settings()).await;
        assert_eq!(problem(&agents).await, None);
        println!("{MUTANTS} mutants by SQL: 0 got the secrets");
    }
}

// C12
#[tokio::test]
async fn settings_changed_by_a_form_get_no_kept_secrets() {
    let _turn = TURN.lock().await;
    let database = Database::sqlite();
    let agents = agents(&database, &[OLD]).await;
    add(&agents).await;
    let before = CONNECTED.load(Ordering::SeqCst);
    for (pointer, mutant) in mutants() {
        let record = agents.record("alice", "courier").await.expect("there");
        let saved = agents
            .edit(&record)
            .config(mutant)
            .save()
            .await
            .expect("saved");
        assert_eq!(agents.changed_destination(&saved), [pointer]);
        assert_eq!(problem(&agents).await, Some(changed(pointer)));
    }
    assert_eq!(CONNECTED.load(Ordering::SeqCst), before);
    // Entered again, they go to the new place.
    let record = agents.record("alice", "courier").await.expect("there");
    agents
        .edit(&record)
        .secrets(json!({"api_key": "k-2"}))
        .save()
        .await
        .expect("saved");
    assert_eq!(problem(&agents).await, None);
    println!("{MUTANTS} mutants by forms: 0 got the secrets");
}

// C12
#[tokio::test]
async fn rotation_keeps_the_binding() {
    let _turn = TURN.lock().await;
    let database = Database::sqlite();
    add(&agents(&database, &[OLD]).await).await;
    let before = CONNECTED.load(Ordering::SeqCst);
    let mut resealed = 0;
    for (round, (pointer, mutant)) in mutants().into_iter().enumerate() {
        write(&database, &mutant).await;
        let agents = agents(
            &database,
            if round % 2 == 0 {
                &[NEW, OLD]
            } else {
                &[OLD, NEW]
            },
        )
        .await;
        resealed += agents.rotate().await.expect("up").resealed;
        assert_eq!(problem(&agents).await, Some(changed(pointer)));
    }
    assert_eq!(
        (resealed, CONNECTED.load(Ordering::SeqCst)),
        (1_000, before)
    );
    write(&database, &settings()).await;
    assert_eq!(problem(&agents(&database, &[OLD, NEW]).await).await, None);
}

// C12
#[tokio::test]
async fn other_settings_change_freely() {
    let _turn = TURN.lock().await;
    let database = Database::sqlite();
    let agents = agents(&database, &[OLD]).await;
    add(&agents).await;
    for (pointer, text) in [
        ("/greeting", "Hello"),
        ("/server_notes", "https://a.example"),
        ("/route/note", "a"),
        ("/routes/1/note", "b"),
    ] {
        for round in 0..25 {
            let mut config = settings();
            *config.pointer_mut(pointer).expect("a setting") = json!(format!("{text}/{round}"));
            write(&database, &config).await;
            assert_eq!(problem(&agents).await, None, "{config}");
        }
    }
}

// A writer to the database can restore what was valid once, and nothing else.
#[tokio::test]
async fn older_secrets_open_only_with_their_own_settings() {
    let _turn = TURN.lock().await;
    let database = Database::sqlite();
    let agents = agents(&database, &[OLD]).await;
    add(&agents).await;
    let copy = "CREATE TABLE backup AS SELECT config, secrets FROM tool_agent_records WHERE tool = 'courier'";
    database.by_hand(copy).await.expect("copied");
    let record = agents.record("alice", "courier").await.expect("there");
    let mut config = settings();
    config["base_url"] = json!("https://new.example.com");
    agents
        .edit(&record)
        .config(config)
        .secrets(json!({"api_key": "k-2"}))
        .save()
        .await
        .expect("saved");
    assert_eq!(problem(&agents).await, None);

    let restore =
        |columns| format!("UPDATE tool_agent_records SET {columns} WHERE agent_id = 'alice'");
    let secrets = restore("secrets = (SELECT secrets FROM backup)");
    database.by_hand(&secrets).await.expect("restored");
    assert_eq!(problem(&agents).await, Some(changed("/base_url")));
    let both = restore("config = (SELECT config FROM backup)");
    database.by_hand(&both).await.expect("restored");
    assert_eq!(problem(&agents).await, None);
}
