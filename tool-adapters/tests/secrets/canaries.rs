//! Canaries in every secret of a record, and every sink looked through.

use crate::sinks::{Canaries, Log, Sinks, hex};
use crate::vault::Careless;
use std::path::Path;
use std::sync::Once;
use tool_adapters::oauth2::{Callback, OAuth2Client, OAuth2Clients, OAuth2Error};
use tool_adapters::providers::manifest;
use tool_adapters::stores::FileJournal;
use tool_adapters::stores::SqliteStore;
use tool_adapters::{Provider, declare};
use tool_core::agents::{AgentToolStore, Agents, Keyring, SealedRow, SecretsWrite, Tokens};
use tool_core::call::ResultForm;
use tool_core::serde_json::{self, json};
use tool_core::tool::{AccessToken, SecretDocument};
use tool_core::trace::Collector;
use tool_core::{Mode, Runtime, Secret, ToolCall, ToolContext, ToolResponse};

const API_KEY: &str = "Zebra7Quokka-api";
const PASSWORD: &str = "Yak\"5\\Walrus pass";
const ACCESS: &str = "Xerus9Tapir.access";
const REFRESH: &str = "Vole3Saiga_refresh";
const REFRESHED: &str = "Uakari1Rhea.next";
const CLIENT: &str = "Okapi4Numbat client";
const KEY: [u8; 32] = *b"Ibex2Hoatzin8Gecko1Fossa6Echidna";
const OLD_KEY: [u8; 32] = *b"Dugong4Civet7Binturong2Axolotl1!";

fn canaries() -> Canaries {
    Canaries::new(&[
        ("the API key", API_KEY.as_bytes()),
        ("the password", PASSWORD.as_bytes()),
        ("the access token", ACCESS.as_bytes()),
        ("the refresh token", REFRESH.as_bytes()),
        ("the refreshed token", REFRESHED.as_bytes()),
        ("the client's secret", CLIENT.as_bytes()),
        ("the key", &KEY),
        ("the old key", &OLD_KEY),
    ])
}

fn line(id: &str, key: &[u8]) -> String {
    format!("{id}:{}", hex(key))
}

fn keys() -> Keyring {
    Keyring::parse(&format!("{}\n{}", line("new", &KEY), line("old", &OLD_KEY))).expect("keys")
}

/// The one sink that is not looked through: the process's panic hook, which has a panic's own words before anybody can
/// catch them. docs/secrets.md says so.
fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info
                .payload()
                .downcast_ref::<String>()
                .is_some_and(|text| text.starts_with("provoked"))
            {
                usual(info);
            }
        }));
    });
}

fn secrets() -> serde_json::Value {
    json!({"api_key": API_KEY, "password": PASSWORD, "access_token": ACCESS, "refresh_token": REFRESH,
        "expires_at": "2020-01-01T00:00:00Z"})
}

const WAYS: [&str; 7] = [
    "fine",
    "fails",
    "fails internally",
    "panics",
    "setup fails",
    "setup panics",
    "also fine",
];

const ACTIONS: [&str; 6] = [
    "open_door",
    "break_door",
    "tell_all",
    "blow_up",
    "blow_up_at_once",
    "ask",
];

async fn agents(folder: &Path) -> (Agents, SqliteStore) {
    let store = SqliteStore::open(folder.join("agents.db"))
        .await
        .expect("opens");
    let runtime = Runtime::builder(ToolContext::builder().build().expect("sound"));
    let runtime = runtime.journal(FileJournal::open(folder.join("calls.journal")).expect("opens"));
    let agents = Agents::builder(store.clone())
        .keys(keys())
        .runtime(runtime.build().expect("sound"));
    let agents = agents
        .oauth2(Careless::new(REFRESHED))
        .build()
        .expect("sound");
    for way in WAYS {
        let draft = agents
            .add(way, "vault")
            .config(json!({"way": way}))
            .secrets(secrets());
        draft.save().await.expect("saved");
    }
    (agents, store)
}

// T1
#[tokio::test]
async fn no_sink_shows_a_secret_of_a_record() {
    quiet();
    Log::listen();
    let folder = tempfile::tempdir().expect("a folder");
    let mut sinks = Sinks::default();
    let collector = Collector::builder().content(true).build();
    let (agents, store) = agents(folder.path()).await;
    collector.run(calls(&agents, &mut sinks)).await;
    add_printed_forms(&agents, &store, &mut sinks).await;
    wrong_secrets(&agents, &mut sinks).await;
    wrong_keys(&store, &mut sinks).await;
    grants(&agents, &mut sinks).await;

    let report = collector.report();
    assert!(report.spans().len() > 5);
    sinks.add("the report as JSON", report.to_json());
    sinks.add("the report as HTML", report.to_html());
    sinks.add("the report as text", report.outline());
    sinks.debug("spans", &report.spans());
    let metrics = agents.runtime().metrics();
    sinks.add(
        "the metrics as JSON",
        serde_json::to_string(&metrics).expect("JSON"),
    );
    sinks.add("the metrics as text", metrics.prometheus());
    sinks.files("on the disk", folder.path());
    agents.close().await;
    sinks.add("the log", Log::bytes());

    let names = sinks.names();
    for needed in [
        "on the disk: agents.db",
        "on the disk: agents.db-wal",
        "on the disk: calls.journal",
        "the log",
    ] {
        assert!(names.contains(&needed), "{names:?}");
    }
    let (found, count, bytes) = sinks.scan(&canaries());
    assert_eq!(found, [], "of {count} sinks");
    assert!(count >= 60, "{count}: {names:?}");
    println!("8 secrets in 6 forms, {count} sinks, {bytes} bytes: 0 found");
}

/// Everything that calls give, and the sessions that they are in.
async fn calls(agents: &Agents, sinks: &mut Sinks) {
    for way in WAYS {
        let executor = agents.executor(way);
        let loaded = executor.load().await.expect("loads");
        assert_eq!(
            loaded.failures().is_empty(),
            way.contains("fine"),
            "{way}: {:?}",
            loaded.failures()
        );
        for failure in loaded.failures() {
            sinks.error("failures", failure);
        }
        sinks.debug("executors", &executor);
        sinks.debug("agents that are loaded", &loaded);
        sinks.debug("tool contexts", loaded.tools());
        for action in ACTIONS.into_iter().chain(["nothing"]) {
            match executor.run_tool_action("vault", action, "{}").await {
                Ok(response) => add_response(&response, sinks),
                Err(error) => sinks.error("actions", &error),
            }
        }
        let session = executor
            .session(way, Mode::Text)
            .await
            .expect("loads")
            .await
            .expect("opens");
        for action in ACTIONS {
            let arguments = json!({"password": PASSWORD}).to_string();
            let response = session
                .call(ToolCall::new(
                    action,
                    action,
                    if action == "open_door" {
                        &arguments
                    } else {
                        "{}"
                    },
                ))
                .await;
            add_response(&response, sinks);
        }
        sinks.add(
            "audits",
            format!("{:?}", session.audit().await.expect("kept")),
        );
        sinks.add(
            "metrics of sessions",
            serde_json::to_string(&session.metrics()).expect("JSON"),
        );
        sinks.debug("sessions", &session);
        sinks.debug("metrics of sessions", &session.metrics());
        session.end().await;
    }
}

fn add_response(response: &ToolResponse, sinks: &mut Sinks) {
    sinks.add("responses", response.to_json());
    sinks.debug("responses", response);
    for form in [ResultForm::Plain, ResultForm::Envelope] {
        sinks.add("responses for models", response.for_model(form).text);
    }
}

/// Adds everything that programs print.
async fn add_printed_forms(agents: &Agents, store: &SqliteStore, sinks: &mut Sinks) {
    let record = agents.record("fine", "vault").await.expect("there");
    let sealed = record.secrets.clone().expect("sealed");
    sinks.add(
        "records as JSON",
        serde_json::to_string(&record).expect("JSON"),
    );
    sinks.debug("records", &record);
    sinks.debug(
        "records of an agent",
        &agents.list("fine").await.expect("up"),
    );
    sinks.debug("rows", &SealedRow::new("fine", "vault", sealed.clone()));
    sinks.debug("writes", &SecretsWrite::Set(sealed.clone()));
    sinks.debug("sealed secrets", &sealed);
    sinks.add("sealed bytes", sealed.bytes());
    sinks.debug("secrets", &Secret::from(API_KEY));
    sinks.debug("documents", &SecretDocument::from_value(secrets()));
    sinks.debug("access tokens", &AccessToken::from(ACCESS));
    let mut tokens = Tokens::new(ACCESS);
    tokens.refresh = Some(REFRESH.into());
    sinks.debug("tokens", &tokens);
    sinks.debug("keyrings", &keys());
    sinks.debug("agents", agents);
    sinks.debug("runtimes", agents.runtime());
    sinks.debug("drafts", &agents.edit(&record).secrets(secrets()));
    sinks.add(
        "forms",
        serde_json::to_string(&agents.forms().collect::<Vec<_>>()).expect("JSON"),
    );
    sinks.add(
        "actions",
        serde_json::to_string(&agents.actions("vault")).expect("JSON"),
    );
    sinks.debug("rotations", &agents.rotate().await.expect("up"));
    _ = store.version("fine").await.expect("up");

    let tools = agents.executor("fine").tools().await.expect("loads");
    for tool in tools.definitions() {
        sinks.add(
            "definitions",
            format!("{tool:?} {} {:?}", tool.parameters_json(), tool.output()),
        );
    }
    for provider in Provider::ALL {
        let declared = declare(provider, &tools);
        sinks.add(
            &format!("declarations: {provider:?}"),
            declared.json().get(),
        );
        sinks.add(
            &format!("declarations: {provider:?}"),
            format!("{:?}", declared.report()),
        );
    }
    sinks.add(
        "the manifest",
        manifest::build(&tools).expect("sound").to_json_pretty(),
    );
}

/// Shows the errors of invalid secrets.
async fn wrong_secrets(agents: &Agents, sinks: &mut Sinks) {
    for wrong in [
        json!({"api_key": [API_KEY], "password": PASSWORD, "access_token": ACCESS}),
        json!({"api_key": {API_KEY: PASSWORD}, "password": 7, "access_token": null}),
        json!({"password": PASSWORD}),
        json!([API_KEY]),
        json!(API_KEY),
        json!({"api_key": API_KEY, "password": PASSWORD, "access_token": ACCESS, "pin": API_KEY}),
    ] {
        let draft = agents
            .add("wrong", "vault")
            .config(json!({"way": "fine"}))
            .secrets(wrong);
        sinks.debug("drafts", &draft);
        match draft.save().await {
            Err(error) => sinks.error("refused secrets", &error),
            Ok(record) => agents.remove(&record).await.expect("removed"),
        }
    }
}

/// Shows the errors of keys, and of rows that do not open.
async fn wrong_keys(store: &SqliteStore, sinks: &mut Sinks) {
    let (new, old) = (line("new", &KEY), line("old", &OLD_KEY));
    let (digits, _) = new.split_at(40);
    for text in [
        digits,
        &new[4..],
        &format!("{new}\n{new}"),
        &format!("{new}0"),
        &new.replace(':', ""),
        &format!("x{old}\n{}:{}", &new[4..], &old[4..]),
    ] {
        sinks.error("keys", &Keyring::parse(text).expect_err("refused"));
    }
    for keys in [
        Keyring::none(),
        Keyring::parse(&old).expect("a key"),
        Keyring::parse(&line("new", &OLD_KEY)).expect("a key"),
    ] {
        let agents = Agents::builder(store.clone())
            .keys(keys)
            .build()
            .expect("sound");
        let loaded = agents.executor("fine").load().await.expect("loads");
        assert_eq!(loaded.failures().len(), 1);
        sinks.error("keys", &loaded.failures()[0]);
        let connected = agents.connect("fine", "vault", Tokens::new(ACCESS)).await;
        sinks.error(
            "connecting",
            &connected.expect_err("the secrets do not open"),
        );
    }
}

/// Shows clients and grants.
async fn grants(agents: &Agents, sinks: &mut Sinks) {
    let clients = OAuth2Clients::new().client(
        "provider",
        OAuth2Client::new("id", "https://app.example/cb").secret(CLIENT),
    );
    sinks.debug("clients", &clients);
    let begun = clients.begin(agents, "fine", "vault").await.expect("begun");
    sinks.debug("authorisations", &begun);
    sinks.add("authorisation URLs", &begun.url);
    sinks.debug("callbacks", &Callback::new(ACCESS, begun.state.clone()));
    for query in [
        format!("code={ACCESS}&state=x"),
        format!("code={ACCESS}&code={REFRESH}"),
        format!("state={REFRESH}"),
    ] {
        let error: OAuth2Error = clients
            .complete(agents, "fine", query)
            .await
            .expect_err("no answer");
        sinks.error("grants", &error);
    }
}

// A scan that finds nothing has to be one that would.
#[tokio::test]
async fn a_secret_that_is_planted_is_found_in_every_form() {
    let canaries = canaries();
    for (planted, expected) in [
        (
            format!("a line of a log with {API_KEY} in it"),
            "the API key",
        ),
        (format!("{PASSWORD:?}"), "the password"),
        (json!({"text": PASSWORD}).to_string(), "the password"),
        (line("new", &KEY), "the key"),
        (line("new", &KEY).to_uppercase(), "the key"),
        (
            base64::Engine::encode(&base64::engine::general_purpose::STANDARD, CLIENT),
            "the client's secret",
        ),
    ] {
        assert_eq!(canaries.found(planted.as_bytes()), [expected], "{planted}");
    }
    // In the raw bytes of the store's file, where a careless toolset keeps it in its settings.
    let folder = tempfile::tempdir().expect("a folder");
    let store = SqliteStore::open(folder.path().join("agents.db"))
        .await
        .expect("opens");
    let agents = Agents::builder(store).keys(keys()).build().expect("sound");
    let draft = agents
        .add("careless", "vault")
        .config(json!({"way": API_KEY}))
        .secrets(secrets());
    draft.save().await.expect("saved");
    let mut sinks = Sinks::default();
    sinks.files("on the disk", folder.path());
    let (found, ..) = sinks.scan(&canaries);
    assert!(
        !found.is_empty() && found.iter().all(|(_, found)| found == &["the API key"]),
        "{found:?}"
    );
}
