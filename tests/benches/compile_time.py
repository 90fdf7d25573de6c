#!/usr/bin/env python3
"""What a tool costs the compiler, and the binary.

Generates crates of 10, 100 and 300 tools of four parameters, once under `#[toolset]` and once by hand: a struct with the
two derives, the method, and a boxed table that decodes, calls, serialises and makes the schema. Builds each clean and
after a change to one method's body, dependencies built before, and takes (300 - 10) / 290, so that what does not depend
on the number of tools cancels out. Times are CPU time in user mode of cargo and all its children, not wall time, so
that other work on the machine does not count; medians of the repetitions.

    compile_time.py [--repeat 3] [--no-binary] [--keep DIR] [--variants tools,derives]
"""

import argparse
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = (10, 100, 300)
BLOCK = 10  # tools in one toolset
BARS = {"clean": 0.6, "incremental": 0.6}
BYTES = 8192

# Types are taken in turn; the step is coprime to their number, so that neighbours in one tool differ.
TYPES = [
    "String", "u32", "Option<String>", "Vec<String>", "bool", "f64", "Place", "Option<Vec<i64>>", "i64", "Option<u32>",
    "Priority", "Vec<Place>", "std::collections::BTreeMap<String, u32>",
]
RETURNS = ["String", "u64", "Result<Outcome, String>", "Outcome"]
VALUES = {
    "String": '"{}".to_owned()',
    "u64": "{}",
    "Outcome": 'Outcome {{ summary: "{}".to_owned(), count: 1 }}',
    "Result<Outcome, String>": 'Ok(Outcome {{ summary: "{}".to_owned(), count: 1 }})',
}

SHARED = """
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub struct Place { pub street: String, pub number: Option<u32>, pub city: String }
#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
pub enum Priority { Low, Normal, High }
#[derive(serde::Serialize, schemars::JsonSchema)]
pub struct Outcome { pub summary: String, pub count: u32 }
"""

HAND = """
use std::{future::Future, pin::Pin};
type Called<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;
pub struct Entry<T> {
    pub name: &'static str,
    pub description: &'static str,
    pub schema: fn() -> serde_json::Value,
    pub call: Box<dyn for<'a> Fn(&'a T, &'a str) -> Called<'a> + Send + Sync>,
}
"""


def parameters(tool):
    return [(name, TYPES[(tool * 7 + place * 5) % len(TYPES)]) for place, name in enumerate("abcd")]


def method(tool, revision, attribute, documented):
    """The method itself: the same on both sides, but for attributes and the docs of parameters."""
    returns = RETURNS[tool % len(RETURNS)]
    docs = (lambda name: f"        /// What {name} of tool {tool} is for\n") if documented else (lambda name: "")
    inputs = "".join(f"{docs(name)}        {name}: {kind},\n" for name, kind in parameters(tool))
    text = VALUES[returns].format(1000 * revision + tool)
    used = ", ".join(name for name, _ in parameters(tool))
    return (
        f"    /// Does what tool {tool} is for.\n{attribute}    pub {'async ' if tool % 2 else ''}fn tool_{tool}(\n"
        f"        &self,\n{inputs}    ) -> {returns} {{\n        std::hint::black_box(({used}));\n        {text}\n    }}\n"
    )


def tools_block(block, tools, revisions):
    methods = "\n".join(method(tool, revisions.get(tool, 0), "    #[tool]\n", True) for tool in tools)
    return f"#[derive(Default)]\npub struct Set{block};\n\n/// Set {block}.\n#[tool_core::toolset]\nimpl Set{block} {{\n{methods}}}\n"


def derives_block(block, tools, revisions):
    methods = "\n".join(method(tool, revisions.get(tool, 0), "", False) for tool in tools)
    structs, entries = "", ""
    for tool in tools:
        fields = "".join(f"    /// What {name} of tool {tool} is for\n    {name}: {kind},\n" for name, kind in parameters(tool))
        structs += f"#[derive(serde::Deserialize, schemars::JsonSchema)]\nstruct Args{tool} {{\n{fields}}}\n"
        call = f"this.tool_{tool}({', '.join(f'args.{name}' for name, _ in parameters(tool))}){'.await' if tool % 2 else ''}"
        call += "?" if "Result" in RETURNS[tool % len(RETURNS)] else ""
        entries += (
            f'        Entry {{ name: "tool_{tool}", description: "Does what tool {tool} is for.",\n'
            f"            schema: || schemars::schema_for!(Args{tool}).to_value(),\n"
            f"            call: Box::new(|this, text| Box::pin(async move {{\n"
            f"                let args: Args{tool} = serde_json::from_str(text).map_err(|error| error.to_string())?;\n"
            f"                serde_json::to_string(&{call}).map_err(|error| error.to_string())\n            }})) }},\n"
        )
    table = f"    pub fn table() -> Vec<Entry<Self>> {{\n        vec![\n{entries}        ]\n    }}\n"
    return f"pub struct Set{block};\n\n{structs}\nimpl Set{block} {{\n{methods}}}\nimpl Set{block} {{\n{table}}}\n"


def source(kind, count, revisions):
    blocks = [(block, range(block * BLOCK, (block + 1) * BLOCK)) for block in range(count // BLOCK)]
    make = tools_block if kind == "tools" else derives_block
    body = "\n".join(make(block, tools, revisions) for block, tools in blocks)
    if kind == "tools":
        main = "fn main() {\n    println!(\"{}\", tool_core::ToolContext::discover().map_or(0, |tools| tools.definitions().count()));\n}\n"
        return "use tool_core::{schemars, serde};\n" + SHARED.replace("JsonSchema)]", "JsonSchema)]\n#[serde(crate = \"tool_core::serde\")]\n#[schemars(crate = \"tool_core::schemars\")]") + body + main
    total = " + ".join(f"count(&Set{block}::table(), &Set{block})" for block, _ in blocks)
    main = (
        "fn count<T>(table: &[Entry<T>], set: &T) -> usize {\n    let asked = std::env::args().nth(1).unwrap_or_default();\n"
        "    table.iter().map(|entry| {\n        drop((entry.call)(set, &asked));\n"
        "        entry.name.len() + entry.description.len() + (entry.schema)().to_string().len()\n    }).sum()\n}\n"
        f"fn main() {{\n    println!(\"{{}}\", {total});\n}}\n"
    )
    return HAND + SHARED + body + main


def write_crate(where, kind, count):
    (where / "src").mkdir(parents=True, exist_ok=True)
    if kind == "tools":
        needs = f'tool-core = {{ path = "{ROOT / "tool-core"}" }}\n'
    else:
        needs = 'serde = { version = "1", features = ["derive"] }\nserde_json = "1"\nschemars = "1"\n'
    (where / "Cargo.toml").write_text(
        f'[package]\nname = "{kind}-{count}"\nversion = "0.0.0"\nedition = "2024"\n\n[dependencies]\n{needs}'
    )
    (where / "src/main.rs").write_text(source(kind, count, {}))


def cargo(workspace, *arguments):
    """CPU seconds in user mode of cargo and what it starts."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    environment = {**os.environ, "CARGO_TARGET_DIR": str(workspace / "target")}
    done = subprocess.run(["cargo", *arguments], cwd=workspace, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cargo {' '.join(arguments)} failed:\n{done.stderr[-4000:]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def measure(workspace, kinds, repeat):
    times = {}
    for round_ in range(repeat):
        for kind in kinds:
            for count in COUNTS:
                name = f"{kind}-{count}"
                main = workspace / name / "src/main.rs"
                cargo(workspace, "clean", "-p", name)
                times.setdefault((kind, count, "clean"), []).append(cargo(workspace, "build", "-p", name))
                # One method's body changes: cargo rebuilds, and rustc uses what it knew of the rest.
                main.write_text(source(kind, count, {3: round_ + 1}))
                times.setdefault((kind, count, "incremental"), []).append(cargo(workspace, "build", "-p", name))
                print(f"  {name}: {times[kind, count, 'clean'][-1]:.2f} s, {times[kind, count, 'incremental'][-1]:.2f} s",
                      file=sys.stderr)
    return {key: statistics.median(values) for key, values in times.items()}


def binary_bytes(workspace, kinds):
    for kind in kinds:
        for count in (COUNTS[0], COUNTS[-1]):
            cargo(workspace, "build", "--release", "-p", f"{kind}-{count}")
    size = lambda kind, count: (workspace / "target/release" / f"{kind}-{count}").stat().st_size
    return {kind: (size(kind, COUNTS[-1]) - size(kind, COUNTS[0])) / (COUNTS[-1] - COUNTS[0]) for kind in kinds}


def verdict(value, bar):
    return f"{value:.2f}" + (f" (bar {bar:.2f}{', MISSED' if value > bar else ''})" if bar else "")


def report(kinds, times, sizes):
    missed = False
    print("| | 10 | 100 | 300 | ms a tool | x derives |\n|---|--:|--:|--:|--:|--:|")
    for step in ("clean", "incremental"):
        each = lambda kind: (times[kind, COUNTS[-1], step] - times[kind, COUNTS[0], step]) / (COUNTS[-1] - COUNTS[0]) * 1000
        for kind in kinds:
            ratio = each(kind) / each("derives") if "derives" in kinds else float("nan")
            bar = BARS[step] if kind == "tools" else None
            missed |= bool(bar) and ratio > bar
            seconds = " | ".join(f"{times[kind, count, step]:.2f} s" for count in COUNTS)
            print(f"| {kind}, {step} | {seconds} | {each(kind):.1f} | {verdict(ratio, bar)} |")
    for kind, size in sizes.items():
        bar = BYTES if kind == "tools" else None
        missed |= bool(bar) and size > bar
        print(f"\n{kind}: {size:,.0f} bytes of stripped release binary a tool" + (f" (bar {bar:,}{', MISSED' if size > bar else ''})" if bar else ""))
    return missed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-binary", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path, help="generate and build there, and leave it")
    parser.add_argument("--variants", default="tools,derives")
    options = parser.parse_args()
    kinds = options.variants.split(",")
    workspace = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="tool-compile-time-"))
    workspace.mkdir(parents=True, exist_ok=True)
    names = [f"{kind}-{count}" for kind in kinds for count in COUNTS]
    for kind in kinds:
        for count in COUNTS:
            write_crate(workspace / f"{kind}-{count}", kind, count)
    members = ", ".join(f'"{name}"' for name in names)
    (workspace / "Cargo.toml").write_text(
        f'[workspace]\nresolver = "3"\nmembers = [{members}]\n\n[profile.release]\nstrip = true\n'
    )
    shutil.copy(ROOT / "Cargo.lock", workspace / "Cargo.lock")
    try:
        print("building dependencies", file=sys.stderr)
        for name in names:
            # One by one, because a package alone may want other features of its dependencies than the whole workspace.
            cargo(workspace, "build", "-p", name)
        times = measure(workspace, kinds, options.repeat)
        sizes = {} if options.no_binary else binary_bytes(workspace, kinds)
    finally:
        if not options.keep:
            shutil.rmtree(workspace, ignore_errors=True)
    sys.exit(1 if report(kinds, times, sizes) else 0)


if __name__ == "__main__":
    main()
