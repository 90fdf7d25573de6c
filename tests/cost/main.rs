//! The cost of hostile input, as multiples: instructions, counted by callgrind, of an input and of one twice as large, and the
//! memory of an event beside its size. No time is measured.

mod arguments;
#[path = "../benches/works/callgrind.rs"]
mod callgrind;
#[path = "../benches/counting.rs"]
mod counting;
mod memory;
mod schemas;
mod streams;
mod texts;

use std::process::ExitCode;

/// Most instructions that twice the input may take: twice as many, and room for logarithms and tables that grow. This build
/// is not optimized, so a small quadratic part is a small part of all.
const MOST: f64 = 2.1;
/// The same for schemas, whose larger input has the bound of a projection's size in its way.
const MOST_OF_SCHEMAS: f64 = 2.3;
/// The number of parts of the smaller input.
const PARTS: usize = 100;

/// A work on an input with some number of parts. The input is made before.
pub(crate) struct Shape {
    name: String,
    prepare: Box<dyn Fn(usize) -> Box<dyn FnOnce()>>,
}

impl Shape {
    pub(crate) fn new(
        name: impl Into<String>,
        prepare: impl Fn(usize) -> Box<dyn FnOnce()> + 'static,
    ) -> Self {
        Self {
            name: name.into(),
            prepare: Box::new(prepare),
        }
    }
}

fn shapes() -> Vec<Shape> {
    let only = std::env::args()
        .nth(1)
        .filter(|name| !name.starts_with('-'))
        .unwrap_or_default();
    let all = arguments::shapes()
        .into_iter()
        .chain(texts::shapes())
        .chain(streams::shapes())
        .chain(schemas::shapes());
    all.filter(|shape| shape.name.contains(&only)).collect()
}

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == "--list") {
        return ExitCode::SUCCESS;
    }
    callgrind::main_or_skip(run_all, report)
}

/// Each work in the order in which `report` reads the counts.
fn run_all() {
    for shape in shapes() {
        // What is made at the first use exists before.
        (shape.prepare)(PARTS / 8)();
        for parts in [PARTS, 2 * PARTS] {
            let mut work = Some((shape.prepare)(parts));
            callgrind::run_once(&mut || work.take().into_iter().for_each(|work| work()));
        }
    }
}

/// Prints the growth of each shape; fails where one grows faster than its input.
fn report(counts: &[f64]) -> ExitCode {
    let shapes = shapes();
    if counts.len() != shapes.len() * 2 {
        eprintln!(
            "NO INSTRUCTION COUNTS: {} of {} works were counted",
            counts.len(),
            shapes.len() * 2
        );
        return ExitCode::FAILURE;
    }
    let mut missed = memory::check();
    for (shape, counts) in shapes.iter().zip(counts.chunks_exact(2)) {
        let &[once, twice] = counts else { continue };
        let growth = twice / once;
        let most = if shape.name.starts_with("schemas") {
            MOST_OF_SCHEMAS
        } else {
            MOST
        };
        let verdict = if growth > most { "MISSED" } else { "ok" };
        missed += usize::from(growth > most);
        println!(
            "{:60} {:8.0}k {growth:5.2} {verdict}",
            shape.name,
            once / 10.0
        );
    }
    println!("{missed} missed of {} shapes", shapes.len());
    if missed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
