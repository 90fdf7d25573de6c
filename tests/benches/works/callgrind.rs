//! Instructions, counted by callgrind.
//!
//! The binary runs itself under valgrind. There it repeats each work a fixed number of times inside `measured`, the
//! only function that callgrind looks at, and has the counters written after each (`counted`). What the repeating
//! itself costs is measured as a separate work and subtracted.

use std::hint::black_box;
use std::process::{Command, ExitCode};

/// Says to the process that it is the one under valgrind.
const INSIDE: &str = "TOOL_BENCH_UNDER_CALLGRIND";
const ROUNDS: u32 = 100;

/// The whole of a benchmark: `works` under valgrind, and outside of it the `report` on what was counted.
pub(crate) fn main(works: fn(), report: fn(&[f64]) -> ExitCode) -> ExitCode {
    if inside() {
        works();
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

/// The same for a test, which is skipped without valgrind. Where `CI` is set, it fails then.
#[allow(dead_code)] // Benchmarks are not skipped.
pub(crate) fn main_or_skip(works: fn(), report: fn(&[f64]) -> ExitCode) -> ExitCode {
    let has_valgrind = Command::new("valgrind")
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success());
    if inside_only() || has_valgrind {
        return main(works, report);
    }
    println!("skipped: `valgrind` is not installed (apt-get install valgrind)");
    if std::env::var_os("CI").is_some() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn inside_only() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Returns true in the process under valgrind, which runs the works. Its first work is the empty one.
fn inside() -> bool {
    let inside = inside_only();
    if inside {
        run(&mut || ());
    }
    inside
}

/// Has a work counted. A first round outside fills what is made at first use.
pub(crate) fn run(work: &mut dyn FnMut()) {
    run_between(&mut || (), work);
}

/// The same with what has to be done before each round, and is not counted.
pub(crate) fn run_between(before: &mut dyn FnMut(), work: &mut dyn FnMut()) {
    before();
    work();
    for _ in 0..ROUNDS {
        before();
        measured(work);
    }
    counted();
}

/// Has a work counted once, for a work that is large. It is reported as a hundredth.
#[allow(dead_code)] // Most benchmarks repeat their works.
pub(crate) fn run_once(work: &mut dyn FnMut()) {
    measured(work);
    counted();
}

/// The events that callgrind counts.
#[inline(never)]
fn measured(work: &mut dyn FnMut()) {
    work();
}

/// Tells callgrind to write what it counted.
#[inline(never)]
fn counted() {
    black_box(());
}

/// Runs this binary under callgrind, once, and reads what it wrote: a number for each work but the empty one.
fn counts() -> Result<Vec<f64>, String> {
    let valgrind = Command::new("valgrind").arg("--version").output();
    if !valgrind.is_ok_and(|output| output.status.success()) {
        return Err("`valgrind` is not installed (apt-get install valgrind)".to_owned());
    }
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let out = std::env::temp_dir().join(format!("tool-instructions-{}", std::process::id()));
    std::fs::create_dir_all(&out).map_err(|error| error.to_string())?;
    let output = Command::new("valgrind")
        .args([
            "--tool=callgrind",
            "--collect-atstart=no",
            "--combine-dumps=no",
        ])
        .args([
            "--toggle-collect=*::callgrind::measured",
            "--dump-before=*::callgrind::counted",
        ])
        .arg(format!(
            "--callgrind-out-file={}",
            out.join("counts").display()
        ))
        .arg(own)
        .args(std::env::args().skip(1))
        .env(INSIDE, "1")
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!(
            "valgrind failed: {}",
            String::from_utf8_lossy(&output.stderr)
        ));
    }
    let read = (1..).map_while(|at| std::fs::read_to_string(out.join(format!("counts.{at}"))).ok());
    let totals = read
        .filter(|text| text.contains("Trigger: --dump-before"))
        .map(|text| total(&text));
    let counts = totals
        .collect::<Option<Vec<_>>>()
        .ok_or("callgrind wrote a file without a total")?;
    // `KEEP=1` keeps the profile for `callgrind_annotate`.
    if std::env::var_os("KEEP").is_some() {
        eprintln!("profiles are in {}", out.display());
    } else {
        let _ = std::fs::remove_dir_all(&out);
    }
    match counts.split_first() {
        Some((empty, rest)) => Ok(rest
            .iter()
            .map(|count| (count - empty) / f64::from(ROUNDS))
            .collect()),
        None => Err("callgrind counted nothing".to_owned()),
    }
}

fn total(profile: &str) -> Option<f64> {
    let line = profile.lines().find_map(|line| {
        line.strip_prefix("summary: ")
            .or(line.strip_prefix("totals: "))
    });
    line.and_then(|line| line.trim().parse().ok())
}

/// A bar as the tables show it.
#[allow(dead_code)] // Tests have no such table.
pub(crate) fn shown(bar: Option<f64>, ratio: f64) -> String {
    bar.map_or_else(
        || "-".to_owned(),
        |bar| format!("{bar:.2}{}", if ratio > bar { " MISSED" } else { "" }),
    )
}
