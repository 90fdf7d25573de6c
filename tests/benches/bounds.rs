//! The cost of arguments that are expensive to check: milliseconds, and megabytes above the input.

mod counting;
mod shapes;

use std::process::ExitCode;
use std::time::Instant;
use tool_core::RunContext;

/// The bars: milliseconds, and bytes above the input.
const MILLISECONDS: f64 = 50.0;
const BYTES: i64 = 64 << 20;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    // `cargo bench --bench bounds -- chain` runs the shapes with that word in their names.
    let word = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with("--"))
        .unwrap_or_default();
    let mut missed = 0;
    println!("{:48}{:>10}{:>10}  answer", "arguments", "ms", "MB");
    for shape in shapes::all()
        .into_iter()
        .filter(|shape| shape.name.contains(&word))
    {
        let tools = match &shape.tools {
            Ok(tools) => tools,
            Err(problems) => {
                println!(
                    "{:48}{:>20}  {}",
                    shape.name,
                    "refused when frozen",
                    problems.to_string().chars().take(80).collect::<String>()
                );
                continue;
            }
        };
        let ctx = RunContext::detached();
        // The first call compiles the schema.
        let call = || runtime.block_on(tools.call(shape.tool, shape.arguments.as_str(), &ctx));
        let (_, first) = counting::peak(call);
        let (mut best, mut most, mut answer) = (f64::MAX, first, String::new());
        for _ in 0..3 {
            let began = Instant::now();
            let (response, bytes) = counting::peak(call);
            best = best.min(began.elapsed().as_secs_f64() * 1e3);
            most = most.max(bytes);
            answer = response.to_json();
        }
        let is_missed = best > MILLISECONDS || most > BYTES;
        missed += usize::from(is_missed);
        let shown: String = answer
            .chars()
            .filter(|letter| *letter != '\n')
            .take(90)
            .collect();
        #[expect(clippy::cast_precision_loss)] // shown with one digit
        let megabytes = most as f64 / 1e6;
        println!(
            "{:48}{best:10.1}{megabytes:10.1}  {}{shown}",
            shape.name,
            if is_missed { "MISSED " } else { "" }
        );
    }
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
