//! Names, provider by provider.

use crate::Provider;
use crate::tests::declare::golden::GoldenLimits;
use crate::tool_names::DeclaredNames;
use proptest::prelude::*;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

/// The limits of each provider's golden file.
static LIMITS: LazyLock<HashMap<Provider, GoldenLimits>> = LazyLock::new(|| {
    let limits = Provider::ALL.map(|provider| (provider, GoldenLimits::read(provider)));
    limits.into_iter().collect()
});

fn names(provider: Provider, tools: &[&str]) -> DeclaredNames {
    DeclaredNames::new(
        provider.spec().tool_names,
        tools.iter().copied().enumerate(),
        &HashSet::new(),
    )
}

/// The rules of the golden file, read independently of the code.
fn matches(limits: &GoldenLimits, name: &str) -> bool {
    let rest = limits.punctuation.as_bytes();
    let bytes = name.as_bytes();
    let is_known = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || rest.contains(byte);
    (1..=limits.name_length).contains(&bytes.len())
        && bytes.iter().all(is_known)
        && (limits.any_first || bytes[0].is_ascii_alphabetic() || bytes[0] == b'_')
}

#[test]
fn a_name_that_the_provider_takes_stays() {
    for provider in Provider::ALL {
        assert_eq!(
            names(provider, &["create_event"]).wire("create_event"),
            Some("create_event"),
            "{provider}"
        );
    }
}

#[test]
fn what_the_provider_does_not_take_is_read_as_an_underscore() {
    let names = names(Provider::OpenAiChat, &["files.read/all", "1st"]);
    assert_eq!(names.wire("files.read/all"), Some("files_read_all"));
    assert_eq!(names.tool("files_read_all"), Some("files.read/all"));
    assert_eq!(names.wire("1st"), Some("1st"));
}

#[test]
fn a_tool_may_have_any_name_that_it_gets_somewhere() {
    let rule = Provider::Mcp.spec().tool_names;
    let tool = "files/delete";
    for others in [&[][..], &["files_delete"], &["files:delete"]] {
        let names = names(Provider::Mcp, &[&[tool], others].concat());
        let wire = names.wire(tool).expect("a name");
        assert!(rule.may_name(tool, wire), "{wire}");
    }
    let long = "x/".repeat(200);
    let names = names(Provider::Mcp, &[&long]);
    assert!(rule.may_name(&long, names.wire(&long).expect("a name")));
    assert!(rule.may_name(tool, tool));
}

#[test]
fn a_tool_has_no_name_of_another() {
    let rule = Provider::Mcp.spec().tool_names;
    for other in ["files_deleted", "delete", "files_delete_all_of_it", "", "é"] {
        assert!(!rule.may_name("files/delete", other), "{other}");
    }
}

#[test]
fn a_name_begins_as_the_provider_wants() {
    assert_eq!(names(Provider::Gemini, &["1st"]).wire("1st"), Some("_1st"));
    assert_eq!(
        names(Provider::Gemini, &["/list"]).wire("/list"),
        Some("_list")
    );
    assert_eq!(
        names(Provider::Gemini, &[".list"]).wire(".list"),
        Some("_.list")
    );
    assert_eq!(
        names(Provider::Cohere, &["-list"]).wire("-list"),
        Some("_list")
    );
}

#[test]
fn colliding_names_are_made_distinct_in_any_order() {
    let tools = ["a.b", "a:b", "a_b"];
    let forward = names(Provider::OpenAiChat, &tools);
    let backward = names(Provider::OpenAiChat, &["a_b", "a:b", "a.b"]);
    assert_eq!(forward.wire("a_b"), Some("a_b"));
    assert_ne!(forward.wire("a.b"), forward.wire("a:b"));
    for tool in tools {
        assert_eq!(forward.wire(tool), backward.wire(tool));
    }
}

#[test]
fn a_long_name_is_cut_and_ends_in_a_hash_of_the_whole() {
    let long = "very_".repeat(25);
    let names = names(Provider::OpenAiChat, &[&long]);
    let wire = names.wire(&long).expect("declared");
    assert_eq!(wire.len(), 64);
    assert!(wire.starts_with(&long[..55]));
    assert_eq!(names.tool(wire), Some(&*long));
}

#[test]
fn a_function_tool_does_not_take_the_name_of_a_provider_tool() {
    let reserved = HashSet::from(["web_search".to_owned()]);
    let names = DeclaredNames::new(
        Provider::Anthropic.spec().tool_names,
        std::iter::once((0, "web_search")),
        &reserved,
    );
    let wire = names.wire("web_search").expect("declared");
    assert_ne!(wire, "web_search");
    assert_eq!(names.tool(wire), Some("web_search"));
}

#[test]
fn the_nearest_name_does_not_depend_on_other_tools() {
    let rule = Provider::OpenAiChat.spec().tool_names;
    assert_eq!(rule.nearest("a.b"), "a_b");
    assert_eq!(rule.nearest("a_b"), "a_b");
}

proptest! {
    /// L5: reversibly.
    #[test]
    fn raw_names_become_distinct_accepted_names_and_map_back(
        tools in prop::collection::hash_set("[ab1_.:/-]{1,4}|[A-Za-z0-9_.:/-]{1,128}|a[._:/]{55,127}", 1..40),
    ) {
        let tools = tools.iter().map(String::as_str).collect::<Vec<_>>();
        for provider in Provider::ALL {
            let limits = &LIMITS[&provider];
            let names = names(provider, &tools);
            let mut seen = HashSet::new();
            for (at, tool) in tools.iter().enumerate() {
                let wire = names.wire(tool).expect("declared");
                prop_assert!(matches(limits, wire), "{provider}: {tool} -> {wire}");
                prop_assert!(seen.insert(wire.to_owned()), "{provider}: {tool} -> {wire} twice");
                prop_assert_eq!(names.tool(wire), Some(*tool));
                prop_assert_eq!(names.index(wire), Some(at));
                if matches(limits, tool) {
                    prop_assert_eq!(wire, *tool);
                }
            }
        }
    }
}
