//! The number of round trips to the server.

use crate::conformance::Redis;
use futures_core::Stream;
use redis::AsyncCommands;
use std::future::poll_fn;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::Mutex;
use tool_core::Mode;
use tool_core::session::{
    ApprovalRequest, CapScope, Charge, GrantRequest, GrantVerdict, Message, Policy, StateChange,
};
use tool_core::testing::history::driver::{append, key, load, said, said_each};
use tool_core::testing::store::StoreUnderTest;
use tool_core::testing::store::driver::{
    HOUR, TestCall, answered, approvals_of, entry, given, open, opening, settlement, waiting,
};
use tool_core::trace::Cost;

/// Forgetting all scripts makes every store ask twice: not while trips are counted.
static SCRIPTS: Mutex<()> = Mutex::const_new(());

fn client(redis: &Redis) -> redis::Client {
    redis::Client::open(redis.url.as_str()).expect("a URL")
}

/// Returns the commands of this prefix while `what` runs, without those of scripts.
async fn asked(redis: &Redis, what: impl AsyncFnOnce()) -> Vec<String> {
    let mut commands = commands(redis, what).await;
    commands.retain(|command| !command.contains(" lua]"));
    commands
}

/// Returns the commands of this prefix while `what` runs, with those of scripts.
async fn commands(redis: &Redis, what: impl AsyncFnOnce()) -> Vec<String> {
    let client = client(redis);
    let monitor = client
        .get_async_monitor()
        .await
        .expect("the server answers");
    what().await;
    let end = format!("{} is done", redis.prefix);
    let mut connection = client
        .get_multiplexed_async_connection()
        .await
        .expect("the server answers");
    let _: String = redis::cmd("ECHO")
        .arg(&end)
        .query_async(&mut connection)
        .await
        .expect("an echo");
    let mut lines = pin!(monitor.into_on_message::<String>());
    let mut asked = Vec::new();
    while let Some(line) = poll_fn(|cx| lines.as_mut().poll_next(cx)).await {
        if line.contains(&end) {
            break;
        }
        if line.contains(&redis.prefix) {
            asked.push(line);
        }
    }
    asked
}

#[tokio::test]
async fn admit_settle_and_end_turn_take_one_round_trip_each() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let _alone = SCRIPTS.lock().await;
    let store = redis.handle().await;
    let session = open(&store, &opening("session", Mode::Voice))
        .await
        .expect("the session opens");
    let call = TestCall::within(|limits| (limits.max_calls, limits.repeated) = (Some(2), Some(3)));
    let use_all = async || {
        assert!(session.passes(&call).await);
        session
            .settle(settlement(
                &[StateChange::AudioSuppressed(true)],
                &[entry(1)],
            ))
            .await;
        assert!(session.next_turn().await.is_some());
        assert!(session.passes(&call.clone().with(Charge::Approved)).await);
        session.refresh().await;
    };
    // The first time loads the scripts.
    use_all().await;
    let asked = asked(&redis, use_all).await;
    assert_eq!(asked.len(), 5, "{asked:#?}");
    assert!(
        asked.iter().all(|line| line.contains("\"EVALSHA\"")),
        "{asked:#?}"
    );
}

/// The list of the principal's calls may be on another server than the session.
#[tokio::test]
async fn an_approval_is_listed_and_kept_in_a_round_trip_each() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let _alone = SCRIPTS.lock().await;
    let store = redis.handle().await;
    let session = open(&store, &opening("session", Mode::Voice))
        .await
        .expect("the session opens");
    let ask_and_take = async || {
        session.mint(&waiting(1), HOUR).await;
        assert!(session.consume(&waiting(1).id).await);
    };
    ask_and_take().await;
    let asked = asked(&redis, ask_and_take).await;
    assert_eq!(asked.len(), 4, "{asked:#?}");
}

/// One answer would have to come in the time limit of a request, and others would wait behind it.
#[tokio::test]
async fn a_large_conversation_is_loaded_in_parts() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let _alone = SCRIPTS.lock().await;
    let store = redis.handle().await;
    let mut messages = said_each(0..300);
    for letter in ["a", "b", "c", "d"] {
        messages.push(Message::user(letter.repeat(3 << 20)));
    }
    messages.extend(said_each(300..305));
    append(&store, &key("large"), 0, &messages).await;
    append(&store, &key("small"), 0, &said_each(0..300)).await;
    assert_eq!(load(&store, &key("large")).await.messages, messages);

    let parts = asked(&redis, async || {
        load(&store, &key("large")).await;
    });
    let parts = parts.await.len();
    assert!((4..=6).contains(&parts), "{parts}");
    let parts = asked(&redis, async || {
        load(&store, &key("small")).await;
    });
    assert_eq!(parts.await.len(), 1);
}

/// The server copies the messages of a read before the script knows their size.
#[tokio::test]
async fn a_load_reads_few_messages_at_a_time() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let _alone = SCRIPTS.lock().await;
    let store = redis.handle().await;
    append(&store, &key("chat"), 0, &said_each(0..100)).await;
    let mut ran = commands(&redis, async || {
        load(&store, &key("chat")).await;
    })
    .await;
    ran.retain(|command| command.contains("\"LRANGE\""));
    assert!(ran.len() >= 13, "{ran:#?}");
    assert!(ran.len() <= 20, "{ran:#?}");
}

#[tokio::test]
async fn joining_takes_one_round_trip_and_opening_three() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let _alone = SCRIPTS.lock().await;
    let store = redis.handle().await;
    let session = async |id: &str| {
        open(&store, &opening(id, Mode::Voice))
            .await
            .expect("the session opens")
    };
    session("to load the scripts").await;
    for trips in [3, 1, 1] {
        let asked = asked(&redis, async || drop(session("a").await)).await;
        assert_eq!(asked.len(), trips, "{asked:#?}");
    }
}

#[tokio::test]
async fn a_server_that_forgets_its_scripts_is_told_them_again() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let _alone = SCRIPTS.lock().await;
    let session = open(&redis.handle().await, &opening("session", Mode::Text))
        .await
        .expect("the session opens");
    let call = TestCall::within(|limits| limits.max_calls = Some(2));
    assert_eq!(session.pass(1, &call).await, 1);
    let mut connection = client(&redis)
        .get_multiplexed_async_connection()
        .await
        .expect("the server answers");
    let () = redis::cmd("SCRIPT")
        .arg("FLUSH")
        .query_async(&mut connection)
        .await
        .expect("it forgets");
    assert_eq!(session.pass(2, &call).await, 1);
}

/// Returns the milliseconds that each key of the prefix has to live.
async fn lifetimes(redis: &Redis) -> Vec<(String, i64)> {
    let mut connection = client(redis)
        .get_multiplexed_async_connection()
        .await
        .expect("the server answers");
    let keys: Vec<String> = connection
        .keys(format!("{}{{*", redis.prefix))
        .await
        .expect("keys");
    let mut lifetimes = Vec::new();
    for key in keys {
        let left = connection.pttl(&key).await.expect("a time to live");
        lifetimes.push((key, left));
    }
    lifetimes
}

#[tokio::test]
async fn whatever_a_session_leaves_in_the_server_expires() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let session = open(&redis.handle().await, &opening("session", Mode::Voice))
        .await
        .expect("the session opens");
    let call = TestCall::within(|limits| limits.repeated = Some(3));
    for number in 0..1100 {
        assert!(session.passes(&call.about(number.to_string())).await);
    }
    session
        .settle(settlement(
            &[StateChange::AudioSuppressed(true)],
            &[entry(1)],
        ))
        .await;
    session.mint(&waiting(1), HOUR).await;
    session.mint(&waiting(2), HOUR).await;
    let (id, grant) = (waiting(2).id, given(1));
    let granting = GrantRequest::new(&id, &grant, HOUR, 1);
    assert_eq!(session.grant(&granting).await, GrantVerdict::Granted);
    for (what, at_least, longest) in [("open", 9, HOUR.as_millis()), ("ended", 3, 60_000)] {
        let mut keys = lifetimes(&redis).await;
        // The slots outlive every session, and the list of a principal its calls.
        let outlives = |key: &str| key.ends_with("}:slots") || key.ends_with("}:asked");
        keys.retain(|(key, left)| !outlives(key) || *left <= 0);
        assert!(keys.len() == at_least, "{what}: {keys:?}");
        let expires =
            |left: i64| left > 0 && u128::try_from(left).is_ok_and(|left| left <= longest);
        assert!(
            keys.iter().all(|(_, left)| expires(*left)),
            "{what}: {keys:?}"
        );
        session.end().await;
    }
}

#[tokio::test]
async fn calls_of_expired_sessions_leave_the_list_once_read() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let store = redis.handle().await;
    for number in 0..3 {
        let mut request = opening(&format!("{number}"), Mode::Text);
        // Long enough for a call on a busy machine.
        request.idle_timeout = Duration::from_millis(500);
        let session = open(&store, &request).await.expect("the session opens");
        session.mint(&waiting(number), HOUR).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let lists = async || {
        let mut keys = lifetimes(&redis).await;
        keys.retain(|(key, _)| key.ends_with("{principal:someone}:asked"));
        keys.len()
    };
    assert_eq!(lists().await, 1, "no script runs when a session expires");
    assert_eq!(approvals_of(&store, "someone", 2).await, []);
    assert_eq!(lists().await, 0);
}

#[tokio::test]
async fn no_late_operation_leaves_a_key_that_does_not_expire() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let store = redis.handle().await;
    // Every order of six operations, of which number 3 ends the session: those after it are late.
    let mut orders = vec![vec![]];
    for operation in 0..6 {
        let inserted = |order: Vec<u8>| {
            (0..=order.len()).map(move |at| {
                let mut order = order.clone();
                order.insert(at, operation);
                order
            })
        };
        orders = orders.into_iter().flat_map(inserted).collect();
    }
    assert_eq!(orders.len(), 720);
    let policy = Policy::text().max_cost(CapScope::Principal, Some(Cost::micros(1)));
    for (number, order) in orders.iter().enumerate() {
        let mut request = opening(&number.to_string(), Mode::Voice);
        request.principal = format!("user:{number}").into();
        let opened = open(&store, &request).await;
        let session = opened.expect("the session opens");
        for operation in order.iter().chain([&3]) {
            match operation {
                0 => session.settle(settlement(&[], &[entry(1)])).await,
                1 => session.keep_call(&answered(1)).await,
                2 => drop(session.asks(&ApprovalRequest::new(&waiting(1), HOUR)).await),
                3 => drop(session.end().await),
                4 => {
                    let mut spent = settlement(&[StateChange::AudioSuppressed(true)], &[]);
                    (spent.spent.cost, spent.caps) = (Cost::micros(1), policy.caps());
                    spent.amount_id = Some(number as u128);
                    session.settle(spent).await;
                }
                _ => drop(session.turn().await),
            }
        }
    }
    let keys = lifetimes(&redis).await;
    let endless = keys
        .iter()
        .filter(|(_, left)| *left == -1)
        .collect::<Vec<_>>();
    assert!(
        keys.len() > 1_440 && endless.is_empty(),
        "{} of {}: {endless:?}",
        endless.len(),
        keys.len()
    );
}

/// The server runs as many commands for an append to a long conversation as for one to a short conversation.
#[tokio::test]
async fn an_append_costs_as_much_in_a_long_conversation() {
    let Some(redis) = Redis::on_server() else {
        return;
    };
    let _alone = SCRIPTS.lock().await;
    let store = redis.handle().await;
    append(&store, &key("short"), 0, &[said(0)]).await;
    append(&store, &key("long"), 0, &said_each(0..5_000)).await;
    let mut counts = Vec::new();
    for (id, known) in [("short", 1), ("long", 5_000)] {
        let ran = commands(&redis, async || {
            append(&store, &key(id), known, &[said(known)]).await;
        });
        counts.push(ran.await.len());
    }
    assert_eq!(counts[0], counts[1]);
    assert!(counts[0] < 15, "{counts:?}");
}
