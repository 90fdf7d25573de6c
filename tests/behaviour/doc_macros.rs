//! Docs with macros and conditions in them.

use crate::support::tools;
use serde_json::{Value, json};
use tool_core::tool::IntoTool;
use tool_core::{ToolContext, prompt, resource, tool, tool_type, toolset};

const LARGEST: &str = "At most ten.";

macro_rules! largest {
    () => {
        "At most ten."
    };
}

fn description<M>(tool: impl IntoTool<M>) -> String {
    let tools = tools(tool);
    tools.function_tools()[0]
        .definition()
        .description()
        .to_owned()
}

fn properties<M>(tool: impl IntoTool<M>) -> Value {
    let tools = tools(tool);
    tools.function_tools()[0].definition().parameters()["properties"].clone()
}

/// Search the notes.
#[doc = include_str!("wildcards.md")]
/// Case does not matter.
#[doc = concat!("Version ", 2, ".")]
#[doc = largest!()]
#[tool]
fn search_notes() {}

// L2
#[test]
fn lines_and_macros_are_kept_in_order() {
    let expected = "Search the notes.\nA `*` stands for any letters.\n\nCase does not matter.\nVersion 2.\nAt most ten.";
    assert_eq!(description(search_notes), expected);
}

#[doc = include_str!("wildcards.md")]
#[tool]
fn included() {}

// L2
#[test]
fn an_included_text_alone_loses_its_last_line_break() {
    assert_eq!(description(included), "A `*` stands for any letters.");
}

/// Search the notes.
#[cfg_attr(all(), doc = "On this system.", doc = largest!())]
#[cfg_attr(any(), doc = "Elsewhere.", doc = include_str!("a file that is not there"))]
///
#[cfg_attr(all(), cfg_attr(not(any()), doc = "Nested."))]
/// More.
#[tool]
fn conditional() {}

// L2
#[test]
fn docs_in_a_cfg_attr_count_where_it_applies() {
    assert_eq!(
        description(conditional),
        "Search the notes.\nOn this system.\nAt most ten.\n\nNested.\nMore."
    );
}

/// Search the notes.
///
/// # Arguments
///
/// * `query` - What to look for,
#[cfg_attr(all(), doc = "   in any language")]
#[doc = largest!()]
/// * `limit` - How many
///
/// # Returns
///
/// The notes.
#[doc = largest!()]
///
/// # Errors
///
/// When it is busy.
#[doc = "No notes are lost."]
#[doc = largest!()]
#[doc = concat!("# Syntax\n", "Wildcards.")]
#[tool]
fn with_sections(query: &str, limit: u8) {
    let _ = (query, limit);
}

// L2
#[test]
fn a_macro_in_the_list_of_parameters_is_of_the_tool() {
    let tools = tools(with_sections);
    let definition = tools
        .function_tool("with_sections")
        .expect("there")
        .definition();
    assert_eq!(
        definition.description(),
        "Search the notes.\n\nAt most ten.\n\n# Syntax\nWildcards."
    );
    assert_eq!(definition.returns(), Some("The notes.\nAt most ten."));
    let properties = &definition.parameters()["properties"];
    assert_eq!(
        properties["query"]["description"],
        json!("What to look for, in any language")
    );
    assert_eq!(properties["limit"]["description"], json!("How many"));
}

/// Search the notes.
#[tool]
fn with_parameters(
    /// What to look for.
    #[doc = include_str!("wildcards.md")]
    /// Case does not matter.
    query: &str,
    #[doc = largest!()] limit: u8,
    #[doc = LARGEST]
    /// Not twice.
    #[cfg_attr(any(), doc = "Never.")]
    most: u8,
    /// From here.
    #[doc = largest!()]
    #[serde(deserialize_with = "tool_core::serde::Deserialize::deserialize")]
    offset: u8,
) {
    let _ = (query, limit, most, offset);
}

// L25
#[test]
fn a_parameter_keeps_lines_and_macros() {
    let properties = properties(with_parameters);
    let query = "What to look for.\nA `*` stands for any letters.\n\nCase does not matter.";
    assert_eq!(properties["query"]["description"], json!(query));
    assert_eq!(properties["limit"]["description"], json!("At most ten."));
    assert_eq!(
        properties["most"]["description"],
        json!("At most ten.\nNot twice.")
    );
    assert_eq!(
        properties["offset"]["description"],
        json!("From here.\nAt most ten.")
    );
}

/// Search the notes.
#[tool(args = NamedArgs)]
fn named(
    /// What to look for.
    #[doc = largest!()]
    query: &str,
    #[arg(description = LARGEST)] limit: u8,
) {
    let _ = (query, limit);
}

// D4, L25
#[test]
fn a_public_struct_of_arguments_takes_any_description() {
    let properties = properties(named);
    assert_eq!(
        properties["query"]["description"],
        json!("What to look for.\nAt most ten.")
    );
    assert_eq!(properties["limit"]["description"], json!("At most ten."));
    let _ = NamedArgs {
        query: "tea".into(),
        limit: 3,
    };
}

#[tool_type(input)]
struct Filter {
    /// The author.
    #[doc = largest!()]
    /// In full.
    #[cfg_attr(all(), doc = "Here.")]
    author: String,
}

/// Search the notes.
#[tool]
fn filtered(#[arg(flatten)] filter: Filter) {
    let _ = filter.author;
}

// L25
#[test]
fn a_field_keeps_lines_and_macros() {
    let properties = properties(filtered);
    assert_eq!(
        properties["author"]["description"],
        json!("The author.\nAt most ten.\nIn full.\nHere.")
    );
}

struct Notes;

/// The notes.
#[doc = include_str!("wildcards.md")]
/// In a folder.
#[toolset(discover = false)]
impl Notes {
    /// Search them.
    #[doc = largest!()]
    #[tool]
    fn search(&self) {}

    /// Summarise them.
    #[doc = largest!()]
    #[prompt]
    fn summary(
        &self,
        /// Of what
        #[doc = largest!()]
        topic: &str,
    ) -> String {
        topic.to_owned()
    }

    /// All of them.
    #[doc = largest!()]
    #[resource(uri = "notes://all")]
    fn all(&self) -> String {
        String::new()
    }
}

// D12, L2
#[test]
fn toolsets_prompts_and_resources_keep_lines_and_macros() {
    let tools = ToolContext::builder().with(Notes).build().expect("sound");
    assert_eq!(
        tools.toolsets()[0].description(),
        "The notes.\nA `*` stands for any letters.\n\nIn a folder."
    );
    let tool = tools.function_tool("search").expect("there");
    assert_eq!(
        tool.definition().description(),
        "Search them.\nAt most ten."
    );
    let prompt = tools.prompts()[0].definition();
    assert_eq!(prompt.description, "Summarise them.\nAt most ten.");
    assert_eq!(prompt.arguments[0].description, "Of what\nAt most ten.");
    let resource = tools.resources()[0].definition();
    assert_eq!(resource.description, "All of them.\nAt most ten.");
}
