//! New crates with the programs of the README and the book, and only `tool-core` and tokio as dependencies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Creates a crate outside the workspace and runs its program.
fn run(name: &str, dependency: &str, main: &str) -> Output {
    run_in_edition("2024", name, dependency, main)
}

fn run_in_edition(edition: &str, name: &str, dependency: &str, main: &str) -> Output {
    let folder = create(edition, name, dependency, &[("src/main.rs", main)]);
    cargo(&["run"], &folder)
}

/// Creates a crate outside the workspace, and returns its folder.
fn create(edition: &str, name: &str, dependency: &str, sources: &[(&str, &str)]) -> PathBuf {
    let root = super::root();
    let folder = root.join("target/fresh").join(name);
    let path = root.join("tool-core");
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"{edition}\"\n\n[workspace]\n\n[dependencies]\n\
         {dependency} path = '{}' }}\ntokio = {{ version = \"1\", features = [\"macros\", \"rt-multi-thread\"] }}\n",
        path.display()
    );
    // Programs of an earlier run may be there.
    let _ = fs::remove_dir_all(folder.join("src"));
    for (file, text) in sources {
        let file = folder.join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("written");
    }
    fs::write(folder.join("Cargo.toml"), manifest).expect("written");
    // The same versions as in the workspace, so that nothing is downloaded.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).expect("copied");
    folder
}

/// Two libraries with a tool of one name, and a program that links both.
const TWO: [(&str, &str); 2] = [
    (
        "fresh-one",
        "/// One.\n#[tool_core::tool]\npub fn same_name() -> u8 { 1 }\n",
    ),
    (
        "fresh-two",
        "\n/// Two.\n#[tool_core::tool]\npub fn same_name() -> u8 { 2 }\n",
    ),
];

// L8, L13
#[test]
fn collision_of_two_crates_gives_both_places() {
    let core = super::root().join("tool-core");
    for (name, source) in TWO {
        let folder = super::root().join("target/fresh").join(name);
        fs::create_dir_all(folder.join("src")).expect("a folder");
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\n\
             tool-core = {{ path = '{}' }}\n",
            core.display()
        );
        fs::write(folder.join("Cargo.toml"), manifest).expect("written");
        fs::write(folder.join("src/lib.rs"), source).expect("written");
    }
    let dependency = "fresh-one = { path = \"../fresh-one\" }\nfresh-two = { path = \"../fresh-two\" }\ntool-core = {";
    let main = "use fresh_one as _;\nuse fresh_two as _;\n\
                fn main() { println!(\"{}\", tool_core::ToolContext::discover().expect_err(\"a collision\")); }\n";
    let text = printed(&run("fresh-collision", dependency, main));
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(
        text.starts_with("duplicate function name: same_name"),
        "{text}"
    );
    assert!(
        text.contains("fresh-one/src/lib.rs:3") && text.contains("fresh-two/src/lib.rs:4"),
        "{text}"
    );
}

fn cargo(command: &[&str], folder: &Path) -> Output {
    crate::cargo::cargo()
        .args(command)
        .args(["--quiet", "--offline"])
        .env("CARGO_TARGET_DIR", super::root().join("target"))
        .env_remove("RUSTFLAGS")
        .current_dir(folder)
        .output()
        .expect("cargo runs")
}

fn printed(output: &Output) -> String {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns each program of a page that is followed by its output. A program that needs other crates or features is a doc
/// test only.
fn programs(page: &str) -> Vec<(String, &str)> {
    let blocks = page
        .split("\n```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'));
    let blocks = blocks.collect::<Vec<_>>();
    let with_output = blocks
        .windows(2)
        .filter(|pair| pair[0].0.starts_with("rust") && pair[1].0 == "text");
    // Lines that a page hides begin with `# `.
    let whole = |text: &str| {
        text.lines()
            .map(|line| line.strip_prefix("# ").unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let found = with_output.map(|pair| (whole(pair[0].1), pair[1].1));
    found
        .filter(|(program, _)| program.contains("\nasync fn main()") && needs_no_more(program))
        .collect()
}

/// Returns true for a program that needs the standard library, `tool-core` with its default features and tokio. A program that
/// imports `serde_json` counts as one, and fails: the pages take it from `tool-core`.
fn needs_no_more(program: &str) -> bool {
    let is_there = |path: &str| {
        ["std::", "tool_core::", "serde_json::"]
            .iter()
            .any(|root| path.starts_with(root))
    };
    let uses = program.lines().filter_map(|line| line.strip_prefix("use "));
    uses.clone().all(is_there)
        && !["testing::", "agents::", "tool_adapters::"]
            .iter()
            .any(|path| program.contains(path))
}

#[test]
fn programs_of_the_pages_print_what_the_pages_show() {
    let book = fs::read_dir(super::root().join("docs/book")).expect("the book");
    let mut pages = book
        .map(|entry| entry.expect("an entry").path())
        .collect::<Vec<_>>();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.push(super::root().join("README.md"));
    let texts = pages
        .iter()
        .map(|page| fs::read_to_string(page).expect("a page"))
        .collect::<Vec<_>>();
    let (mut sources, mut promised) = (Vec::new(), Vec::new());
    for (page, text) in pages.iter().zip(&texts) {
        for (number, (program, output)) in programs(text).into_iter().enumerate() {
            let page = page
                .file_stem()
                .expect("a name")
                .to_string_lossy()
                .to_lowercase();
            let name = format!("page-{page}-{number}");
            sources.push((format!("src/bin/{name}.rs"), program));
            promised.push((name, output));
        }
    }
    assert!(
        promised.iter().any(|(name, _)| name == "page-readme-0") && promised.len() > 6,
        "{promised:?}"
    );
    let sources = sources
        .iter()
        .map(|(file, text)| (file.as_str(), text.as_str()))
        .collect::<Vec<_>>();
    let folder = create("2024", "fresh-pages", "tool-core = {", &sources);
    printed(&cargo(&["build", "--bins"], &folder));
    let different = promised.iter().filter_map(|(name, output)| {
        let program = super::root().join("target/debug").join(name);
        let text = printed(&Command::new(program).output().expect("the program runs"));
        // A fence ends the output on the page.
        (text.trim_end() != *output).then(|| format!("{name} prints\n{text}"))
    });
    assert_eq!(different.collect::<Vec<_>>().join("\n"), "");
}

const RENAMED: &str = r##"
use far::{RunContext, ToolContext, tool, toolset};

#[derive(Default)]
struct Shop;

#[toolset(crate = far)]
impl Shop {
    /// Sell.
    #[tool]
    fn sell(&self, what: &str, #[arg(default = 1)] count: u32) -> String {
        format!("{count} {what}")
    }
}

/// Count.
#[tool(crate = far)]
fn count(items: Vec<u8>) -> usize {
    items.len()
}

#[tokio::main]
async fn main() {
    let tools = ToolContext::discover().expect("sound");
    let ctx = RunContext::detached();
    println!("{:?}", tools.call("sell", r#"{"what":"tea"}"#, &ctx).await.data_json());
    println!("{:?}", tools.call("count", r#"{"items":[1,2]}"#, &ctx).await.data_json());
}
"##;

// D9
#[test]
fn a_renamed_dependency_works() {
    let text = printed(&run(
        "fresh-renamed",
        "far = { package = \"tool-core\",",
        RENAMED,
    ));
    assert_eq!(text, "Some(\"\\\"1 tea\\\"\")\nSome(\"2\")\n");
}

const EDITION_2021: &str = r##"
use tool_core::{RunContext, ToolContext, tool, toolset};

#[derive(Default)]
struct Random;

#[toolset]
impl Random {
    /// Generate a number.
    #[tool]
    fn gen(&self, gen: u8, #[arg(default = 3, range(1..=9))] seed: u8) -> u8 {
        gen + seed
    }

    /// Stop.
    #[tool]
    fn stop(&self) -> ! {
        panic!("stopped")
    }

    /// Stop later.
    #[tool]
    async fn stop_later(&self, gen: Option<&str>) -> ! {
        panic!("stopped {gen:?}")
    }
}

/// Generate again.
#[tool(name = "again", args = AgainArgs)]
async fn gen(#[arg(default)] gen: u8) -> u8 {
    gen
}

#[tokio::main]
async fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    let tools = ToolContext::discover().expect("sound");
    let ctx = RunContext::detached();
    println!("{:?}", tools.call("gen", r#"{"gen":4}"#, &ctx).await.data_json());
    println!("{:?}", tools.call("again", r#"{"gen":5}"#, &ctx).await.data_json());
    for name in ["stop", "stop_later"] {
        println!("{:?}", tools.call(name, "{}", &ctx).await.error().map(|error| error.kind));
    }
}
"##;

#[test]
fn edition_2021_may_use_its_names_and_never_return() {
    let text = printed(&run_in_edition(
        "2021",
        "fresh-2021",
        "tool-core = {",
        EDITION_2021,
    ));
    assert_eq!(
        text,
        "Some(\"7\")\nSome(\"5\")\nSome(Internal)\nSome(Internal)\n"
    );
}

const MASKED: &str = r#"
use tool_core::{RunContext, ToolContext, ToolError, tool};

/// Fail.
#[tool]
fn fail() -> Result<u8, ToolError> {
    Ok("x".parse::<u8>()?)
}

#[tokio::main]
async fn main() {
    let tools = ToolContext::discover().expect("sound");
    println!("{}", tools.call("fail", "{}", &RunContext::detached()).await.to_json());
}
"#;

#[test]
fn masked_error_is_printed_where_no_subscriber_logs_it() {
    let output = run("fresh-masked", "tool-core = {", MASKED);
    let printed_errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(printed(&output).contains("An internal error occurred"));
    assert_eq!(
        printed_errors,
        "tool `fail` failed: invalid digit found in string\n"
    );
}

const OWN_TYPE: &str = r##"
use tool_core::{RunContext, ToolContext, schemars::JsonSchema, serde::{Deserialize, Serialize}, tool, tool_type};

#[derive(Deserialize, JsonSchema, Serialize)]
#[serde(crate = "tool_core::serde")]
#[schemars(crate = "tool_core::schemars")]
struct Place {
    city: String,
}

#[tool_type]
struct Weather {
    place: Place,
}

/// Get the weather.
#[tool]
fn weather(place: Place) -> Weather {
    Weather { place }
}

#[tokio::main]
async fn main() {
    let tools = ToolContext::discover().expect("sound");
    let response = tools.call("weather", r#"{"place":{"city":"Berlin"}}"#, &RunContext::detached()).await;
    println!("{}", response.data_json().expect("a result"));
}
"##;

#[test]
fn derives_and_tool_types_need_no_serde() {
    let text = printed(&run("fresh-own-type", "tool-core = {", OWN_TYPE));
    assert_eq!(text, "{\"place\":{\"city\":\"Berlin\"}}\n");
}

// The derives of serde cannot be given another message: `tool.md` names this one beside the cure.
#[test]
fn derive_without_the_crate_option_says_which_is_missing() {
    let plain = OWN_TYPE.replace("#[serde(crate = \"tool_core::serde\")]\n", "");
    let output = run("fresh-plain-derive", "tool-core = {", &plain);
    let errors = String::from_utf8_lossy(&output.stderr);
    let message = "can't find crate for `serde`";
    assert!(
        errors.contains(message) && !output.status.success(),
        "{errors}"
    );
    let docs = fs::read_to_string(super::root().join("tool-core/src/docs/tool.md"))
        .expect("the docs of the macro");
    assert!(docs.contains(message), "{docs}");
}
