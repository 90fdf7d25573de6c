//! Runs a plan, and records which span encloses each step.

use super::futures::{All, Caught, Limit, Pause, Race};
use super::look::look;
use super::plan::{How, Opened, Step, Takes, Use, Wait, Word};
use super::tools::{Ticket, answered, planner, work, work_now};
use super::watch::{Failed, Unless, Watched, Work, fate, mark};
use super::world::{Env, Node, Spot};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use tool_core::trace::{self, Cost, ModelUsage, SpanHandle, SpanKind, SpanStatus, TokenUsage};
use tool_core::{RunContext, ToolCall};

pub fn steps(steps: Vec<Step>, env: Env) -> Work {
    Box::pin(async move {
        for step in steps {
            do_step(step, &env).await;
        }
        Ok(())
    })
}

/// Runs the steps, and returns an error.
fn failing(work: Work, fails: bool) -> Work {
    Box::pin(async move {
        work.await?;
        if fails { Err(Failed) } else { Ok(()) }
    })
}

async fn do_step(step: Step, env: &Env) {
    match step {
        Step::Span(opened) => drop(span(opened, env).await),
        Step::Sync(opened) => sync_span(opened, env),
        Step::All(parts) => {
            All(parts
                .into_iter()
                .map(|part| Some(steps(part, env.clone())))
                .collect())
            .await
        }
        Step::Race(one, two) => Race(steps(one, env.clone()), steps(two, env.clone())).await,
        Step::Limit(polls, part) => Limit(polls, steps(part, env.clone())).await,
        Step::Unpolled(opened) => drop(span(opened, env)),
        Step::Spawn(takes, wait, part) => spawn(takes, wait, part, env).await,
        Step::Blocking(inherits, part) => blocking(inherits, part, env).await,
        Step::Catch(part) => drop(Caught(steps(part, env.clone())).await),
        Step::Panic => panic!("provoked"),
        Step::Pause(polls) => Pause(polls).await,
        Step::Use(of) => used(of, env),
        Step::Look => look(env),
        Step::Import(number, part) => {
            let (context, env) = env.imported(number);
            drop(trace::import(context, steps_made_inside(part, env)).await);
        }
        Step::Customer(customer, part) => {
            let (context, env) = env.of_customer(customer);
            drop(trace::import(context, steps_made_inside(part, env)).await);
        }
        Step::Apart(part) => {
            let (collector, env) = env.apart();
            drop(collector.run(steps_made_inside(part, env)).await);
        }
    }
}

/// Runs steps whose futures are created where they are polled.
fn steps_made_inside(part: Vec<Step>, env: Env) -> Work {
    Box::pin(async move { steps(part, env).await })
}

fn sync_steps(steps: Vec<Step>, env: &Env) {
    for step in steps {
        match step {
            Step::Sync(opened) => sync_span(opened, env),
            Step::Catch(part) => drop(catch_unwind(AssertUnwindSafe(|| sync_steps(part, env)))),
            Step::Panic => panic!("provoked"),
            Step::Use(of) => used(of, env),
            other => unreachable!("{other:?} takes time"),
        }
    }
}

/// The future of a span that is created here and belongs here.
fn span(opened: Opened, env: &Env) -> Work {
    let Opened {
        node,
        kind,
        how,
        around,
        fails,
        body,
    } = opened;
    if kind == SpanKind::Tool {
        return tool(node, how, fails, body, env.clone());
    }
    match how {
        How::Attribute => agent(node, fails, body, env.clone()),
        How::Handle => handle(node, kind, fails, body, env.clone()),
        How::Carried => {
            let outer = Node::new(around, SpanKind::Section, env);
            let name = outer.name;
            // A future that is passed to the work of a span belongs to that span.
            let inner = future(node, kind, fails, body, &env.within(outer));
            Box::pin(trace::try_section(name, Watched::new(around, inner)))
        }
        How::Sent => sent(node, kind, fails, body, around, env),
        _ => future(node, kind, fails, body, env),
    }
}

/// A context or a collector that wraps a future applies to it.
fn sent(node: u32, kind: SpanKind, fails: bool, body: Vec<Step>, how: u32, env: &Env) -> Work {
    match how / 2 % 3 {
        0 => {
            let (context, of) = env.imported(how);
            Box::pin(trace::import(context, future(node, kind, fails, body, &of)))
        }
        1 => {
            let (context, of) = env.of_customer(1);
            Box::pin(trace::import(context, future(node, kind, fails, body, &of)))
        }
        _ => {
            let (collector, of) = env.apart();
            Box::pin(collector.run(future(node, kind, fails, body, &of)))
        }
    }
}

fn future(node: u32, kind: SpanKind, fails: bool, body: Vec<Step>, env: &Env) -> Work {
    let of = Node::new(node, kind, env);
    let name = of.name;
    let made = Watched::new(
        node,
        failing(steps_made_inside(body, env.within(of)), fails),
    );
    match kind {
        SpanKind::Agent => Box::pin(trace::try_agent(name, made)),
        SpanKind::Llm => Box::pin(trace::try_llm(name, made)),
        SpanKind::Http => Box::pin(trace::try_http(name, made)),
        _ => Box::pin(trace::try_section(name, made)),
    }
}

fn agent(node: u32, fails: bool, body: Vec<Step>, env: Env) -> Work {
    Box::pin(async move {
        let inside = env.within(Node::named("planner", node, SpanKind::Agent, &env));
        let body = failing(steps_made_inside(body, inside), fails);
        let ticket = Ticket::new(Box::pin(Watched::new(node, body)));
        planner(ticket.0).await
    })
}

fn tool(node: u32, how: How, fails: bool, body: Vec<Step>, env: Env) -> Work {
    Box::pin(async move {
        // Outside of spans and collectors a call has no span.
        let has_span = env.calls_have_spans();
        let inside = if has_span {
            env.within(Node::named("work", node, SpanKind::Tool, &env))
        } else {
            env.clone()
        };
        let body = failing(steps_made_inside(body, inside), fails);
        let ticket = Ticket::new(if has_span {
            Box::pin(Watched::new(node, body))
        } else {
            body
        });
        let arguments = format!("{{\"job\":{}}}", ticket.0);
        match how {
            How::Direct => work(ticket.0).await.map_err(|_| Failed),
            How::Governed => {
                let call = ToolCall::new(node.to_string(), "work", arguments.as_str());
                answered(&env.tree.session.call(call).await)
            }
            _ => answered(
                &env.tree
                    .tools
                    .call("work", arguments.as_str(), &RunContext::detached())
                    .await,
            ),
        }
    })
}

fn sync_span(opened: Opened, env: &Env) {
    let Opened {
        node,
        kind,
        how,
        body,
        ..
    } = opened;
    let is_called = kind == SpanKind::Tool && how == How::Direct;
    if is_called && !env.calls_have_spans() {
        let ticket = Ticket::of_fn({
            let env = env.clone();
            move || sync_steps(body, &env)
        });
        return work_now(ticket.0);
    }
    let of = if is_called {
        Node::named("work_now", node, kind, env)
    } else {
        Node::new(node, kind, env)
    };
    let name = of.name;
    let inside = env.within(of);
    let watched = move || {
        mark(node);
        let panicked = Unless(node, SpanStatus::Panicked);
        sync_steps(body, &inside);
        fate(node).over(SpanStatus::Ok);
        std::mem::forget(panicked);
    };
    if is_called {
        let ticket = Ticket::of_fn(watched);
        work_now(ticket.0);
    } else {
        trace::in_scope(kind, name, watched);
    }
}

/// Records the end of a handle when it is dropped.
struct Held {
    node: u32,
    handle: Option<SpanHandle>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let status = if std::thread::panicking() {
            SpanStatus::Panicked
        } else {
            SpanStatus::Cancelled
        };
        fate(self.node).over(status);
    }
}

fn handle(node: u32, kind: SpanKind, fails: bool, body: Vec<Step>, env: Env) -> Work {
    Box::pin(async move {
        let of = Node::new(node, kind, &env);
        let handle = SpanHandle::open(kind, of.name);
        let inside = env.within(of);
        handle.run(|| mark(node));
        let mut held = Held {
            node,
            handle: Some(handle),
        };
        let work = steps_made_inside(body, inside);
        if let Some(handle) = &held.handle {
            drop(handle.inside(work).await);
        }
        if let Some(handle) = held.handle.take() {
            fate(node).over(if fails {
                SpanStatus::Error
            } else {
                SpanStatus::Ok
            });
            if fails {
                handle.fail("failed")
            } else {
                handle.end()
            }
        }
        Ok(())
    })
}

async fn spawn(takes: Takes, wait: Wait, mut part: Vec<Step>, env: &Env) {
    let token = env.tree.token();
    let work: Work = match takes {
        Takes::Inherits => Box::pin(trace::in_current_span(steps_made_inside(part, env.clone()))),
        Takes::Nothing => steps_made_inside(part, env.outside()),
        Takes::Made => match part.pop() {
            Some(Step::Span(opened))
                if opened.kind != SpanKind::Tool && opened.how == How::Future =>
            {
                future(opened.node, opened.kind, opened.fails, opened.body, env)
            }
            _ => steps_made_inside(part, env.outside()),
        },
    };
    let task = tokio::spawn(async move {
        let _token = token;
        work.await
    });
    match wait {
        Wait::Detach => {}
        Wait::Join => drop(task.await),
        Wait::Abort(polls) => {
            Pause(polls).await;
            task.abort();
        }
    }
}

async fn blocking(inherits: bool, part: Vec<Step>, env: &Env) {
    let token = env.tree.token();
    let inner = if inherits { env.clone() } else { env.outside() };
    let work = move || {
        sync_steps(part, &inner);
        drop(inner);
        drop(token);
    };
    let task = if inherits {
        tokio::task::spawn_blocking(trace::in_current_span_sync(work))
    } else {
        tokio::task::spawn_blocking(work)
    };
    // A panic of the task is resumed here.
    if let Err(error) = task.await
        && let Ok(panic) = error.try_into_panic()
    {
        resume_unwind(panic);
    }
}

/// The models. The last one has no price.
pub const MODELS: [&str; 4] = ["small", "large", "other", "free"];

fn used(of: Use, env: &Env) {
    let place = Spot::here(of, env);
    // One response has one model and one count of tokens.
    let which = of.response.unwrap_or(of.number);
    let usage = TokenUsage {
        input: u64::from(which),
        output: 1,
        ..TokenUsage::default()
    };
    let model = ModelUsage::new(MODELS[which as usize % MODELS.len()], usage)
        .tool_call(of.number.to_string(), "work");
    let model = match of.response {
        Some(id) => model.response_id(format!("response {id}")),
        None => model,
    };
    match of.told {
        Word::Told => trace::record(model),
        Word::Seen => trace::observe(model),
        Word::Paid => trace::record_cost("search", Cost::pico(u64::from(of.number))),
    }
    env.tree
        .log
        .lock()
        .expect("no panic holds it")
        .push(Arc::new(place.after()));
}
