//! The content of manifests, their versions, and the problems that prevent them. R-F1 to R-F3

use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::call::mode::Modes;
use crate::describe::manifest;
use crate::describe::manifest::{Manifest, assert_manifest_version, check_manifest, version};
use crate::registry::ToolContext;
use crate::schema::timestamp::Timestamp;
use crate::tool::function::FunctionTool;
use crate::tool::guide::Guide;
use crate::tool::options::{
    Category, Confirm, DuplicateScope, OnDuplicate, SetOption, for_each_flag, for_each_option,
};
use crate::tool::raw::RawTool;
use serde_json::{Map, Value, json};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::time::Duration;
use tool_macros::toolset;

async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
    Ok(arguments)
}

fn raw(name: &str, description: &str, parameters: Value) -> FunctionTool {
    FunctionTool::raw(
        RawTool {
            name: name.into(),
            description: description.into(),
            parameters,
        },
        echo,
    )
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"query": {"type": "string", "maxLength": 80}}, "required": ["query"]})
}

fn search() -> FunctionTool {
    raw("search", "Search the base. Fast.", schema())
}

fn context(tools: impl IntoIterator<Item = FunctionTool>) -> ToolContext {
    tools
        .into_iter()
        .fold(
            ToolContext::builder(),
            crate::registry::ToolContextBuilder::with,
        )
        .build()
        .expect("sound tools")
}

fn version_of(tool: FunctionTool) -> String {
    Manifest::build(&context([tool])).expect("sound").version
}

fn guided(tool: &FunctionTool, guide: &str) -> FunctionTool {
    tool.changed(|definition| definition.guide = Some(Guide::parse(guide)))
}

fn problems(tools: impl IntoIterator<Item = FunctionTool>) -> Vec<String> {
    let errors = Manifest::build(&context(tools)).expect_err("problems");
    errors.to_string().lines().map(str::to_owned).collect()
}

struct Clock;

/// The time of day.
#[toolset(name = "clock_of_manifest_tests", discover = false)]
impl Clock {
    /// Tell the time. To the second.
    ///
    /// # Returns
    /// the time
    #[tool(
        name = "tell_time_for_manifest",
        category = "retrieval",
        timeout = "2s",
        max_calls = 3
    )]
    async fn tell(#[arg(default = "UTC")] zone: String) -> String {
        zone
    }
}

fn clock() -> Manifest {
    Manifest::build(&ToolContext::builder().with(Clock).build().expect("sound")).expect("sound")
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tool-core-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

// R-F1
#[test]
fn describes_every_member_of_a_tool() {
    let value = serde_json::to_value(clock()).expect("JSON");
    let tool = &value["tools"][0];
    assert_eq!(tool["toolId"], "tell_time_for_manifest");
    assert_eq!(tool["category"], "retrieval");
    assert_eq!(tool["summary"], "Tell the time.");
    assert_eq!(tool["documentation"], "Tell the time. To the second.");
    assert_eq!(tool["returns"], "the time");
    assert_eq!(tool["jsonSchema"]["properties"]["zone"]["default"], "UTC");
    assert_eq!(tool["outputSchema"], json!({"type": "string"}));
    assert_eq!(tool["providerSchemas"], json!({}));
    assert!(
        tool["handlerPath"]
            .as_str()
            .is_some_and(|path| path.ends_with("tests::manifest::Clock::tell")),
        "{tool}"
    );
    assert!(
        tool["source"]
            .as_str()
            .is_some_and(|source| source.contains("manifest.rs:")),
        "{tool}"
    );
    assert_eq!(
        (&tool["modes"], &tool["confirm"]),
        (&json!(["voice", "text"]), &json!("never"))
    );
    assert_eq!(
        (&tool["flags"], &tool["timeoutMs"]),
        (&json!(["idempotent"]), &json!(2000))
    );
    assert_eq!(tool["maxCalls"], 3);
}

// R-F1
#[test]
fn writes_commit_and_build_time() {
    let built: Timestamp = "2026-11-20T10:00:00Z".parse().expect("a time");
    let manifest = clock()
        .with_git_commit(Some("0123456789abcdef"))
        .with_build_timestamp(built);
    let value = serde_json::to_value(&manifest).expect("JSON");
    assert_eq!(
        (&value["gitCommit"], &value["buildTimestamp"]),
        (&json!("01234567"), &json!("2026-11-20T10:00:00Z"))
    );
    assert_eq!(
        serde_json::to_value(manifest.with_git_commit(None)).expect("JSON")["gitCommit"],
        Value::Null
    );
}

// R-F1
#[test]
fn the_commit_has_8_hexadecimal_digits() {
    let commit = clock().git_commit;
    assert!(commit.is_none_or(
        |commit| commit.len() == 8 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())
    ));
}

// R-F1
#[test]
fn sorts_tools_by_id() {
    let ids = |tools| {
        Manifest::build(&context(tools))
            .expect("sound")
            .tools
            .into_iter()
            .map(|tool| tool.tool_id)
    };
    let tools = || ["b", "a", "c"].map(|name| raw(name, "Something.", schema()));
    assert!(ids(tools()).eq(["a", "b", "c"]));
}

// R-F1
#[test]
fn takes_documentation_and_summary_from_the_guide() {
    let guide = "# Search\n\nFinds things. Use it.\n\n## Watch Out\n\nSlow.\n";
    let manifest = Manifest::build(&context([guided(&search(), guide)])).expect("sound");
    let tool = manifest.tool("search").expect("it");
    assert_eq!(
        (tool.summary.as_str(), tool.documentation.as_str()),
        ("Finds things. Use it.", guide)
    );
    assert_eq!(tool.description, "Search the base. Fast.");
}

// R-F2
#[test]
fn the_version_is_stable() {
    assert_eq!(version_of(search()), "1.0.96fd61c3");
}

// R-F2
#[test]
fn order_and_number_format_do_not_change_the_version() {
    let tools = || [search(), raw("other", "Another.", schema())];
    let version =
        |tools: Vec<FunctionTool>| Manifest::build(&context(tools)).expect("sound").version;
    assert_eq!(
        version(tools().into()),
        version(tools().into_iter().rev().collect())
    );
    let floating = json!({"required": ["query"], "properties": {"query": {"maxLength": 80.0, "type": "string"}}, "type": "object"});
    assert_eq!(
        version_of(raw("search", "Search the base. Fast.", floating)),
        version_of(search())
    );
}

// R-F2
#[test]
fn metadata_does_not_change_the_version() {
    let tools = context([search()]);
    let manifest = Manifest::build(&tools).expect("sound");
    let other = manifest
        .clone()
        .with_git_commit(Some("ffffffff"))
        .with_build_timestamp("2020-01-01T00:00:00Z".parse().expect("a time"))
        .with_provider_schemas(&tools, |tool| {
            Map::from_iter([("openai".to_owned(), tool.parameters().clone())])
        });
    assert_eq!(version(&other.tools), manifest.version);
    assert_eq!(other.tools[0].provider_schemas["openai"], schema());
}

// R-F2
#[test]
fn a_change_of_content_changes_the_version() {
    let guide = "# S\n\nSummary.\n";
    let versions = [
        search(),
        raw("search", "Search the base. Fast", schema()),
        raw("find", "Search the base. Fast.", schema()),
        raw(
            "search",
            "Search the base. Fast.",
            json!({"type": "object"}),
        ),
        guided(&search(), guide),
        guided(&search(), &format!("{guide}\nMore.\n")),
        search().category(Category::Action),
        search().modes(Modes::VOICE),
        search().timeout(Duration::from_secs(1)),
        search().max_output(10),
        search().output_schema(json!({"type": "string"})),
        search().max_calls(1),
        search().sequential(),
        search().confirm(Confirm::Always),
    ]
    .map(version_of);
    let distinct = versions.iter().collect::<std::collections::HashSet<_>>();
    assert_eq!(distinct.len(), versions.len(), "{versions:?}");
}

/// A value of an option other than its default.
trait SampleValue {
    const SAMPLE: Self;
}

macro_rules! samples {
    ($($type:ty = $value:expr;)*) => {
        $(impl SampleValue for $type {
            const SAMPLE: Self = $value;
        })*
    };
}

samples! {
    Category = Category::Retrieval;
    Modes = Modes::VOICE;
    Confirm = Confirm::Always;
    Duration = Duration::from_secs(7);
    OnDuplicate = OnDuplicate::Reject;
    DuplicateScope = DuplicateScope::NameAndArgs;
    usize = 7;
    u32 = 7;
}

/// A tool with one option.
struct ToolWithOption {
    option: &'static str,
    /// The value that was set, and the value that the definition has.
    given: String,
    stored: String,
    tool: FunctionTool,
}

/// A tool that may have any option.
fn repeatable() -> FunctionTool {
    search().idempotent()
}

macro_rules! tools_with_options {
    ($(
        $(#[$get:meta])* get $name:ident: $type:ty = $default:expr;
        $(#[$set:meta])* set($argument:ident: $given:ty) => $value:expr;
    )*) => {
        [$({
            let $argument = <$given>::SAMPLE;
            let given: $type = $value;
            let tool = repeatable().$name($argument);
            ToolWithOption {
                option: stringify!($name),
                given: format!("{given:?}"),
                stored: format!("{:?}", tool.definition().$name()),
                tool,
            }
        }),*]
    };
}

/// Returns a tool for each option with a value.
fn tools_with_options() -> Vec<ToolWithOption> {
    for_each_option!(tools_with_options).into()
}

// D3
#[test]
fn each_option_with_a_value_is_stored_in_the_definition() {
    for ToolWithOption {
        option,
        given,
        stored,
        ..
    } in tools_with_options()
    {
        assert_eq!(stored, given, "{option}");
    }
}

// R-F2
#[test]
fn each_option_with_a_value_changes_the_version() {
    let without = version_of(repeatable());
    for ToolWithOption { option, tool, .. } in tools_with_options() {
        assert_ne!(version_of(tool), without, "{option}");
    }
}

/// The options that every list shows in a way of its own.
const SHOWN_APART: [&str; 4] = ["category", "modes", "confirm", "duplicate_scope"];

// R-F1
#[test]
fn each_option_with_a_value_is_shown_in_every_list() {
    for ToolWithOption { option, tool, .. } in tools_with_options() {
        if SHOWN_APART.contains(&option) {
            continue;
        }
        let shown = tool.definition().set_options();
        let SetOption {
            name,
            json_name,
            json,
            ..
        } = shown.first().unwrap_or_else(|| panic!("{option}"));
        assert_eq!(*name, option);
        let manifest = Manifest::build(&context([tool])).expect("sound");
        let manifest = serde_json::to_value(manifest).expect("JSON");
        assert_eq!(&manifest["tools"][0][json_name], json, "{option}");
    }
}

macro_rules! tools_with_flags {
    ($($(#[$doc:meta])* $name:ident() => $($field:ident).+ = $value:expr;)*) => {
        [$((stringify!($name), search().$name())),*]
    };
}

// D3, R-F2
#[test]
fn each_flag_is_named_and_changes_the_version() {
    let without = version_of(search());
    for (flag, tool) in for_each_flag!(tools_with_flags) {
        let names = tool.definition().flags().names().collect::<Vec<_>>();
        assert_eq!(names, [flag]);
        assert_ne!(version_of(tool), without, "{flag}");
    }
}

// R-F3
#[test]
fn reports_every_problem_one_a_line() {
    let bad_example =
        "# S\n\nSummary.\n\n## Examples\n\n```json\n{\"query\": 1}\n```\n\n```json\nnope\n```\n";
    let messages = problems([
        raw("silent", " ", schema()),
        guided(&search(), bad_example),
        guided(&raw("empty_guide", "Something.", schema()), "\n"),
    ]);
    assert_eq!(messages.len(), 4, "{messages:#?}");
    assert!(
        messages[0].starts_with("tool `silent`: the description is empty"),
        "{messages:#?}"
    );
    assert!(
        messages[1]
            .starts_with("tool `search`: guide line 8: example: `/query`: expected a string"),
        "{messages:#?}"
    );
    assert!(
        messages[2].starts_with("tool `search`: guide line 12: the example is not JSON"),
        "{messages:#?}"
    );
    assert_eq!(messages[3], "tool `empty_guide`: the guide is empty");
}

// R-F3
#[test]
fn reports_an_invalid_schema() {
    let broken = raw(
        "broken",
        "Something.",
        json!({"type": "object", "properties": {"a": {"type": "text"}}}),
    );
    let messages = manifest::problems(broken.definition());
    assert_eq!(messages.len(), 1);
    assert!(
        messages[0]
            .to_string()
            .contains("not valid in JSON Schema draft 2020-12: `/properties/a/type`"),
        "{}",
        messages[0]
    );
}

// R-F3: older drafts are converted. A keyword without a counterpart is a problem.
#[test]
fn checks_older_drafts_against_draft_2020_12() {
    let three = json!({"$schema": "http://json-schema.org/draft-03/schema#", "type": "object",
        "properties": {"a": {"required": true}}});
    assert_eq!(
        manifest::problems(raw("old", "Something.", three).definition()).len(),
        1
    );
    let seven = json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
        "properties": {"pair": {"items": [{"type": "string"}]}}});
    assert_eq!(
        manifest::problems(raw("old", "Something.", seven).definition()).len(),
        0
    );
}

#[test]
fn reads_the_file_that_it_wrote() {
    let folder = Folder::new("round");
    let path = folder.0.join("tool_registry.json");
    let manifest = clock();
    manifest.write(&path).expect("written");
    assert_eq!(Manifest::read(&path).expect("read"), manifest);
    let text = std::fs::read_to_string(&path).expect("text");
    assert!(text.ends_with("}\n"));
    // C16
    std::fs::write(&path, format!("\u{feff}{text}")).expect("written");
    assert_eq!(Manifest::read(&path).expect("read"), manifest);
}

#[test]
fn names_a_missing_or_invalid_file() {
    let folder = Folder::new("absent");
    let absent = folder.0.join("absent.json");
    let broken = folder.0.join("broken.json");
    std::fs::write(&broken, "{}").expect("written");
    for path in [absent, broken] {
        let error = check_manifest(&context([search()]), &path)
            .expect_err("no manifest")
            .to_string();
        assert!(
            error.starts_with(&format!(
                "failed to access the manifest `{}`: ",
                path.display()
            )),
            "{error}"
        );
    }
}

#[test]
fn accepts_unchanged_tools() {
    let folder = Folder::new("same");
    let path = folder.0.join("tool_registry.json");
    Manifest::build(&context([search()]))
        .expect("sound")
        .with_git_commit(None)
        .write(&path)
        .expect("written");
    check_manifest(&context([search()]), &path).expect("no drift");
}

#[test]
fn reports_added_removed_and_changed_tools() {
    let folder = Folder::new("drift");
    let path = folder.0.join("tool_registry.json");
    let gone = raw("gone", "Something.", schema());
    Manifest::build(&context([gone, search()]))
        .expect("sound")
        .write(&path)
        .expect("written");

    let narrower = json!({"type": "object", "properties": {"query": {"type": "string", "maxLength": 40}}, "required": ["query"]});
    let now = context([
        raw("fresh", "Something.", schema()),
        raw("search", "Search the base. Fast.", narrower).max_output(9),
    ]);
    let messages = check_manifest(&now, &path).expect_err("drift").to_string();
    let expected = "tool `fresh`: added\ntool `gone`: removed\n\
        tool `search`: changed: `/jsonSchema/properties/query/maxLength`: expected 80, got 40; `/maxOutput`: expected no value, got 9";
    assert_eq!(messages, expected);
}

#[test]
fn compares_provider_schemas_only_where_known() {
    let tools = context([search()]);
    let plain = Manifest::build(&tools).expect("sound");
    let filled = |text: &str| {
        plain.clone().with_provider_schemas(&tools, |_| {
            Map::from_iter([("openai".to_owned(), text.into())])
        })
    };
    assert!(plain.drift_from(&filled("a")).is_empty());
    assert_eq!(filled("b").drift_from(&filled("a")).len(), 1);
}

#[test]
fn reports_a_version_edited_by_hand() {
    let plain = Manifest::build(&context([search()])).expect("sound");
    let edited = Manifest {
        version: "1.0.00000000".to_owned(),
        ..plain.clone()
    };
    assert!(
        plain.drift_from(&edited)[0]
            .to_string()
            .contains("expected version 1.0.96fd61c3 by the manifest's content, got 1.0.00000000")
    );
}

// R-F3
#[test]
fn the_assertion_shows_the_new_version() {
    let tools = context([search()]);
    let version = version_of(search());
    assert_manifest_version(&tools, &version);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        assert_manifest_version(&tools, "1.0.00000000");
    }))
    .expect_err("another version");
    let message = panic.downcast_ref::<String>().expect("a message");
    assert!(
        message.contains(&version) && message.contains("write the new version"),
        "{message}"
    );
}
