//! T1 and T2 with secrets that are recognised by their form. They are put into arguments, configuration, errors and
//! panics, and everything that is shown of calls is searched: log lines, spans with content, metrics, sessions and
//! `Debug`.

use crate::logs::captured;
use crate::support::{block_on, count, open_policy, quiet};
use serde_json::json;
use tool_core::trace::{self, Collector};
use tool_core::{Mode, Runtime, Session, ToolCall, ToolContext, ToolError, toolset};

/// A secret that no log may show.
const CANARY: &str = "sk-canary-0123456789";

/// A line feed, a colour, a C1 control, delete, and a bidirectional override.
const FORGED: &str = "x\n ERROR forged\r\u{1b}[31m\u{9b}31m\u{7f}\u{202e}\u{0}";

/// A service whose configuration holds a secret, which its errors repeat.
struct Service {
    api_key: String,
}

#[toolset(discover = false)]
impl Service {
    /// Give back what it was given.
    #[tool]
    async fn echo(&self, password: String, #[arg(default)] note: String) -> serde_json::Value {
        json!({"token": password, "note": note, "authorization": format!("Bearer {}", self.api_key)})
    }

    /// Fail internally.
    #[tool]
    fn internal(&self) -> Result<u8, ToolError> {
        Err(ToolError::internal(format!(
            "GET https://user:{0}@host/?api_key={0}: {FORGED}",
            self.api_key
        )))
    }

    /// Fail for the model.
    #[tool]
    fn permanent(&self) -> Result<u8, ToolError> {
        Err(ToolError::permanent(format!(
            "the key {} is not known {FORGED}",
            self.api_key
        )))
    }

    /// Panic.
    #[tool]
    async fn panics(&self) -> u8 {
        panic!("provoked with {} {FORGED}", self.api_key)
    }

    /// Take a number.
    #[tool]
    fn number(&self, #[arg(range(..=9))] secret: u8) -> u8 {
        secret
    }
}

async fn exercise(session: &Session) {
    let arguments = [
        json!({"password": CANARY, "note": format!("Bearer {CANARY}")}).to_string(),
        json!({"password": CANARY, "note": format!("{FORGED} password={CANARY}")}).to_string(),
        json!({"password": [CANARY], "secret": CANARY, (CANARY): 1, (FORGED): CANARY}).to_string(),
        json!(json!({"password": CANARY}).to_string()).to_string(),
        json!({"password": CANARY.repeat(1_000), "note": "x".repeat(9_000)}).to_string(),
        format!("{{\"password\": \"{CANARY}"),
        CANARY.to_owned(),
        "{}".to_owned(),
    ];
    for name in [
        "echo",
        "internal",
        "permanent",
        "panics",
        "number",
        FORGED,
        "unheard_of",
    ] {
        for arguments in &arguments {
            session
                .call(ToolCall::new(FORGED, name, arguments.clone()))
                .await;
        }
    }
}

fn clean(sink: &str, shown: &str) {
    assert!(!shown.contains("canary"), "{sink}: {shown}");
    let invisible = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!shown.contains(invisible), "{sink}: {shown:?}");
    assert!(
        !shown.lines().any(|line| line.starts_with(" ERROR forged")),
        "{sink}: {shown}"
    );
}

// T1, T2
#[test]
fn no_sink_shows_a_secret_or_an_invisible_character() {
    quiet();
    let log = captured(|| {
        block_on(async {
            let collector = Collector::builder().content(true).build();
            let service = Service {
                api_key: CANARY.to_owned(),
            };
            let tools = ToolContext::builder().with(service).build().expect("sound");
            let policy = open_policy().repeated_calls(None).call_history(1 << 20);
            let runtime = Runtime::builder(tools.clone())
                .policy(policy)
                .build()
                .expect("sound");
            let session = runtime.session(FORGED, Mode::Text).await.expect("opens");
            collector
                .run(trace::agent("planner", exercise(&session)))
                .await;
            let bare = async {
                let ctx = tool_core::RunContext::detached();
                tools.call("echo", json!({"password": CANARY}), &ctx).await;
                tools.call("number", json!({"secret": CANARY}), &ctx).await;
                for name in ["internal", "permanent", "panics"] {
                    tools.call(name, "{}", &ctx).await;
                }
            };
            collector.run(bare).await;

            let measured = session.metrics();
            assert_eq!((measured.calls.len(), measured.total_calls), (7 * 8, 7 * 8));
            clean(
                "the session's metrics",
                &serde_json::to_string(&measured).expect("JSON"),
            );
            clean("their debug form", &format!("{measured:?}"));
            let metrics = runtime.metrics();
            clean(
                "the metrics as JSON",
                &serde_json::to_string(&metrics).expect("JSON"),
            );
            clean("the metrics as text", &metrics.prometheus());
            clean(
                "debug forms",
                &format!(
                    "{metrics:?} {runtime:?} {collector:?} {:?}",
                    session.tools()
                ),
            );
            spans(&collector);
        });
    });
    assert!(
        log.contains("tool call arguments")
            && log.contains("tool failed internally")
            && log.contains("panicked")
    );
    clean("the log", &log);
}

fn spans(collector: &Collector) {
    let report = collector.report();
    let calls = report
        .spans()
        .iter()
        .filter(|span| span.attributes().count() > 0)
        .count();
    // Five tools with eight texts each, and five calls outside the session.
    assert_eq!(calls, 5 * 8 + 5);
    for span in report.spans() {
        let own = span
            .attributes()
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()));
        clean("a span's content", &own.collect::<String>());
        clean(
            "a span's error",
            span.error()
                .and_then(|error| error.message.as_deref())
                .unwrap_or_default(),
        );
        clean("a span", &format!("{span:?} {}", span.label()));
    }
}

// T12
#[test]
fn invented_names_share_one_metric_series() {
    let count = count();
    block_on(async {
        let service = Service {
            api_key: CANARY.to_owned(),
        };
        let tools = ToolContext::builder().with(service).build().expect("sound");
        let runtime = Runtime::builder(tools)
            .policy(open_policy())
            .build()
            .expect("sound");
        let session = runtime.session("s", Mode::Text).await.expect("opens");
        for n in 0..count {
            session
                .call(ToolCall::new(n.to_string(), format!("invented_{n}"), "{}"))
                .await;
        }
        for name in ["echo", "internal", "permanent", "panics", "number"] {
            session.call(ToolCall::new("c", name, "[]")).await;
        }
        let metrics = runtime.metrics();
        assert_eq!(metrics.tools.len(), 5 + 1);
        assert_eq!(metrics.tools["unknown"].calls, u64::from(count));
        let text = metrics.prometheus();
        assert_eq!(
            text.lines()
                .filter(|line| line.starts_with("tool_calls_total{"))
                .count(),
            5 + 1
        );
        assert!(!text.contains("invented"));
    });
}
