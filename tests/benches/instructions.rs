//! Instructions a call, counted by callgrind, as multiples of a floor written by hand.
//!
//! The binary runs itself under valgrind. There it repeats each work a fixed number of times inside `measured`, the
//! only function that callgrind looks at, and has the counters written after each (`counted`). What the repeating itself costs is
//! measured as a work of its own and taken off.

mod works;

use std::fmt::Write as _;
use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::Instant;
use tool_core::RunContext;
use works::{LOOKUP, TEXT, many};

/// Says to the process that it is the one under valgrind.
const INSIDE: &str = "TOOL_BENCH_UNDER_CALLGRIND";
const ROUNDS: u32 = 100;

fn main() -> ExitCode {
    if std::env::var_os(INSIDE).is_some() {
        run_all();
        return ExitCode::SUCCESS;
    }
    match counts() {
        Ok(counts) => report(&counts),
        Err(problem) => {
            eprintln!("NO INSTRUCTION COUNTS: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// What callgrind counts.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    for _ in 0..ROUNDS {
        work();
    }
}

/// Tells callgrind to write what it counted.
#[inline(never)]
fn counted() {
    black_box(());
}

/// Each work in the order in which `report` reads the counts. A first round outside fills what is made at first use.
fn run_all() {
    let tools = many::calendar();
    let ctx = RunContext::detached();
    works::check(&tools, &ctx);
    let run = |work: &mut dyn FnMut()| {
        work();
        measured(work);
        counted();
    };
    run(&mut || ());
    run(&mut || {
        black_box(black_box(Instant::now()).elapsed());
    });
    for work in works::works() {
        let (name, text) = (work.tool, &*work.arguments);
        run(&mut || drop(black_box((work.floor)(black_box(name), black_box(text)))));
        run(&mut || drop(black_box(works::call(&tools, black_box(name), black_box(text), &ctx))));
        run(&mut || drop(black_box(works::call(&tools, black_box(name), black_box(text), &ctx).to_json())));
    }
    for count in [10, 1_000] {
        let tools = many::noops(count);
        let names = many::names(&tools);
        let mut next = names.iter().cycle();
        run(&mut || {
            let name = next.next().map_or("", String::as_str);
            drop(black_box(works::call(&tools, black_box(name), "{}", &ctx)));
        });
    }
    let tools = many::hundred();
    run(&mut || {
        black_box(many::list(black_box(&tools)));
    });
}

/// Runs this binary under callgrind, once, and reads what it wrote, a number a work.
fn counts() -> Result<Vec<f64>, String> {
    let valgrind = Command::new("valgrind").arg("--version").output();
    if !valgrind.is_ok_and(|output| output.status.success()) {
        return Err("`valgrind` is not installed (apt-get install valgrind)".to_owned());
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let out = std::env::temp_dir().join(format!("tool-instructions-{}", std::process::id()));
    std::fs::create_dir_all(&out).map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--collect-atstart=no", "--combine-dumps=no"])
        .args(["--toggle-collect=instructions::measured", "--dump-before=instructions::counted"])
        .arg(format!("--callgrind-out-file={}", out.join("counts").display()))
        .arg(own)
        .env(INSIDE, "1")
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("valgrind failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let read = (1..).map_while(|at| std::fs::read_to_string(out.join(format!("counts.{at}"))).ok());
    let totals = read.filter(|text| text.contains("Trigger: --dump-before")).map(|text| total(&text));
    let counts = totals.collect::<Option<Vec<_>>>().ok_or("callgrind wrote a file without a total")?;
    // Left behind for `callgrind_annotate` where somebody asks for it.
    if std::env::var_os("KEEP").is_some() {
        eprintln!("profiles are in {}", out.display());
    } else {
        let _ = std::fs::remove_dir_all(&out);
    }
    match counts.split_first() {
        Some((empty, rest)) => Ok(rest.iter().map(|count| (count - empty) / f64::from(ROUNDS)).collect()),
        None => Err("callgrind counted nothing".to_owned()),
    }
}

fn total(profile: &str) -> Option<f64> {
    let line = profile.lines().find_map(|line| line.strip_prefix("summary: ").or(line.strip_prefix("totals: ")));
    line.and_then(|line| line.trim().parse().ok())
}

/// Prints the tables; fails where a bar is missed.
fn report(counts: &[f64]) -> ExitCode {
    let works = works::works();
    let [clock, calls @ ..] = counts else { return ExitCode::FAILURE };
    if calls.len() != works.len() * 3 + 3 {
        eprintln!("NO INSTRUCTION COUNTS: {} of {} works were counted", calls.len(), works.len() * 3 + 3);
        return ExitCode::FAILURE;
    }
    let (calls, rest) = calls.split_at(works.len() * 3);
    let mut missed = 0;
    let mut table = String::from("| work | floor | response | x floor | bar | text | x floor | bar |\n");
    table += "|---|--:|--:|--:|--:|--:|--:|--:|\n";
    for (work, calls) in works.iter().zip(calls.chunks_exact(3)) {
        let [floor, response, text] = calls else { continue };
        let text_bar = work.bar.map(|_| TEXT);
        let columns = [(response, work.bar), (text, text_bar)].map(|(count, bar)| {
            let ratio = count / floor;
            missed += u32::from(bar.is_some_and(|bar| ratio > bar));
            format!("{count:.0} | {ratio:.2} | {}", shown(bar, ratio))
        });
        let _ = writeln!(table, "| {} | {floor:.0} | {} |", work.name, columns.join(" | "));
    }
    println!("Instructions a call (callgrind; two clock readings, {clock:.0} here, are in each of ours)\n\n{table}");
    if let [ten, thousand, list] = rest {
        let ratio = thousand / ten;
        missed += u32::from(ratio > LOOKUP);
        println!(
            "noop among 10 tools: {ten:.0}; among 1,000: {thousand:.0}; {ratio:.2}x, bar {}",
            shown(Some(LOOKUP), ratio)
        );
        println!("listing 100 tools: {list:.0}");
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn shown(bar: Option<f64>, ratio: f64) -> String {
    bar.map_or_else(|| "-".to_owned(), |bar| format!("{bar:.2}{}", if ratio > bar { " MISSED" } else { "" }))
}
