//! Nanoseconds a call: medians of many samples, each work beside its floor.

mod works;

use divan::{Bencher, black_box};
use std::sync::LazyLock;
use std::time::Instant;
use tool_core::{RunContext, ToolContext};
use works::{Work, many};

static TOOLS: LazyLock<ToolContext> = LazyLock::new(many::calendar);
static CTX: LazyLock<RunContext> = LazyLock::new(RunContext::detached);
static WORKS: LazyLock<Vec<Work>> = LazyLock::new(works::works);

fn main() {
    works::check(&TOOLS, &CTX);
    divan::main();
}

/// A work as divan names it.
struct Named(&'static Work);

impl std::fmt::Display for Named {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

fn all() -> impl Iterator<Item = Named> {
    WORKS.iter().map(Named)
}

#[divan::bench(args = all())]
fn a_floor(bencher: Bencher<'_, '_>, work: &Named) {
    let Work { tool, arguments, floor, .. } = work.0;
    bencher.bench_local(|| floor(black_box(tool), black_box(arguments)));
}

#[divan::bench(args = all())]
fn b_response(bencher: Bencher<'_, '_>, work: &Named) {
    let Work { tool, arguments, .. } = work.0;
    bencher.bench_local(|| works::call(&TOOLS, black_box(tool), black_box(arguments), &CTX));
}

#[divan::bench(args = all())]
fn c_text(bencher: Bencher<'_, '_>, work: &Named) {
    let Work { tool, arguments, .. } = work.0;
    bencher.bench_local(|| works::call(&TOOLS, black_box(tool), black_box(arguments), &CTX).to_json());
}

#[divan::bench(args = [10, 1_000])]
fn d_noop_among(bencher: Bencher<'_, '_>, count: usize) {
    let tools = many::noops(count);
    let names = many::names(&tools);
    let mut next = names.iter().cycle();
    bencher.bench_local(|| {
        let name = next.next().map_or("", String::as_str);
        works::call(&tools, black_box(name), "{}", &CTX)
    });
}

#[divan::bench]
fn e_list_of_100(bencher: Bencher<'_, '_>) {
    let tools = many::hundred();
    bencher.bench_local(|| many::list(black_box(&tools)));
}

#[divan::bench]
fn f_two_clock_readings(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| black_box(Instant::now()).elapsed());
}
