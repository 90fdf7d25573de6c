//! Every error message, with the shortest code that causes it. The ui tests check the places.

use expect_test::expect_file;

use super::{errors_in, tokens};
use crate::attr::grammar::TOOL;
use crate::names::listed;
use crate::{driver, tool_error, tool_type};

#[derive(Clone, Copy)]
enum Macro {
    /// `#[tool(ARGS)]` on the source.
    Tool,
    /// `#[prompt(ARGS)]` on the source.
    Prompt,
    /// `#[resource(ARGS)]` on the source.
    Resource,
    /// `#[toolset(ARGS)]` on the source.
    Toolset,
    /// `#[agent(ARGS)]` on the source.
    Agent,
    /// `#[derive(ToolError)]` on the source.
    Derive,
    /// `#[tool_type(ARGS)]` on the source.
    Type,
}
use Macro::{Agent, Derive, Prompt, Resource, Tool, Toolset, Type};

/// Macro, its arguments, and the item.
const CASES: &[(Macro, &str, &str)] = &[
    // Items that the macros can be applied to.
    (Tool, "", "/// D.\n fn get(&self) {}"),
    (Tool, "", "/// D.\n fn make() -> Self {}"),
    (Tool, "", "/// D.\n fn declared(a: u8);"),
    (Tool, "", "struct Weather;"),
    (Tool, "", "impl Weather { fn get(&self) {} }"),
    (Toolset, "", "struct Weather;"),
    (Toolset, "", "mod weather { }"),
    (Toolset, "", "impl Weather { fn helper(&self) {} }"),
    (
        Toolset,
        "",
        "impl Tools for Weather { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl<'a> Weather<'a> { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "name = \"w\"",
        "impl (A, B) { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl Weather { /// D.\n #[cfg_attr(unix, tool)] #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl Weather { /// D.\n #[tool] #[tool] fn get(&self) {} }",
    ),
    // Prompts and resources.
    (Prompt, "", "struct Trip;"),
    (Prompt, "", "/// D.\n fn trip(&self) {}"),
    (Prompt, "", "fn trip() {}"),
    (Prompt, "confirm", "/// D.\n fn trip() {}"),
    (Prompt, "name = \"a trip\"", "/// D.\n fn trip() {}"),
    (Prompt, "", "/// D.\n fn trip<T>(cities: &[T]) {}"),
    (
        Prompt,
        "",
        "/// D.\n fn trip(#[arg(flatten)] page: Page) {}",
    ),
    (
        Prompt,
        "",
        "/// D.\n fn trip(#[arg(complete = \"x\")] city: &str) {}",
    ),
    (
        Prompt,
        "",
        "/// D.\n fn trip(#[arg(complete)] city: &str) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn weather(#[arg(complete = cities)] city: &str) {}",
    ),
    (Resource, "", "/// D.\n fn notes() {}"),
    (Resource, "uri = \"notes\"", "/// D.\n fn notes() {}"),
    (Resource, "uri = \"notes://{id\"", "/// D.\n fn notes() {}"),
    (Resource, "uri = \"notes://id}\"", "/// D.\n fn notes() {}"),
    (
        Resource,
        "uri = \"notes://{?id}\"",
        "/// D.\n fn notes() {}",
    ),
    (
        Resource,
        "uri = \"notes://{a}{b}\"",
        "/// D.\n fn notes(a: u8, b: u8) {}",
    ),
    (
        Resource,
        "uri = \"notes://{a}/{a}\"",
        "/// D.\n fn notes(a: u8) {}",
    ),
    (Resource, "uri = \"a note:\"", "/// D.\n fn notes() {}"),
    (
        Resource,
        "uri = \"notes://{id}\"",
        "/// D.\n fn notes(folder: u8) {}",
    ),
    (
        Resource,
        "uri = \"notes://{id}\"",
        "/// D.\n fn notes(#[arg(default)] id: u8) {}",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool] #[prompt] fn get(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[prompt] fn a(&self) {} /// D.\n #[prompt(name = \"A\")] fn b(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[resource(uri = \"a:b\")] fn a(&self) {} /// D.\n #[resource(uri = \"a:b\")] fn b(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[cfg_attr(unix, prompt)] #[prompt] fn get(&self) {} }",
    ),
    // Agents.
    (Agent, "", "struct Researcher;"),
    (Agent, "", "impl Researcher { fn research(&self) {} }"),
    (Agent, "", "async fn research(&self);"),
    (Agent, "", "const fn research() {}"),
    (Agent, "", "#[agent(\"planner\")] fn research() {}"),
    (Agent, "7", "fn research() {}"),
    (Agent, "\" \"", "fn research() {}"),
    (Agent, "name = \"x\"", "fn research() {}"),
    (Agent, "\"x\" crate = y", "fn research() {}"),
    (Agent, "\"x\", title = \"y\"", "fn research() {}"),
    (Agent, "\"x\", crate", "fn research() {}"),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool] #[agent] #[agent(7)] fn get(&self) {} }",
    ),
    // Signatures.
    (
        Toolset,
        "",
        "impl Sum { /// D.\n #[tool] fn add(&mut self) {} }",
    ),
    (Toolset, "", "impl Sum { /// D.\n #[tool] fn add(self) {} }"),
    (
        Toolset,
        "",
        "impl Sum { /// D.\n #[tool] fn add(self: Arc<Self>) {} }",
    ),
    (Tool, "", "/// D.\n fn get<T>(t: T) {}"),
    (Tool, "", "/// D.\n fn get<const N: usize>() {}"),
    (Tool, "", "/// D.\n fn get<'a>(t: &'a str) {}"),
    (Tool, "", "/// D.\n const fn get() {}"),
    (Tool, "", "/// D.\n unsafe fn get() {}"),
    (Tool, "", "/// D.\n extern \"C\" fn get() {}"),
    (Tool, "", "/// D.\n fn get(first: u8, ...) {}"),
    (
        Toolset,
        "",
        "impl Sum { /// D.\n #[tool] fn add(&'static self) {} }",
    ),
    (
        Toolset,
        "",
        "impl Sum<'_> { /// D.\n #[tool] fn add(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl<T> Sum<T> { /// D.\n #[tool] fn add(&self) where T: Clone {} }",
    ),
    (
        Toolset,
        "",
        "impl<T> Sum<T> { #[setup] fn open(&self) where T: Clone {} /// D.\n #[tool] fn add(&self) {} }",
    ),
    // Descriptions.
    (Tool, "", "async fn forecast(city: String) {}"),
    (Tool, "description = \" \"", "fn forecast() {}"),
    (
        Tool,
        "",
        "/// D.\n ///\n /// # Arguments\n ///\n /// * `titel` - Its title\n fn add(title: String) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n ///\n /// # Arguments\n ///\n /// * `zone` - Gone\n fn add(title: String) {}",
    ),
    // Options.
    (Tool, "nam = \"x\"", "/// D.\n fn get() {}"),
    (Tool, "blue", "/// D.\n fn get() {}"),
    (Tool, "name = \"x\", name = \"y\"", "/// D.\n fn get() {}"),
    (Tool, "name", "/// D.\n fn get() {}"),
    (Tool, "idempotent = true", "/// D.\n fn get() {}"),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool = \"x\"] fn get(&self) {} }",
    ),
    (Tool, "category = \"actoin\"", "/// D.\n fn get() {}"),
    (Tool, "modes(\"video\")", "/// D.\n fn get() {}"),
    (Tool, "modes()", "/// D.\n fn get() {}"),
    (Tool, "on_duplicate = \"refuse\"", "/// D.\n fn get() {}"),
    (Tool, "errors = \"all\"", "/// D.\n fn get() {}"),
    (Tool, "duplicate_scope = \"names\"", "/// D.\n fn get() {}"),
    (Tool, "confirm = \"always\"", "/// D.\n fn get() {}"),
    (Tool, "dynamic", "/// D.\n fn get() {}"),
    (Tool, "dynamic = true", "/// D.\n fn get() {}"),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool(dynamic = self.open)] fn get(&self) {} }",
    ),
    (Tool, "timeout = \"5 hours\"", "/// D.\n fn get() {}"),
    (Tool, "max_calls = 0", "/// D.\n fn get() {}"),
    (
        Tool,
        "category = \"retrieval\", destructive",
        "/// D.\n fn get() {}",
    ),
    (Tool, "retries = 2", "/// D.\n fn get() {}"),
    (Tool, "retries = 0, idempotent", "/// D.\n fn get() {}"),
    (Tool, "blocking", "/// D.\n async fn get() {}"),
    (Tool, "ask_each_time", "/// D.\n fn get() {}"),
    (Tool, "timeout = \"5s\"", "/// D.\n fn get() {}"),
    (
        Tool,
        "guide = \"guides/nowhere.md\"",
        "/// D.\n fn get() {}",
    ),
    (
        Tool,
        "guide = \"src/tests/empty.md\"",
        "/// D.\n fn get() {}",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool(crate = x)] fn get(&self) {} }",
    ),
    (
        Toolset,
        "nme = \"w\"",
        "impl W { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (Tool, "category = action", "/// D.\n fn get() {}"),
    (Tool, "modes", "/// D.\n fn get() {}"),
    (Tool, "modes(voice)", "/// D.\n fn get() {}"),
    (Tool, "max_output = \"1500\"", "/// D.\n fn get() {}"),
    (Tool, "max_calls = 5_000_000_000", "/// D.\n fn get() {}"),
    (Tool, "confirm timeout = \"5s\"", "/// D.\n fn get() {}"),
    (Tool, "\"get\"", "/// D.\n fn get() {}"),
    (Tool, "prefix = \"x\"", "/// D.\n fn get() {}"),
    (
        Toolset,
        "crate = \"tool_core\"",
        "impl W { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "parts = admin",
        "impl W { /// D.\n #[tool] fn get(&self) {} }",
    ),
    // Options by the words of other frameworks.
    (
        Tool,
        "confirmation, requires_approval = true, max_retries = 3, desc = \"x\", rename = \"x\"",
        "/// D.\n fn get() {}",
    ),
    (
        Tool,
        "readOnlyHint, idempotentHint = true, async, hidden, skip, max_tokens = 9, deadline = 5",
        "/// D.\n fn get() {}",
    ),
    (
        Tool,
        "type = \"query\", annotations(x), input_schema = x, output_schema = x, strict",
        "/// D.\n fn get() {}",
    ),
    (
        Toolset,
        "namespace = \"w\", config = C, setup = open, doc = \"x\"",
        "impl W { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Prompt,
        "arguments(a), summary = \"x\"",
        "/// D.\n fn trip() {}",
    ),
    (
        Resource,
        "url = \"a:b\", content_type = \"x/y\"",
        "/// D.\n fn notes() {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn get(#[arg(optional, required, nullable = true, desc = \"x\", rename = \"x\")] a: u8) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn get(#[arg(enum(\"a\"), skip, alias = \"x\", type = \"string\", default_value = 1)] a: &str) {}",
    ),
    (
        Type,
        "rename_all = \"lowercase\", deserialize_only",
        "struct Event;",
    ),
    (
        Derive,
        "",
        "#[tool_error(code = 429, hidden, message = \"x\")] struct E;",
    ),
    // Names.
    (Tool, "name = \"get weather\"", "/// D.\n fn get() {}"),
    (Tool, "", "/// D.\n fn größe() {}"),
    (
        Toolset,
        "name = \"9\"",
        "impl W { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "prefix = \"a b\"",
        "impl W { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "prefix = \"a_prefix_of_a_remarkable_length_for_its_kind\"",
        "impl W { /// D.\n #[tool] fn get_the_current_weather(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool(name = \"search\")] fn find(&self) {} /// D.\n #[tool] fn search(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool(name = \"get-it\")] fn find(&self) {} /// D.\n #[tool] fn Get_It(&self) {} }",
    ),
    // Parameters.
    (Tool, "", "/// D.\n fn draw(Point { x, y }: Point) {}"),
    (Tool, "", "/// D.\n fn draw(_: u8) {}"),
    (Tool, "", "/// D.\n fn draw(a: &mut u8) {}"),
    (Tool, "", "/// D.\n fn draw(a: impl Shape) {}"),
    (Tool, "", "/// D.\n fn draw(a: *const u8) {}"),
    (
        Tool,
        "",
        "/// D.\n fn draw(a: &Path, b: Option<&std::path::Path>, c: &OsStr) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(a: Vec<&Path>, b: &[&OsStr], c: Cow<'_, Path>, d: Option<(u8, &'_ std::ffi::CStr, [&Path; 2])>) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(a: str, b: [u8], c: Box<str>, d: Box<[u8]>) {}",
    ),
    (Type, "", "#[derive(Debug, Serialize)] struct Event;"),
    (Type, "crat = x", "struct Event;"),
    (Type, "", "fn event() {}"),
    (
        Type,
        "",
        "struct S { #[setting(bind_secret)] a: u8, #[setting(binds_secret = no)] b: u8 }",
    ),
    (
        Type,
        "",
        "enum E { A { #[setting(binds_secret, binds_secret = false)] a: u8 } }",
    ),
    (Tool, "", "/// D.\n fn draw(a: &dyn Shape) {}"),
    (Tool, "", "/// D.\n fn draw(a: HashMap<&str, u8>) {}"),
    (Tool, "", "/// D.\n fn draw(a: &'static str) {}"),
    (
        Tool,
        "",
        "/// D.\n fn draw(a: Option<&'static str>, b: Vec<&'static str>, c: &[&'static str]) {}",
    ),
    (Tool, "", "/// D.\n fn draw(#[cfg(unix)] a: u8) {}"),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[context] #[arg(default = 1)] a: User) {}",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool] fn get(#[arg(default)] &self) {} }",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(name = \"b\")] a: u8, b: u8) {}",
    ),
    (Tool, "", "/// D.\n fn draw(#[arg(name = \"\")] a: u8) {}"),
    (Tool, "", "/// D.\n fn draw(#[arg(defualt = 1)] a: u8) {}"),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(default = self.a)] a: u8) {}",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool] fn get(&self, #[arg(example = self.a)] a: u8) {} }",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(flatten, default)] a: Paging) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[serde(flatten, default)] a: Paging) {}",
    ),
    (Tool, "", "/// D.\n fn draw(#[arg(flatten)] a: &str) {}"),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[serde(with = \"hex\")] #[arg(range(1..))] a: u8) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[serde(with = \"hex\")] a: Vec<&str>) {}",
    ),
    (
        Toolset,
        "",
        "impl<T> W<T> { /// D.\n #[tool] fn draw(&self, #[serde(with = \"hex\")] a: T) {} }",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[serde(default = \"a b\")] a: u8) {}",
    ),
    (Tool, "", "/// D.\n fn draw(#[arg(default(30))] a: u8) {}"),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(default = 1)] #[arg(default = 2)] a: u8) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(default = \"7\")] a: u8) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(example = true)] a: &str) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[serde(renam = \"b\")] a: u8) {}",
    ),
    (Tool, "", "/// D.\n fn draw(#[context(User)] a: User) {}"),
    // Limits.
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(default = 3, range(5..=480))] a: u8) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(default = \"abc\", length(5..))] a: &str) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(default = \"abc\", one_of(\"a\", \"b\"))] a: &str) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(range(1..=5))] name: String) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(range(1..=5))] name: Vec<String>) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(range(1..=5))] name: bool) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(length(1..=5))] count: u32) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(pattern = \"a\")] count: Option<u32>) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(format = \"email\")] count: u32) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(items(1..))] count: &str) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(length(1..))] counts: Vec<u32>) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(one_of(\"a\"))] count: u32) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(one_of(1))] name: String) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(one_of(\"a\", \"a\"))] name: String) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(one_of(A))] name: String) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(one_of())] name: String) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(one_of = \"a\")] name: String) {}",
    ),
    (Tool, "", "/// D.\n fn draw(#[arg(range(9..=5))] a: u8) {}"),
    (Tool, "", "/// D.\n fn draw(#[arg(range(5..5))] a: u8) {}"),
    (Tool, "", "/// D.\n fn draw(#[arg(range(..))] a: u8) {}"),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(range(min()..))] a: u8) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(range(MIN..))] a: Vec<Level>) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(min = 1, max_length = 2, regex = \"a\", minn = 1)] a: u8) {}",
    ),
    (Tool, "", "/// D.\n fn draw(#[arg(range(5))] a: u8) {}"),
    (Tool, "", "/// D.\n fn draw(#[arg(range = 5)] a: u8) {}"),
    (Tool, "", "/// D.\n fn draw(#[arg(range(1, 5))] a: u8) {}"),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(length(-1..))] a: &str) {}",
    ),
    (Tool, "", "/// D.\n fn draw(#[arg(length(..0))] a: &str) {}"),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(pattern = \"\")] a: &str) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(pattern = \"^(a|b\")] a: &str) {}",
    ),
    (
        Tool,
        "",
        "/// D.\n fn draw(#[arg(format = \"mail\")] a: &str) {}",
    ),
    // Parts and lifecycles.
    (
        Toolset,
        "part, name = \"x\"",
        "impl W { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "part",
        "impl<T> W<T> { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "parts(a, a)",
        "impl<T> W<T> { /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "part",
        "impl W { #[setup] fn open(&self) {} /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { /// D.\n #[tool] #[setup] fn open(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { #[setup] fn open(&self, a: u8) {} /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { #[close] fn a(&self) {} #[close] fn b(&self) {} /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { #[cfg(unix)] #[close] fn a(&self) {} #[close] fn b(&self) {} /// D.\n #[tool] fn get(&self) {} }",
    ),
    (
        Toolset,
        "",
        "impl W { #[close] fn a<T>(&self) {} /// D.\n #[tool] fn get(&self) {} }",
    ),
    // Errors.
    (Derive, "", "union Bits { a: u8 }"),
    (
        Derive,
        "",
        "#[tool_error(kind = \"ratelimit\")] enum E { A }",
    ),
    (Derive, "", "#[tool_error(retry)] struct E;"),
    (Derive, "", "enum E { A(#[tool_error(retryable)] u8) }"),
    (Derive, "", "enum E { #[tool_error(crate = x)] A }"),
];

fn run((name, args, source): (Macro, &str, &str)) -> (String, Vec<String>) {
    let args_tokens = tokens(args);
    let item = tokens(source);
    let (expanded, attribute) = match name {
        Tool => (driver::tool(args_tokens, &item), "tool"),
        Prompt => (driver::prompt(args_tokens, &item), "prompt"),
        Resource => (driver::resource(args_tokens, &item), "resource"),
        Toolset => (driver::toolset(args_tokens, &item), "toolset"),
        Agent => (driver::agent(args_tokens, &item), "agent"),
        Derive => (tool_error::derive(item), "derive(ToolError)"),
        Type => (tool_type::expand(args_tokens, &item), "tool_type"),
    };
    let attribute = if args.is_empty() {
        format!("#[{attribute}]")
    } else {
        format!("#[{attribute}({args})]")
    };
    let shown = source.replace("/// D.\n ", "/** D. */ ");
    (format!("{attribute} {shown}"), errors_in(&expanded))
}

#[test]
fn error_messages_match_the_golden_file() {
    // So that a new option changes no message here. A test of options reads the list itself.
    let options = listed(TOOL.known.iter().copied());

    let mut all = String::new();
    for case in CASES {
        let (source, messages) = run(*case);
        assert!(!messages.is_empty(), "no error for {source}");
        all += &(source + "\n");
        for line in messages.iter().flat_map(|message| message.lines()) {
            let line = line.replace(&options, "ALL OPTIONS OF `#[tool]`");
            all.extend(["    ", &line, "\n"]);
        }
        all.push('\n');
    }
    expect_file!["../snapshots/messages.txt"].assert_eq(&all);
}

#[test]
fn errors_begin_in_lower_case_without_final_stop() {
    for case in CASES {
        let (source, messages) = run(*case);
        for message in messages {
            assert!(
                !message.starts_with(char::is_uppercase),
                "{source}: {message}"
            );
            assert!(!message.ends_with('.'), "{source}: {message}");
            assert!(!message.contains("illegal"), "{source}: {message}");
        }
    }
}

#[test]
fn every_error_has_a_help_or_note_line() {
    for case in CASES {
        let (source, messages) = run(*case);
        for message in messages
            .iter()
            .filter(|message| *message != "first used here")
        {
            assert!(
                message.contains("\nhelp: ") || message.contains("\nnote: "),
                "{source}: {message}"
            );
        }
    }
}

#[test]
fn reports_all_errors_of_a_block_at_once() {
    let expanded = driver::toolset(
        tokens("nmae = \"x\""),
        &tokens(
            "impl W {
                #[tool(nam = \"x\", timeout = \"soon\")] fn a(&mut self, #[arg(range(9..1), pattern = \"\")] n: u8) {}
                #[tool] fn b<T>(&self, (x, y): (u8, u8)) {}
                fn broken(: u8) {}
            }",
        ),
    );
    assert_eq!(
        errors_in(&expanded).len(),
        11,
        "{:#?}",
        errors_in(&expanded)
    );
}

#[test]
fn prints_an_erroneous_item_without_macro_attributes() {
    let expanded = driver::toolset(
        tokens(""),
        &tokens(
            "impl W { #[tool] #[must_use] pub fn a(&self, /// N.\n #[arg(range(9..1))] n: u8) -> u8 { n. } const C: u8 = 1; }",
        ),
    );
    let text = expanded.to_string();
    assert!(
        text.contains("# [must_use] pub fn a (& self , n : u8) -> u8 { n . }"),
        "{text}"
    );
    assert!(text.contains("const C : u8 = 1"), "{text}");
    assert!(text.contains("MainToolsetBlock for W"), "{text}");
}

#[test]
fn expands_half_typed_bodies() {
    let expanded = driver::agent(tokens(""), &tokens("async fn a(&self) { self. }"));
    assert_eq!(errors_in(&expanded), Vec::<String>::new());
    assert!(expanded.to_string().contains("self . }"));
    let expanded = driver::toolset(
        tokens(""),
        &tokens("impl W { /// D.\n #[tool] fn a(&self) { self. } }"),
    );
    assert_eq!(errors_in(&expanded), Vec::<String>::new());
    assert!(expanded.to_string().contains("{ self . }"));
}
