//! Allocations a call: all of them, and how many are the framework's own.
//!
//! The framework's own are those past what the same method, arguments and result need by hand. The floor allocates
//! for owned arguments and for the result's text, and so do tools; a tool that lends text needs fewer, and is given
//! what it saves back.

mod counting;
mod works;

use counting::allocations;
use std::hint::black_box;
use std::process::ExitCode;
use tool_core::RunContext;

fn of(work: impl Fn()) -> u64 {
    work();
    let before = allocations();
    work();
    allocations() - before
}

fn main() -> ExitCode {
    let tools = works::many::calendar();
    let ctx = RunContext::detached();
    works::check(&tools, &ctx);
    let mut missed = false;
    println!("Allocations a call\n\n| work | floor | response | own | bar | text |\n|---|--:|--:|--:|--:|--:|");
    for work in works::works() {
        let (name, text) = (work.tool, &*work.arguments);
        let floor = of(|| drop(black_box((work.floor)(black_box(name), black_box(text)))));
        let response = of(|| drop(black_box(works::call(&tools, name, black_box(text), &ctx))));
        let envelope = of(|| drop(black_box(works::call(&tools, name, black_box(text), &ctx).to_json())));
        let own = response.cast_signed() - floor.cast_signed() + work.lent.cast_signed();
        let bar = work.own_allocations;
        missed |= own > bar.cast_signed();
        let verdict = if own > bar.cast_signed() { " MISSED" } else { "" };
        println!("| {} | {floor} | {response} | {own} | {bar}{verdict} | {envelope} |", work.name);
    }
    if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
