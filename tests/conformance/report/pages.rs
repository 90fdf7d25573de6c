//! Writes reports of real runs as pages and as JSON, for a browser to look at: `conformance_report FOLDER`.

use std::error::Error;
use std::path::Path;
use std::time::Duration;
use tokio::time::{sleep, timeout};
use tool_core::trace::{
    self, Collector, Cost, DistributedContext, ModelUsage, Pricing, SpanId, SpanKind, TokenUsage,
    TraceId,
};
use tool_core::{RunContext, ToolContext, ToolError, tool};

/// A dollar for a million tokens of the one model that is sold.
struct Prices;

impl Pricing for Prices {
    fn price(&self, used: &ModelUsage) -> Option<Cost> {
        (used.model == "gpt-5-mini")
            .then(|| Cost::per_million(1_000_000_000_000, used.usage.total()))
    }
}

async fn asked(model: &'static str, millis: u64, usage: TokenUsage) {
    trace::llm(model, async {
        sleep(Duration::from_millis(millis)).await;
        trace::record(
            ModelUsage::new(model, usage)
                .provider("openai")
                .tool_call("call_1", "summarise"),
        );
    })
    .await;
}

/// Summarise a text.
#[tool]
async fn summarise(text: String) -> String {
    let usage = TokenUsage {
        input: 1_200,
        cached: 800,
        output: 180,
        reasoning: 64,
        ..TokenUsage::default()
    };
    asked("gpt-5-mini", 60, usage).await;
    text
}

/// Find a place on the map.
#[tool]
async fn geocode(place: String) -> Result<String, ToolError> {
    trace::http("GET maps.example", sleep(Duration::from_millis(25))).await;
    trace::record_cost("geocoder", Cost::micros(5_000));
    if place == "Atlantis" {
        Err(ToolError::permanent("there is no Atlantis"))
    } else {
        Ok(place)
    }
}

/// Sign in.
#[tool]
fn sign_in(user: &str, password: &str) -> Result<String, ToolError> {
    Err(ToolError::auth(format!(
        "`{user}` and a wrong password of {} characters",
        password.len()
    )))
}

/// Count for ever.
#[tool]
async fn count() {
    sleep(Duration::from_hours(1)).await;
}

/// Fail.
#[tool]
async fn broken() -> u8 {
    sleep(Duration::from_millis(4)).await;
    panic!("broken")
}

/// An agent whose tools run at once, and end in every way.
async fn plan(tools: &ToolContext) {
    let ctx = RunContext::detached();
    asked(
        "gpt-5-mini",
        40,
        TokenUsage {
            input: 2_400,
            cached: 2_000,
            output: 60,
            ..TokenUsage::default()
        },
    )
    .await;
    tokio::join!(
        tools.call("summarise", r#"{"text":"a"}"#, &ctx),
        trace::section("places", async {
            tools.call("geocode", r#"{"place":"Rome"}"#, &ctx).await;
            tools.call("geocode", r#"{"place":"Atlantis"}"#, &ctx).await;
        }),
        async {
            timeout(Duration::from_millis(30), tools.call("count", "{}", &ctx))
                .await
                .is_err()
        },
        tools.call("broken", "{}", &ctx),
        tools.call("sign_in", r#"{"user":"ann","password":"hunter2"}"#, &ctx),
    );
    asked(
        "local",
        10,
        TokenUsage {
            input: 300,
            output: 20,
            ..TokenUsage::default()
        },
    )
    .await;
}

async fn real(collector: Collector) -> Result<trace::Report, Box<dyn Error>> {
    let tools = ToolContext::builder()
        .with(summarise)
        .with(geocode)
        .with(count)
        .with(broken)
        .with(sign_in)
        .build()?;
    let context = DistributedContext::new()
        .run_id("run-7")
        .customer_id("acme");
    let work = async {
        trace::import(context, async {
            trace::agent("planner", plan(&tools)).await;
        })
        .await;
        // Unsolicited.
        let seen = async {
            trace::observe(ModelUsage::new(
                "gpt-5-mini",
                TokenUsage {
                    input: 10,
                    ..TokenUsage::default()
                },
            ));
        };
        trace::http("POST api.example", seen).await;
    };
    collector.run(work).await;
    Ok(collector.report())
}

/// Names that were made to do harm, in every place that takes a name, and spans that are not there.
async fn hostile(collector: Collector) -> trace::Report {
    const NAMES: [&str; 6] = [
        "<script>window.owned=1</script>",
        "\"><img src=x onerror=\"window.owned=1\">",
        "' onmouseover='window.owned=1",
        "</style></title><script>window.owned=1</script>",
        "\u{202e}gnp.exe\u{1b}[2J\r\n\u{0}\u{200b}",
        "{{constructor.constructor('window.owned=1')()}} &lt;script&gt; שלום",
    ];
    let other = DistributedContext::new()
        .parent(TraceId::random(), SpanId::random())
        .customer_id(NAMES[0]);
    let work = async {
        for name in NAMES {
            trace::agent(name, async {
                trace::record(ModelUsage::new(
                    name,
                    TokenUsage {
                        input: 1,
                        ..TokenUsage::default()
                    },
                ));
                trace::attribute(
                    "gen_ai.tool.call.arguments",
                    format!("{name}\n{}", name.repeat(10)),
                );
                trace::attribute(
                    "gen_ai.tool.call.result",
                    serde_json::json!({ name: [name] }),
                );
                trace::section(
                    name.repeat(60),
                    trace::llm(name, trace::http(name, async {})),
                )
                .await;
            })
            .await;
        }
        trace::agent("at work", async { trace::report() }).await
    };
    collector
        .run(trace::import(other, async {
            trace::section("here", work).await
        }))
        .await
}

fn many(collector: &Collector) -> trace::Report {
    collector.run_sync(|| {
        for agent in 0..100 {
            trace::in_scope(SpanKind::Agent, format!("agent {agent}"), || {
                for _ in 0..99 {
                    trace::in_scope(SpanKind::Tool, "search", || {
                        trace::record_cost("search", Cost::micros(7));
                    });
                }
            });
        }
    });
    collector.report()
}

/// An agent with many calls, and with more texts than the page takes.
fn wide(collector: &Collector) -> trace::Report {
    collector.run_sync(|| {
        trace::in_scope(SpanKind::Agent, "agent 1", || {
            for number in 0..9_999 {
                trace::in_scope(SpanKind::Tool, "search", || {
                    trace::attribute(
                        "gen_ai.tool.call.arguments",
                        format!("{number} {}", "<&>".repeat(50)),
                    );
                });
            }
        });
    });
    collector.report()
}

fn deep(collector: &Collector) -> trace::Report {
    fn down(depth: u32) {
        if depth > 0 {
            trace::in_scope(SpanKind::Section, "deeper", || down(depth - 1));
        } else {
            trace::record_cost("search", Cost::micros(7));
        }
    }
    collector.run_sync(|| trace::in_scope(SpanKind::Agent, "diver", || down(999)));
    collector.report()
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("say which folder to write to: conformance_report FOLDER")?;
    std::fs::create_dir_all(&folder)?;
    // One of the tools panics, as it should.
    std::panic::set_hook(Box::new(|_| {}));
    let new = || Collector::builder().pricing(Prices).content(true).build();
    let reports = [
        ("real", real(new()).await?),
        ("hostile", hostile(new()).await),
        ("many", many(&new())),
        ("deep", deep(&new())),
        ("wide", wide(&new())),
        ("empty", new().report()),
    ];
    for (name, report) in reports {
        let path = Path::new(&folder).join(name);
        std::fs::write(path.with_extension("html"), report.to_html())?;
        std::fs::write(path.with_extension("json"), report.to_json())?;
        std::fs::write(path.with_extension("txt"), report.to_string())?;
    }
    Ok(())
}
