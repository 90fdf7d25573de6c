//! T1: canaries are put wherever secrets may be, and every sink is searched.

use crate::logs::captured;
use crate::support::{block_on, call, kind, open_policy, quiet};
use serde_json::{Value, json};
use tool_core::call::ResultForm;
use tool_core::session::{
    Hook, HookFuture, HookedCall, Journal, JournalEntry, JournalError, JournalStart, RecoveredCall,
};
use tool_core::{
    Category, ErrorKind, FunctionTool, Mode, RawTool, RunContext, Runtime, Session, ToolCall,
    ToolContext, ToolError, ToolResponse, tool, toolset,
};

const CANARY: &str = "canary";

#[derive(Debug)]
struct Secret(#[allow(dead_code)] &'static str);

#[derive(Debug)]
struct Foreign;

impl std::fmt::Display for Foreign {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("canary of a foreign error")
    }
}

impl std::error::Error for Foreign {}

struct Leaky;

#[toolset(discover = false)]
impl Leaky {
    /// Act on a secret.
    #[tool(category = "action")]
    fn acts(&self, password: &str) -> u8 {
        _ = password;
        1
    }

    /// Fail with an error of another crate.
    #[tool]
    fn foreign(&self) -> Result<u8, Foreign> {
        Err(Foreign)
    }

    /// Fail with an error of anyhow.
    #[tool]
    async fn anyhow(&self) -> anyhow::Result<u8> {
        Err(anyhow::anyhow!("canary").context("canary of a context"))
    }

    /// Fail internally.
    #[tool]
    fn internal(&self) -> Result<u8, ToolError> {
        Err(ToolError::internal("canary of an internal error"))
    }

    /// Panic.
    #[tool]
    fn panics(&self) -> u8 {
        panic!("provoked canary")
    }

    /// Panic later.
    #[tool]
    async fn panics_later(&self) -> u8 {
        crate::support::pause().await;
        panic!("provoked canary")
    }

    /// Panic on the pool.
    #[tool(blocking)]
    fn panics_aside(&self) -> u8 {
        panic!("provoked canary")
    }

    /// Need what is not there.
    #[tool]
    fn needs(&self, #[context] missing: tool_core::UserData<String>) -> String {
        missing.to_string()
    }

    /// Wait for ever.
    #[tool(timeout = "20ms")]
    async fn hangs(&self, password: &str) -> u8 {
        _ = password;
        std::future::pending().await
    }

    /// Take a secret of a form.
    #[tool(category = "retrieval")]
    async fn takes(
        &self,
        ctx: &RunContext,
        #[arg(length(..=40), pattern = "^[a-z -]*$")] password: &str,
        #[arg(default, range(..=9))] n: u8,
        #[arg(default, one_of("a", "b"))] which: Option<String>,
    ) -> Vec<u8> {
        _ = (password, n, which, format!("{ctx:?}").len());
        assert!(!format!("{ctx:?}").contains(CANARY), "{ctx:?}");
        Vec::new()
    }

    /// Wait for a person.
    #[tool(confirm)]
    fn asks(&self, password: &str) -> u8 {
        _ = password;
        1
    }
}

fn leaky() -> ToolContext {
    let declared = RawTool {
        name: "raw".into(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    };
    let raw = FunctionTool::raw(declared, async |_: Value, _: &RunContext| {
        Ok(json!("canary of a wrong result"))
    });
    let raw = raw.output_schema(json!({"type": "integer"}));
    ToolContext::builder()
        .with(Leaky)
        .with(raw)
        .build()
        .expect("sound")
}

async fn opened(runtime: &Runtime) -> Session {
    runtime
        .session("s", Mode::Text)
        .user_data(Secret("canary of user data"))
        .await
        .expect("opens")
}

/// Checks that neither the model's text nor the host's log contains a canary.
fn is_clean(response: &ToolResponse) {
    for form in [ResultForm::Plain, ResultForm::Envelope] {
        let text = response.for_model(form).text;
        assert!(!text.contains(CANARY), "{text}");
    }
}

fn shows_nothing(runtime: &Runtime, session: &Session) {
    let shown = format!("{runtime:?} {session:?} {:?}", session.tools());
    assert!(!shown.contains(CANARY), "{shown}");
}

// T1: panics, foreign errors, internal errors, user data
#[test]
fn failures_inside_a_tool_are_masked() {
    quiet();
    block_on(async {
        let runtime = Runtime::builder(leaky())
            .policy(open_policy())
            .build()
            .expect("sound");
        let session = opened(&runtime).await;
        for name in [
            "foreign",
            "anyhow",
            "internal",
            "panics",
            "panics_later",
            "panics_aside",
            "raw",
            "needs",
        ] {
            let response = session.call(call(name, name, json!({}))).await;
            assert_eq!(kind(&response), ErrorKind::Internal, "{response}");
            is_clean(&response);
            assert!(
                !response.to_json().contains(CANARY) && !format!("{response:?}").contains(CANARY),
                "{response}"
            );
        }
        shows_nothing(&runtime, &session);
    });
}

// T1: a VALIDATION error shows the model its own values only
#[test]
fn only_validation_errors_repeat_argument_values() {
    let logged = captured(|| {
        block_on(async {
            let policy = open_policy()
                .max_empty_results(Some(2))
                .category_budget(Category::Action, Some(0));
            let runtime = Runtime::builder(leaky())
                .policy(policy.max_calls(Some(8)))
                .build()
                .expect("sound");
            let session = opened(&runtime).await;
            let mut kinds = Vec::new();
            for (tool, arguments) in [
                ("takes", json!({"password": "canary", "n": 10})),
                ("takes", json!({"password": "canary", "n": "canary"})),
                ("takes", json!({"password": "canary", "which": "canary"})),
                (
                    "takes",
                    json!({"password": "a canary that is far too long for what it is meant to be"}),
                ),
                ("takes", json!({"password": "CANARY canary"})),
                ("takes", json!({"password": ["canary"]})),
                ("takes", json!({"password": {"secret": "canary"}})),
                ("takes", json!("canary")),
                ("takes", json!(["canary"])),
                ("takes", json!({"password": "canary a"})),
                ("takes", json!({"password": "canary b"})),
                ("takes", json!({"password": "canary c"})),
                ("hangs", json!({"password": "canary"})),
                ("hangs", json!({"password": "canary"})),
                ("hangs", json!({"password": "canary"})),
                ("asks", json!({"password": "canary"})),
                ("acts", json!({"password": "canary"})),
                ("nothing", json!({"password": "canary"})),
            ] {
                let response = session.call(call("c", tool, arguments)).await;
                let kind = response.error().map(|error| error.kind);
                kinds.extend(kind);
                if kind != Some(ErrorKind::Validation) {
                    is_clean(&response);
                }
            }
            let broken = session
                .call(ToolCall::new("c", "takes", r#"{"password": "canary"#))
                .await;
            is_clean(&broken);
            for kind in [
                ErrorKind::Validation,
                ErrorKind::LoopDetected,
                ErrorKind::Timeout,
                ErrorKind::NotFound,
            ] {
                assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
            }
            for kind in [ErrorKind::ConfirmationRequired, ErrorKind::BudgetExceeded] {
                assert!(kinds.contains(&kind), "{kind}: {kinds:?}");
            }
            shows_nothing(&runtime, &session);
        });
    });
    // R-M2: the debug log shows arguments, but not those with the name of a secret.
    let (arguments, others): (Vec<_>, Vec<_>) = logged
        .lines()
        .partition(|line| line.contains("tool call arguments"));
    assert!(others.iter().all(|line| !line.contains(CANARY)), "{logged}");
    let passwords = arguments
        .iter()
        .filter(|line| line.contains("password"))
        .collect::<Vec<_>>();
    assert!(
        passwords.len() >= 12
            && passwords
                .iter()
                .all(|line| line.contains(r#"password\":\"[redacted]\""#)),
        "{passwords:?}"
    );
}

// R-C1, T1: the holder of the token may approve
#[test]
fn approval_token_is_in_no_model_text_and_no_log() {
    let mut token = String::new();
    let logged = captured(|| {
        block_on(async {
            let runtime = Runtime::builder(leaky())
                .policy(open_policy())
                .build()
                .expect("sound");
            let session = opened(&runtime).await;
            let response = session
                .call(call("c", "asks", json!({"password": "canary"})))
                .await;
            token.clone_from(&response.meta().confirmation().expect("asked").token);
            let (id, proof) = token.split_once('.').expect("a token");
            for form in [ResultForm::Plain, ResultForm::Envelope] {
                let text = response.for_model(form).text;
                assert!(!text.contains(id) && !text.contains(proof), "{text}");
            }
            shows_nothing(&runtime, &session);
            is_clean(&session.deny(&token).await);
            is_clean(&session.approve(&token).await);
        });
    });
    assert!(
        !logged.contains(&token[..32]) && !logged.contains(&token[33..]),
        "{logged}"
    );
}

/// A hook and a journal that fail or panic with a secret in their message.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    Before,
    PanicBefore,
    PanicAround,
    PanicAfter,
    Journal,
}

impl Hook for Fault {
    fn before<'a>(&'a self, _: &'a HookedCall<'a>) -> HookFuture<'a, Result<(), ToolError>> {
        assert!(*self != Self::PanicBefore, "provoked canary");
        let fails = *self == Self::Before;
        Box::pin(async move {
            if fails {
                Err(ToolError::internal("canary of a hook"))
            } else {
                Ok(())
            }
        })
    }

    fn around<'a>(
        &'a self,
        _: &'a HookedCall<'a>,
        next: tool_core::session::Next<'a>,
    ) -> HookFuture<'a, ToolResponse> {
        assert!(*self != Self::PanicAround, "provoked canary");
        next.run()
    }

    fn after<'a>(&'a self, _: &'a HookedCall<'a>, _: &'a mut ToolResponse) -> HookFuture<'a, ()> {
        assert!(*self != Self::PanicAfter, "provoked canary");
        Box::pin(std::future::ready(()))
    }
}

impl Journal for Fault {
    async fn started(&self, _: &JournalEntry) -> Result<JournalStart, JournalError> {
        if *self == Self::Journal {
            Err(JournalError::new("canary of a journal"))
        } else {
            Ok(JournalStart::Recorded)
        }
    }

    async fn finished(&self, _: &str, _: &str, _: &str) -> Result<(), JournalError> {
        Err(JournalError::new("canary of a journal"))
    }

    async fn recover(&self, _: &str) -> Result<Vec<RecoveredCall>, JournalError> {
        Ok(Vec::new())
    }

    async fn forget(&self, _: &str) -> Result<(), JournalError> {
        Err(JournalError::new("canary of a journal"))
    }
}

/// Answer.
#[tool]
fn answers() -> u8 {
    1
}

// T1, R-E2: errors of hooks and journals
#[test]
fn failures_in_host_code_are_masked() {
    quiet();
    block_on(async {
        for (fault, expected) in [
            (Fault::Before, Some(ErrorKind::Internal)),
            (Fault::PanicBefore, Some(ErrorKind::Internal)),
            (Fault::PanicAround, Some(ErrorKind::Internal)),
            (Fault::PanicAfter, None),
            (Fault::Journal, Some(ErrorKind::Transient)),
        ] {
            let builder = Runtime::builder(crate::support::tools(answers)).policy(open_policy());
            let runtime = builder.hook(fault).journal(fault).build().expect("sound");
            let session = opened(&runtime).await;
            let response = session.call(call("c", "answers", json!({}))).await;
            assert_eq!(
                response.error().map(|error| error.kind),
                expected,
                "{response}"
            );
            is_clean(&response);
            assert!(!response.to_json().contains(CANARY), "{response}");
            session.end().await;
        }
    });
}
