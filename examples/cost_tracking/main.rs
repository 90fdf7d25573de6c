//! The cost of an answer: an agent that calls a model, two concurrent tools, and a service in another process.
//!
//! `cargo run --example cost_tracking` prints the tree of spans with times and costs; `--json` prints it for programs,
//! `--html FILE` writes it as a page. The models' answers are recorded, so no key is needed.

mod planner;
mod providers;
mod shop;
mod warehouse;

use std::env;
use std::error::Error;
use std::process::ExitCode;
use tool_core::trace::{self, DistributedContext};
use tool_core::{Mode, Policy, Runtime, ToolContext};

const USAGE: &str = "usage: cargo run --example cost_tracking [-- --json | --html FILE]";

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = env::args().skip(1).collect::<Vec<_>>();
    let arguments = arguments.iter().map(String::as_str).collect::<Vec<_>>();
    let done = match *arguments {
        ["warehouse"] => warehouse::serve().await,
        [] => run(Form::Text).await,
        ["--json"] => run(Form::Json).await,
        ["--html", file] => run(Form::Html(file)).await,
        _ => {
            println!("{USAGE}");
            return ExitCode::from(if arguments == ["--help"] { 0 } else { 2 });
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The form of the report.
enum Form<'a> {
    Text,
    Json,
    Html(&'a str),
}

async fn run(form: Form<'_>) -> Result<(), Box<dyn Error>> {
    let (providers, warehouse) = (providers::start().await?, warehouse::Warehouse::start()?);
    let shop = shop::Shop {
        providers: providers.clone(),
        warehouse: warehouse.base_url.clone(),
    };
    let runtime = Runtime::builder(ToolContext::builder().with(shop).build()?)
        .policy(Policy::text())
        .build()?;
    let session = runtime.session("s-1", Mode::Text).await?;

    // Costs are also summed by run and by customer.
    let whose = DistributedContext::new()
        .run_id("run-1")
        .customer_id("acme");
    let planner = planner::Planner {
        session,
        base_url: providers,
    };
    let answers = trace::import(
        whose,
        planner.answer("Is the kettle any good, and are there three?"),
    )
    .await?;

    let (report, elsewhere) = (trace::report(), warehouse.end()?);
    match form {
        Form::Json => println!("{}", report.to_json()),
        Form::Html(file) => std::fs::write(file, report.to_html())?,
        Form::Text => {
            for answer in &answers {
                println!(
                    "{} answers {}",
                    answer.meta().tool(),
                    answer.data_json().unwrap_or("nothing")
                );
            }
            println!(
                "\n{}\n\n{report}\nIn the other process:\n\n{elsewhere}",
                report.outline()
            );
        }
    }
    Ok(())
}
