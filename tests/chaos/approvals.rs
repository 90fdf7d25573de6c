//! T3: a token that does not belong to exactly this call runs nothing.

use crate::later::LaterStore;
use crate::support::{block_on, call, kind, on_threads, open_policy, tools};
use serde_json::json;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::task::JoinSet;
use tool_core::session::{OpenError, PendingCall};
use tool_core::{ErrorKind, Mode, Runtime, Session, ToolContext, toolset};

#[derive(Clone, Default)]
struct Bank(Arc<AtomicUsize>);

#[toolset(discover = false)]
impl Bank {
    /// Send money.
    #[tool(category = "action", confirm)]
    fn pay(&self, to: &str, amount: u32) -> String {
        self.0.fetch_add(1, Ordering::SeqCst);
        format!("{amount} to {to}")
    }

    /// Count.
    #[tool]
    fn count(&self, n: u32) -> u32 {
        n
    }
}

impl Bank {
    fn paid(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

const KEY: [u8; 32] = [7; 32];

fn bank_runtime(bank: &Bank, store: Arc<LaterStore>) -> Runtime {
    let builder = Runtime::builder(tools(bank.clone()))
        .policy(open_policy())
        .store(store);
    builder.signing_key(KEY).build().expect("sound")
}

async fn opened(runtime: &Runtime, id: &str, principal: &str) -> Session {
    runtime
        .session(id, Mode::Text)
        .principal(principal)
        .await
        .expect("opens")
}

async fn asked(session: &Session, amount: u32) -> String {
    let response = session
        .call(call(amount, "pay", json!({"to": "me", "amount": amount})))
        .await;
    assert_eq!(kind(&response), ErrorKind::ConfirmationRequired);
    response
        .meta()
        .confirmation()
        .expect("a token")
        .token
        .clone()
}

async fn runs_nothing(session: &Session, token: &str, bank: &Bank) {
    let response = session.approve(token).await;
    assert_eq!(kind(&response), ErrorKind::NotFound, "{token}: {response}");
    assert_eq!(bank.paid(), 0, "{token}");
}

/// Returns every token that is one change away from `token`, and many more.
fn mutants(token: &str, other: &str) -> HashSet<String> {
    let bytes = token.as_bytes();
    let mut mutants = HashSet::new();
    for at in 0..bytes.len() {
        for byte in 0..=127_u8 {
            let mut changed = bytes.to_vec();
            changed[at] = byte;
            mutants.insert(String::from_utf8(changed).expect("ASCII"));
        }
        let (head, tail) = token.split_at(at);
        mutants.extend([
            head.to_owned(),
            tail.to_owned(),
            format!("{head}{}", &tail[1..]),
            format!("{tail}{head}"),
        ]);
        mutants.extend([
            format!("{head}0{tail}"),
            format!("{head}\u{0}{tail}"),
            format!("{head}ü{}", &tail[1..]),
        ]);
        mutants.insert(format!("{head}{}", &other[at..]));
        mutants.insert(format!("{}{tail}", &other[..at]));
    }
    mutants.extend([
        token.to_uppercase(),
        format!(" {token}"),
        format!("{token}\n"),
        token.repeat(2),
    ]);
    mutants.remove(token);
    mutants.remove(other);
    mutants
}

// T3: every byte flipped, and 10,000 mutants
#[test]
fn none_of_10_000_mutated_tokens_runs_a_call() {
    let bank = Bank::default();
    block_on(async {
        let runtime = bank_runtime(&bank, Arc::default());
        let session = opened(&runtime, "s", "user:1").await;
        let (token, other) = (asked(&session, 1).await, asked(&session, 2).await);
        let mutants = mutants(&token, &other);
        assert!(mutants.len() >= 10_000, "{}", mutants.len());
        for mutant in &mutants {
            runs_nothing(&session, mutant, &bank).await;
            assert_eq!(kind(&session.deny(mutant).await), ErrorKind::NotFound);
        }
        assert!(
            session.approve(&token).await.is_ok(),
            "the right one was left alone"
        );
        assert!(session.approve(&other).await.is_ok());
        assert_eq!(bank.paid(), 2);
    });
}

// R-C2, T3: every field swapped
#[test]
fn pending_call_altered_in_the_store_does_not_run() {
    let changes: [fn(&mut PendingCall, u32); 15] = [
        |call, n| call.id = format!("{n:032x}"),
        |call, n| call.principal = format!("user:{}", n + 2),
        |call, n| call.agent = format!("bob-{n}"),
        |call, n| call.session = format!("t{n}"),
        |call, _| call.mode = Mode::Voice,
        |call, n| call.turn += u64::from(n) + 1,
        |call, n| call.version = n.to_string(),
        |call, n| call.settings = n.to_string(),
        |call, n| call.call_id = format!("other {n}"),
        |call, n| call.tool = format!("count{n}"),
        |call, n| call.arguments = format!(r#"{{"amount":{},"to":"me"}}"#, n + 1_000_000),
        |call, n| call.arguments.push_str(&" ".repeat(1 + n as usize)),
        |call, n| call.expires_at += u64::from(n) + 1,
        |call, n| call.reasons[0].text = format!("it asks {n}"),
        |call, _| call.reasons.clear(),
    ];
    let (bank, store) = (Bank::default(), Arc::<LaterStore>::default());
    block_on(async {
        let runtime = bank_runtime(&bank, Arc::clone(&store));
        let session = opened(&runtime, "s", "user:1").await;
        let token = asked(&session, 1).await;
        for (n, change) in (0..100).flat_map(|n| changes.map(|change| (n, change))) {
            *store.tamper.lock().expect("sound") = Some((change, n));
            runs_nothing(&session, &token, &bank).await;
        }
        *store.tamper.lock().expect("sound") = None;
        assert!(session.approve(&token).await.is_ok(), "unchanged it runs");
    });
}

// R-C2: bound to principal, session, tools and key
#[test]
fn token_is_refused_for_another_session_or_principal() {
    let bank = Bank::default();
    block_on(async {
        let runtime = bank_runtime(&bank, Arc::default());
        let session = opened(&runtime, "s", "user:1").await;
        let token = asked(&session, 1).await;
        runs_nothing(&opened(&runtime, "t", "user:1").await, &token, &bank).await;
        runs_nothing(&opened(&runtime, "u", "user:2").await, &token, &bank).await;

        // Another runtime over the same store represents another process.
        let store = Arc::<LaterStore>::default();
        let first = bank_runtime(&bank, Arc::clone(&store));
        let token = asked(&opened(&first, "s", "user:1").await, 1).await;
        let elsewhere = bank_runtime(&bank, Arc::clone(&store));
        let stranger = elsewhere.session("s", Mode::Text).principal("user:2").await;
        assert_eq!(
            stranger.err(),
            Some(OpenError::OtherPrincipal { id: "s".into() })
        );
        let builder = Runtime::builder(tools(bank.clone()))
            .policy(open_policy())
            .store(Arc::clone(&store));
        let other_key = builder.signing_key([8; 32]).build().expect("sound");
        runs_nothing(&opened(&other_key, "s", "user:1").await, &token, &bank).await;
        let fewer = ToolContext::builder()
            .with(tool_core::ToolsetExt::filtered(bank.clone(), |tool| {
                tool.name() == "pay"
            }));
        let builder = Runtime::builder(fewer.build().expect("sound"))
            .policy(open_policy())
            .store(Arc::clone(&store));
        let other_tools = builder.signing_key(KEY).build().expect("sound");
        let other_tools = opened(&other_tools, "s", "user:1").await;
        let response = other_tools.approve(&token).await;
        assert_eq!(kind(&response), ErrorKind::Conflict, "{response}");
        assert_eq!(bank.paid(), 0, "the person has seen other tools");

        let twin = opened(&bank_runtime(&bank, store), "s", "user:1").await;
        assert!(
            twin.approve(&token).await.is_ok(),
            "R-C3: resumed in another process"
        );
    });
}

// R-C2, T3
#[test]
fn one_of_64_concurrent_redemptions_runs() {
    for waits in [0, 1] {
        let bank = Bank::default();
        on_threads(async {
            let runtime = bank_runtime(&bank, Arc::new(LaterStore::waiting(waits, waits)));
            let session = opened(&runtime, "s", "user:1").await;
            let token: Arc<str> = asked(&session, 1).await.into();
            let mut racers = JoinSet::new();
            for _ in 0..64 {
                let (session, token) = (session.clone(), Arc::clone(&token));
                racers.spawn(async move { session.approve(&token).await });
            }
            let answers = racers.join_all().await;
            assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
            assert!(
                answers
                    .iter()
                    .filter(|answer| !answer.is_ok())
                    .all(|no| kind(no) == ErrorKind::NotFound)
            );
            assert_eq!(bank.paid(), 1);
        });
    }
}

// R-C2: approved or denied, never both
#[test]
fn one_of_concurrent_approvals_and_denials_counts() {
    for round in 0..50 {
        let bank = Bank::default();
        on_threads(async {
            let runtime = bank_runtime(&bank, Arc::default());
            let session = opened(&runtime, "s", "user:1").await;
            let token = asked(&session, round).await;
            let (yes, no) = (session.clone(), session.clone());
            let (approved, denied) = (token.clone(), token);
            let approved = tokio::spawn(async move { yes.approve(&approved).await });
            let denied = tokio::spawn(async move { no.deny(&denied).await });
            let (approved, denied) = (approved.await.expect("runs"), denied.await.expect("runs"));
            assert_eq!(
                approved.is_ok(),
                kind(&denied) == ErrorKind::NotFound,
                "{approved} {denied}"
            );
            assert_eq!(bank.paid(), usize::from(approved.is_ok()));
        });
    }
}

// R-C1, T3: the store's time decides, whatever `expires_at` says
#[test]
fn expired_approval_runs_nothing() {
    let bank = Bank::default();
    block_on(async {
        let policy = open_policy().confirmation_lifetime(std::time::Duration::ZERO);
        let runtime = crate::support::runtime(tools(bank.clone()), policy).expect("sound");
        let session = opened(&runtime, "s", "user:1").await;
        let token = asked(&session, 1).await;
        runs_nothing(&session, &token, &bank).await;
    });
}
