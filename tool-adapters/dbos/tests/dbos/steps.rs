//! The steps of workflows of one's own, and what becomes of those that fail.

use crate::remind::remind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, UNIX_EPOCH};
use tokio::time::timeout;
use tool_adapters::dbos::sdk::{self as dbos, Client, ClientConfig, Config, DBOS, EngineOnly};
use tool_adapters::dbos::{Conversations, Retries, with_steps};
use tool_core::ToolError;
use tool_core::session::{Decision, DurableSteps};
use tool_core::testing::skip;

pub(crate) const LIMIT: Duration = Duration::from_secs(90);

/// Returns the configuration of an application of its own. Skips the test without a database.
pub(crate) fn config() -> Option<Config> {
    let url = std::env::var("POSTGRES_URL").ok();
    let Some(url) = url.filter(|url| !url.is_empty()) else {
        skip("POSTGRES_URL names no database");
        return None;
    };
    let since = UNIX_EPOCH.elapsed().expect("a time after 1970");
    let app = format!("steps-{}", since.as_nanos());
    Some(Config {
        app_version: Some(format!("{app}-1")),
        outcome_poll_interval: Some(Duration::from_millis(50)),
        ..Config::new(app, url)
    })
}

/// Runs a function with the steps of a workflow, and returns its result.
async fn run<F, R>(engine: &DBOS, id: &str, function: F) -> dbos::Result<String>
where
    F: Fn(Arc<dyn DurableSteps>) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = dbos::Result<String>> + Send + 'static,
{
    let retries = Retries::new(engine.config());
    let workflow = engine.register_workflow("own", move |()| {
        let retries = retries.clone();
        let function = function.clone();
        async move { with_steps(&retries, function).await }
    })?;
    engine.launch().await?;
    let options = dbos::StartOptions {
        workflow_id: Some(id),
        ..Default::default()
    };
    workflow.start_with((), options).await?;
    // Not the handle of this run, which may be interrupted.
    let handle = engine.retrieve_workflow(id)?;
    let result = timeout(LIMIT, handle.result()).await;
    result.expect("it ends in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_a_sleep_the_time_and_an_id_come_from_the_engine() {
    let Some(config) = config() else { return };
    let id = format!("{}/own", config.app_name);
    let engine = DBOS::new(config);
    let result = run(&engine, &id, |steps| async move {
        Ok(remind(&*steps)
            .await
            .unwrap_or_else(|error| error.to_string()))
    });
    assert_eq!(result.await.expect("a result"), "None true true");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_fails_runs_again_and_the_others_do_not() {
    let Some(config) = config() else { return };
    let id = format!("{}/own", config.app_name);
    let engine = DBOS::new(config);
    let effects = Arc::new(AtomicUsize::new(0));
    let attempts = Arc::new(AtomicUsize::new(0));
    let counters = [Arc::clone(&effects), Arc::clone(&attempts)];
    let result = run(&engine, &id, move |steps| {
        let [effects, attempts] = counters.clone();
        async move {
            let effect = async {
                // It is still running when the other step fails.
                tokio::time::sleep(Duration::from_millis(100)).await;
                effects.fetch_add(1, Ordering::SeqCst);
                Ok("paid".to_owned())
            };
            let failing = async {
                match attempts.fetch_add(1, Ordering::SeqCst) {
                    0 | 1 => Err(ToolError::transient("not yet")),
                    _ => Ok("told".to_owned()),
                }
            };
            let both = futures_util::future::join(
                steps.step("pay", Box::pin(effect)),
                steps.step("tell", Box::pin(failing)),
            );
            let (paid, told) = both.await;
            Ok(format!(
                "{} {}",
                paid.unwrap_or_default(),
                told.unwrap_or_default()
            ))
        }
    });
    assert_eq!(result.await.expect("a result"), "paid told");
    assert_eq!(attempts.load(Ordering::SeqCst), 3);
    assert_eq!(effects.load(Ordering::SeqCst), 1, "a step that ran ends");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_run_at_once_and_return_in_their_order() {
    let Some(config) = config() else { return };
    let id = format!("{}/own", config.app_name);
    let engine = DBOS::new(config);
    let result = run(&engine, &id, |steps| async move {
        let ended = std::sync::Mutex::new(Vec::new());
        let (meet, second_runs) = tokio::sync::oneshot::channel();
        let first = async {
            // It waits for the second one, which runs at the same time.
            let work = async {
                second_runs
                    .await
                    .map_err(|_| ToolError::internal("it is alone"))
            };
            let first = steps.step("first", Box::pin(work)).await;
            ended
                .lock()
                .expect("no panic")
                .push(first.unwrap_or_default());
        };
        let second = async {
            let work = async {
                let _ = meet.send("first".to_owned());
                Ok("second".to_owned())
            };
            let second = steps.step("second", Box::pin(work)).await;
            ended
                .lock()
                .expect("no panic")
                .push(second.unwrap_or_default());
        };
        futures_util::future::join(first, second).await;
        Ok(ended.into_inner().expect("no panic").join(" "))
    });
    assert_eq!(result.await.expect("a result"), "first second");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_on_another_task_is_refused() {
    let Some(config) = config() else { return };
    let id = format!("{}/own", config.app_name);
    let engine = DBOS::new(config);
    let result = run(&engine, &id, |steps| async move {
        let step = async move {
            steps
                .step("lost", Box::pin(async { Ok(String::new()) }))
                .await
        };
        let refused = tokio::spawn(step).await.expect("it ends");
        Ok(refused.expect_err("it is refused").to_string())
    });
    let result = result.await.expect("a result");
    assert!(result.contains("on the task of its workflow"), "{result}");
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_workflow_ends_and_does_not_run_again() {
    let Some(config) = config() else { return };
    let id = format!("{}/own", config.app_name);
    let engine = DBOS::new(config);
    let runs = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&runs);
    let cancelled = async {
        while runs.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        engine.cancel(&id).await
    };
    let result = run(&engine, &id, move |steps| {
        let counter = Arc::clone(&counter);
        async move {
            counter.fetch_add(1, Ordering::SeqCst);
            loop {
                let slept = steps.sleep(Duration::from_millis(50)).await;
                if let Err(error) = slept {
                    return Ok(error.to_string());
                }
            }
        }
    });
    let (result, cancelled) = futures_util::future::join(result, cancelled).await;
    cancelled.expect("it is cancelled");
    result.expect_err("it has no result");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_on_a_conversation_at_rest_is_refused() {
    let Some(config) = config() else { return };
    let engine = DBOS::new(config.clone());
    engine.launch().await.expect("the tables are created");
    let client = ClientConfig {
        app_name: Some(config.app_name.clone()),
        ..ClientConfig::new(&config.database_url)
    };
    let conversations = Conversations::connect(client).await.expect("it connects");
    let decision = Decision::approve("token");
    let refused = conversations.decide("chat-42", &decision).await;
    let refused: dbos::Error<EngineOnly> = refused.expect_err("nothing waits");
    assert!(
        refused.to_string().contains("answers no message"),
        "{refused}"
    );
    engine.shutdown().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_attempt_is_not_taken_for_the_failed_one() {
    let Some(config) = config() else { return };
    let id = format!("{}/own", config.app_name);
    let client = ClientConfig {
        app_name: Some(config.app_name.clone()),
        ..ClientConfig::new(&config.database_url)
    };
    let engine = DBOS::new(config);
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    let workflow = id.clone();
    let result = run(&engine, &id, move |steps| {
        let client = client.clone();
        let attempts = Arc::clone(&counter);
        let workflow = workflow.clone();
        async move {
            if attempts.fetch_add(1, Ordering::SeqCst) > 0 {
                // It is still running when the failed attempt would be put back.
                tokio::time::sleep(Duration::from_millis(600)).await;
                return Ok("answered".to_owned());
            }
            // Someone else puts the workflow back, and a later attempt begins.
            let client = Client::connect(client).await.expect("it connects");
            let resumed = client.resume::<String, EngineOnly>(&workflow).await;
            resumed.expect("it is put back");
            while attempts.load(Ordering::SeqCst) == 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let failing = async { Err(ToolError::transient("not yet")) };
            let failed = steps.step("tell", Box::pin(failing)).await;
            Ok(failed.unwrap_or_default())
        }
    });
    assert_eq!(result.await.expect("a result"), "answered");
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(attempts.load(Ordering::SeqCst), 2);
    engine.shutdown().await;
}
