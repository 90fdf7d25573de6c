"""Compile-time cost per tool. Generates PEER x N crates (4 parameters per tool) in target/compile, prebuilds the
dependencies by building the N=1 crate, then measures for each N: clean debug build of that crate alone, incremental
rebuild after editing one tool body, stripped release size. Prints JSON lines.
Usage: compile_bench.py [peer ...]   (env SIZES=10,100 REPS=3 RELEASE=1)"""
import json, os, pathlib, resource, shutil, statistics, subprocess, sys, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from yardstick import ENVIRONMENT, ROOT

OUT = ROOT / "target" / "compile"
SIZES = [int(x) for x in os.environ.get("SIZES", "10,100").split(",")]
REPS = int(os.environ.get("REPS", "3"))
RELEASE = os.environ.get("RELEASE", "1") == "1"
# That of the contestants.
PROFILE = '[profile.release]\nopt-level = 3\nlto = "thin"\ncodegen-units = 1\ndebug = false\nstrip = "none"\n'

PARAMS = "title: String, count: u32, tags: Vec<String>, note: Option<String>"
FIELDS = """    /// The title to use
    title: String,
    /// How many of them
    count: u32,
    /// Labels to attach
    tags: Vec<String>,
    /// A free-form note
    note: Option<String>,"""
DOCPARAMS = FIELDS.replace("\n    ", "\n        ")


def body(i, a=""):
    return f'format!("{{}} {{}} {{}} {{:?}} #{i} /*EDIT{i}*/", {a}title, {a}count, {a}tags.len(), {a}note)'


MAIN = """
fn main() {
    let mut a = std::env::args().skip(1);
    let (name, args) = (a.next().unwrap_or_default(), a.next().unwrap_or_else(|| "{}".into()));
    let rt = tokio::runtime::Builder::new_current_thread().build().unwrap();
    println!("{}", rt.block_on(dispatch(name, args)));
}
"""
TOKIO = 'tokio = { version = "1", default-features = false, features = ["rt", "time"] }\nserde = { version = "1", features = ["derive"] }\nserde_json = "1"\n'


def floor(n, schemars):
    s = "use serde::Deserialize;\nuse std::{future::Future, pin::Pin};\ntype F<'a> = Pin<Box<dyn Future<Output = Result<String, serde_json::Error>> + Send + 'a>>;\nstruct S;\n"
    d = "Deserialize, schemars::JsonSchema" if schemars else "Deserialize"
    for i in range(n):
        s += f"#[derive({d})]\nstruct A{i} {{\n{FIELDS}\n}}\n"
    s += "impl S {\n" + "".join(f"    /// Tool number {i}\n    async fn tool_{i}(&self, a: A{i}) -> String {{ {body(i, 'a.')} }}\n" for i in range(n)) + "}\n"
    s += "type E = (&'static str, fn() -> serde_json::Value, for<'a> fn(&'a S, &'a str) -> F<'a>);\nstatic TOOLS: &[E] = &[\n"
    for i in range(n):
        sch = f"|| schemars::schema_for!(A{i}).to_value()" if schemars else "|| serde_json::Value::Null"
        s += f'    ("tool_{i}", {sch}, |s, j| Box::pin(async move {{ let a = serde_json::from_str(j)?; serde_json::to_string(&s.tool_{i}(a).await) }})),\n'
    s += '];\nasync fn dispatch(name: String, args: String) -> String {\n    if name == "list" { return serde_json::to_string(&TOOLS.iter().map(|t| (t.0, (t.1)())).collect::<Vec<_>>()).unwrap(); }\n    match TOOLS.iter().find(|t| t.0 == name) { Some(t) => (t.2)(&S, &args).await.unwrap_or_else(|e| e.to_string()), None => "unknown".into() }\n}\n'
    return s


def rmcp(n):
    s = "use rmcp::{ServerHandler, handler::server::{router::tool::ToolRouter, wrapper::Parameters}, tool, tool_handler, tool_router};\n"
    for i in range(n):
        s += f"#[derive(serde::Deserialize, schemars::JsonSchema)]\nstruct A{i} {{\n{FIELDS}\n}}\n"
    s += "#[derive(Clone)]\nstruct S { tool_router: ToolRouter<Self> }\n#[tool_router]\nimpl S {\n"
    for i in range(n):
        s += f"    /// Tool number {i}\n    #[tool]\n    async fn tool_{i}(&self, Parameters(a): Parameters<A{i}>) -> String {{ {body(i, 'a.')} }}\n"
    s += """}
#[tool_handler(router = self.tool_router)]
impl ServerHandler for S {}
async fn dispatch(name: String, args: String) -> String {
    use rmcp::{handler::server::tool::ToolCallContext, model::*, service::{RequestContext, serve_directly}};
    let s = S { tool_router: S::tool_router() };
    if name == "list" { return serde_json::to_string(&s.tool_router.list_all()).unwrap(); }
    let (a, _b) = tokio::io::duplex(64);
    let run = serve_directly(s.clone(), a, None);
    let p = CallToolRequestParams::new(name).with_arguments(serde_json::from_str(&args).unwrap());
    let cx = RequestContext::new(RequestId::Number(1), run.peer().clone());
    format!("{:?}", s.tool_router.call(ToolCallContext::new(&s, p, cx)).await)
}
"""
    return s


def rig(n):
    s = "use rig_core::tool::ToolExecutionError;\nuse rig_agent::tool::{ToolContext, ToolSet};\n"
    for i in range(n):
        s += f"/// Tool number {i}\n#[rig_core::rig_tool]\nasync fn tool{i}(\n{DOCPARAMS}\n) -> Result<String, ToolExecutionError> {{ Ok({body(i)}) }}\n"
    s += "fn set() -> ToolSet {\n    let mut s = ToolSet::default();\n" + "".join(f"    s.add_tool(Tool{i});\n" for i in range(n)) + "    s\n}\n"
    s += 'async fn dispatch(name: String, args: String) -> String {\n    let s = set();\n    if name == "list" { return serde_json::to_string(&s.tool_definitions()).unwrap(); }\n    s.execute(&name, args, &mut ToolContext::new()).await.output().render()\n}\n'
    return s


def tools_rs(n):
    s = "use tools_rs::{FunctionCall, tool};\n"
    for i in range(n):
        s += f"#[tool]\n/// Tool number {i}\nasync fn tool_{i}({PARAMS}) -> String {{ {body(i)} }}\n"
    s += 'async fn dispatch(name: String, args: String) -> String {\n    let c = tools_rs::collect_tools();\n    if name == "list" { return c.json().unwrap().to_string(); }\n    match c.call(FunctionCall { id: None, name, arguments: serde_json::from_str(&args).unwrap() }).await { Ok(r) => r.result.to_string(), Err(e) => e.to_string() }\n}\n'
    return s


def turbomcp(n):
    s = 'use turbomcp::prelude::*;\n#[derive(Clone)]\nstruct S;\n#[turbomcp::server(name = "bench", version = "1.0.0")]\nimpl S {\n'
    for i in range(n):
        s += f'    /// Tool number {i}\n    #[tool]\n    async fn tool_{i}(&self,\n        #[description("The title to use")] title: String,\n        #[description("How many of them")] count: u32,\n        #[description("Labels to attach")] tags: Vec<String>,\n        #[description("A free-form note")] note: Option<String>) -> McpResult<String> {{ Ok({body(i)}) }}\n'
    s += '}\nasync fn dispatch(name: String, args: String) -> String {\n    if name == "list" { return serde_json::to_string(&S.list_tools()).unwrap(); }\n    format!("{:?}", S.call_tool(&name, serde_json::from_str(&args).unwrap(), &RequestContext::new()).await)\n}\n'
    return s


def rust_mcp_sdk(n):
    s = "use rust_mcp_sdk::{macros::{JsonSchema, mcp_tool}, schema::CallToolRequestParams, tool_box};\nuse serde::{Deserialize, Serialize};\n"
    for i in range(n):
        s += f'#[mcp_tool(name = "tool_{i}", description = "Tool number {i}")]\n#[derive(Debug, Deserialize, Serialize, JsonSchema)]\npub struct T{i} {{\n{FIELDS}\n}}\nasync fn tool_{i}(a: T{i}) -> String {{ {body(i, "a.")} }}\n'
    s += f"tool_box!(Tools, [{', '.join(f'T{i}' for i in range(n))}]);\n"
    s += 'async fn dispatch(name: String, args: String) -> String {\n    if name == "list" { return serde_json::to_string(&Tools::tools()).unwrap(); }\n    let p = CallToolRequestParams::new(name, rust_mcp_sdk::schema::RequestMetaObject::default()).with_arguments(serde_json::from_str(&args).unwrap());\n    match Tools::try_from(p).unwrap() {\n' + "".join(f"        Tools::T{i}(a) => tool_{i}(a).await,\n" for i in range(n)) + "    }\n}\n"
    return s


def swiftide(n):
    s = "use swiftide::{agents::DefaultContext, chat_completion::{Tool, ToolCall, ToolOutput, errors::ToolError}, traits::AgentContext};\n"
    for i in range(n):
        s += f'#[swiftide::tool(description = "Tool number {i}",\n    param(name = "title", description = "The title to use"),\n    param(name = "count", description = "How many of them"),\n    param(name = "tags", description = "Labels to attach"),\n    param(name = "note", description = "A free-form note", required = false))]\nasync fn tool_{i}(_cx: &dyn AgentContext, {PARAMS.replace("title: String", "title: &str")}) -> Result<ToolOutput, ToolError> {{ Ok(ToolOutput::text({body(i)})) }}\n'
    s += f"fn tools() -> Vec<Box<dyn Tool>> {{ vec![{', '.join(f'tool_{i}()' for i in range(n))}] }}\n"
    s += 'async fn dispatch(name: String, args: String) -> String {\n    if name == "list" { return format!("{:?}", tools().iter().map(|t| t.tool_spec()).collect::<Vec<_>>()); }\n    let call = ToolCall::builder().id("1").name(name).args(args).build().unwrap();\n    let t = tools().into_iter().find(|t| t.name() == call.name()).unwrap();\n    format!("{:?}", t.invoke(&DefaultContext::default(), &call).await)\n}\n'
    return s


def ours(n):
    s = "use tool_core::{RunContext, ToolContext, toolset};\nstruct S;\n#[toolset]\nimpl S {\n"
    for i in range(n):
        s += f"    /// Tool number {i}\n    #[tool]\n    async fn tool_{i}(\n        &self,\n    {DOCPARAMS}\n    ) -> String {{ {body(i)} }}\n"
    s += """}
async fn dispatch(name: String, args: String) -> String {
    let tools = ToolContext::builder().with(S).build().unwrap();
    if name == "list" { return serde_json::to_string(&tools.definitions().map(|t| (t.name(), t.description(), t.parameters())).collect::<Vec<_>>()).unwrap(); }
    tools.call(&name, &args, &RunContext::detached()).await.to_json()
}
"""
    return s


SCH = 'schemars = "1"\n'
OURS = ROOT.parent.parent / "tool-core"
PEERS = {
    "floor_serde": (lambda n: floor(n, False), TOKIO),
    "floor_schemars": (lambda n: floor(n, True), TOKIO + SCH),
    "ours": (ours, TOKIO + f'tool-core = {{ path = "{OURS}" }}\n'),
    "tools_rs": (tools_rs, TOKIO + 'tools-rs = "=0.3.3"\ntools_core = "=0.3.3"\ntools_macros = "=0.3.0"\ninventory = "0.3"\n'),
    "rmcp": (rmcp, TOKIO.replace('"time"', '"time", "io-util"') + SCH + 'rmcp = { version = "=3.9.0", default-features = false, features = ["server", "macros", "client", "transport-async-rw"] }\n'),
    "rig": (rig, TOKIO + SCH + 'rig-core = { version = "=0.44.0", default-features = false, features = ["derive"] }\nrig-agent = { version = "=0.44.0", default-features = false, features = ["derive"] }\n'),
    "turbomcp": (turbomcp, TOKIO + SCH + 'turbomcp = { version = "=3.6.0", default-features = false }\n'),
    "rust_mcp_sdk": (rust_mcp_sdk, TOKIO + 'rust-mcp-sdk = { version = "=2.0.0", default-features = false, features = ["server", "macros", "stdio"] }\nasync-trait = "0.1"\n'),
    "swiftide": (swiftide, TOKIO + SCH + 'swiftide = { version = "=0.32.1", default-features = false, features = ["swiftide-agents", "macros"] }\nanyhow = "1"\nasync-trait = "0.1"\n'),
}


def package(folder, name, dependencies, source, more=""):
    """Writes a package. A file that is the same stays, so that cargo does not build it again."""
    manifest = f'{more}[package]\nname = "{name}"\nversion = "0.0.0"\nedition = "2024"\nrust-version = "1.95"\n[dependencies]\n{dependencies}'
    text = "#![allow(dead_code, unused_imports)]\n" + source + MAIN
    (folder / "src").mkdir(parents=True, exist_ok=True)
    for path, text in ((folder / "Cargo.toml", manifest), (folder / "src/main.rs", text)):
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def cargo(folder, target, *arguments):
    """Runs cargo, and returns seconds: elapsed, and CPU of cargo, rustc and linker."""
    environment = {**ENVIRONMENT, "CARGO_TARGET_DIR": str(target), "CARGO_TERM_COLOR": "never"}
    start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(["cargo", *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def workspace(peers, sizes):
    """Writes the crates, with the versions of the contestants' lock file."""
    OUT.mkdir(parents=True, exist_ok=True)
    # Every generated crate is a member, also those of other runs.
    (OUT / "Cargo.toml").write_text(f'[workspace]\nresolver = "3"\nmembers = ["*_[0-9]*"]\n{PROFILE}')
    for peer in peers:
        generate, dependencies = PEERS[peer]
        for n in [1, *sizes]:
            package(OUT / f"{peer}_{n}", f"cb-{peer}-{n}", dependencies, generate(n))
    shutil.copy(ROOT / "Cargo.lock", OUT / "Cargo.lock")
    cargo(OUT, ROOT / "target", "metadata", "--format-version", "1")


def clean(peer, n, link=True):
    """Builds a crate alone, and returns the seconds. Linking varies more than the rest."""
    cargo(OUT, ROOT / "target", "clean", "-p", f"cb-{peer}-{n}", "--profile", "dev")
    command, *flags = ["build"] if link else ["rustc", "--", "-C", "linker=true"]
    return cargo(OUT, ROOT / "target", command, "--offline", "-p", f"cb-{peer}-{n}", *flags)


def edited(peer, n, reps):
    """Builds a crate after edits of the body of a tool in the middle, and returns the seconds of each."""
    source = OUT / f"{peer}_{n}/src/main.rs"
    text, seconds = source.read_text(), []
    try:
        for rep in range(reps):
            source.write_text(text.replace(f"/*EDIT{n // 2}*/", f"/*EDIT{n // 2}*/ {rep}x"))
            seconds.append(cargo(OUT, ROOT / "target", "build", "--offline", "-p", f"cb-{peer}-{n}"))
    finally:
        source.write_text(text)
    return seconds


def debug(peer, n):
    """Returns medians of clean builds and of builds after an edit."""
    runs = {"clean": [clean(peer, n) for _ in range(REPS)], "incr": edited(peer, n, REPS)}
    return {f"{name}_{unit}": statistics.median(run[i] for run in times) for name, times in runs.items() for i, unit in enumerate(["s", "cpu"])}


def release(peer, n):
    """Returns the time of a release build of a crate alone, and the size of the program without symbols."""
    name = f"cb-{peer}-{n}"
    seconds, cpu = cargo(OUT, ROOT / "target", "build", "--offline", "--release", "-p", name)
    copy = OUT / f"{name}.stripped"
    subprocess.run(["strip", "-o", copy, ROOT / "target/release" / name], check=True)
    return {"release_s": seconds, "release_cpu": cpu, "stripped_bytes": copy.stat().st_size}


def prepare(peer, *profile):
    """Builds the dependencies, and what the first build of a crate writes."""
    cargo(OUT, ROOT / "target", "build", "--offline", *profile, "-p", f"cb-{peer}-1")


def main():
    peers = sys.argv[1:] or list(PEERS)
    workspace(peers, SIZES)
    for peer in peers:
        try:
            prepare(peer)
            if RELEASE:
                prepare(peer, "--release")
            for n in SIZES:
                row = {"kind": "compile", "peer": peer, "n": n, **debug(peer, n), **(release(peer, n) if RELEASE else {})}
                print(json.dumps(row), flush=True)
        except RuntimeError as error:
            print(f"# {peer} FAILED:\n{error}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
