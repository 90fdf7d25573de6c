//! L4: what each provider tool is declared as, whole, in `golden/declared.json`; `UPDATE=1 cargo test` writes it anew. The
//! conformance suite holds that file against the providers' own types.

use crate::Provider;
use crate::anthropic::tools as anthropic;
use crate::declare::declare;
use crate::gemini::tools as gemini;
use crate::openai_responses::tools as openai;
use crate::provider_tools::UserLocation;
use serde_json::{Map, Value, json};
use std::path::Path;
use tool_core::tool::ProviderId;
use tool_core::{ProviderTool, ToolContext, tool};

fn location() -> UserLocation {
    UserLocation {
        city: Some("Munich".into()),
        country: Some("DE".into()),
        ..UserLocation::default()
    }
}

fn of_openai() -> Vec<(&'static str, Box<dyn ProviderTool>)> {
    use openai::*;
    let interpreter = CodeInterpreter {
        container: Container::Auto(AutoContainer {
            file_ids: vec!["file_1".into()],
            memory_limit: Some(MemoryLimit::G4),
            network_policy: Some(NetworkPolicy::Allowlist {
                allowed_domains: vec!["example.com".into()],
            }),
        }),
    };
    let search = WebSearch {
        allowed_domains: vec!["example.com".into()],
        external_web_access: Some(false),
        search_context_size: Some(ContextSize::Low),
        user_location: Some(location()),
    };
    let files = FileSearch {
        filters: Some(
            Filter::compare("year", Comparison::Gte, 2025).and(Filter::compare(
                "kind",
                Comparison::Eq,
                "a",
            )),
        ),
        max_num_results: Some(5),
        ranking: Some(Ranking {
            ranker: Some("auto".into()),
            score_threshold: Some(0.5),
            hybrid_search: Some(HybridSearch {
                embedding_weight: 0.75,
                text_weight: 0.25,
            }),
        }),
        ..FileSearch::new(["vs_1"])
    };
    let image = ImageGeneration {
        action: Some(ImageAction::Edit),
        background: Some(Background::Opaque),
        input_fidelity: Some(InputFidelity::High),
        input_image_mask: Some(Mask::FileId("file_1".into())),
        model: Some("gpt-image-2".into()),
        moderation: Some(Moderation::Low),
        output_compression: Some(80),
        output_format: Some(ImageFormat::Webp),
        partial_images: Some(2),
        quality: Some(ImageQuality::High),
        size: Some("1536x1024".into()),
    };
    let remote = RemoteMcp {
        server_description: Some("The documentation".into()),
        allowed_tools: vec!["search".into()],
        authorization: Some("secret".into()),
        headers: [("x-team".to_owned(), "a".into())].into(),
        require_approval: Some(Approval::NeverFor(ToolNames {
            tool_names: vec!["search".into()],
        })),
        defer_loading: true,
        ..RemoteMcp::new("docs", "https://example.com/mcp")
    };
    let preview = ComputerUsePreview {
        display_width: 1024,
        display_height: 768,
        environment: Environment::Browser,
    };
    vec![
        ("openai::WebSearch", Box::new(WebSearch::default())),
        ("openai::WebSearch, all set", Box::new(search)),
        (
            "openai::FileSearch",
            Box::new(FileSearch::new(["vs_1", "vs_2"])),
        ),
        ("openai::FileSearch, all set", Box::new(files)),
        (
            "openai::CodeInterpreter",
            Box::new(CodeInterpreter::default()),
        ),
        (
            "openai::CodeInterpreter, by id",
            Box::new(CodeInterpreter {
                container: Container::Id("cntr_1".into()),
            }),
        ),
        ("openai::CodeInterpreter, all set", Box::new(interpreter)),
        ("openai::Computer", Box::new(Computer {})),
        ("openai::ComputerUsePreview", Box::new(preview)),
        (
            "openai::ImageGeneration",
            Box::new(ImageGeneration::default()),
        ),
        ("openai::ImageGeneration, all set", Box::new(image)),
        (
            "openai::RemoteMcp",
            Box::new(RemoteMcp::new("docs", "https://example.com/mcp")),
        ),
        ("openai::RemoteMcp, all set", Box::new(remote)),
    ]
}

fn of_gemini() -> Vec<(&'static str, Box<dyn ProviderTool>)> {
    use gemini::*;
    let time = |text: &str| text.parse().expect("a time");
    let search = GoogleSearch {
        image_search: true,
        exclude_domains: vec!["example.com".into()],
        time_range: Some(TimeRange {
            start_time: time("2026-01-01T00:00:00Z"),
            end_time: time("2026-02-01T00:00:00Z"),
        }),
    };
    vec![
        ("gemini::GoogleSearch", Box::new(GoogleSearch::default())),
        ("gemini::GoogleSearch, all set", Box::new(search)),
        ("gemini::CodeExecution", Box::new(CodeExecution {})),
        ("gemini::UrlContext", Box::new(UrlContext {})),
    ]
}

fn of_anthropic() -> Vec<(&'static str, Box<dyn ProviderTool>)> {
    use anthropic::*;
    let options = Options {
        allowed_callers: vec![Caller::Direct, Caller::CodeExecution20260521],
        cache_control: Some(CacheControl {
            ttl: Some(CacheTtl::Hour),
        }),
        defer_loading: true,
        strict: true,
    };
    let example = |text: &str| Map::from_iter([("command".to_owned(), json!(text))]);
    let search = WebSearch {
        allowed_domains: vec!["example.com".into()],
        max_uses: Some(3),
        response_inclusion: Some(ResponseInclusion::Excluded),
        user_location: Some(location()),
        options: options.clone(),
        ..WebSearch::default()
    };
    let fetch = WebFetch {
        blocked_domains: vec!["example.com".into()],
        citations: true,
        max_content_tokens: Some(10_000),
        max_uses: Some(3),
        use_cache: Some(false),
        ..WebFetch::default()
    };
    let editor = TextEditor {
        max_characters: Some(9000),
        input_examples: vec![example("view")],
        ..Default::default()
    };
    let computer = Computer {
        display_number: Some(1),
        enable_zoom: true,
        ..Computer::new(1024, 768)
    };
    let toolset = ComputerToolset {
        disabled: vec![
            ComputerMember::Zoom,
            ComputerMember::Wait,
            ComputerMember::Zoom,
        ],
        cache_control: Some(CacheControl::default()),
        ..ComputerToolset::default()
    };
    vec![
        ("anthropic::WebSearch", Box::new(WebSearch::default())),
        ("anthropic::WebSearch, all set", Box::new(search)),
        (
            "anthropic::WebSearch of 2025",
            Box::new(WebSearch {
                version: WebSearchVersion::V20250305,
                ..Default::default()
            }),
        ),
        ("anthropic::WebFetch", Box::new(WebFetch::default())),
        ("anthropic::WebFetch, all set", Box::new(fetch)),
        (
            "anthropic::CodeExecution",
            Box::new(CodeExecution {
                options,
                ..CodeExecution::default()
            }),
        ),
        (
            "anthropic::Bash",
            Box::new(Bash {
                input_examples: vec![example("ls")],
                ..Bash::default()
            }),
        ),
        ("anthropic::TextEditor", Box::new(editor)),
        (
            "anthropic::TextEditor of January 2025",
            Box::new(TextEditor {
                version: TextEditorVersion::V20250124,
                ..Default::default()
            }),
        ),
        ("anthropic::Memory", Box::new(Memory::default())),
        ("anthropic::Computer", Box::new(computer)),
        (
            "anthropic::ComputerToolset",
            Box::new(ComputerToolset::default()),
        ),
        (
            "anthropic::ComputerToolset, some withheld",
            Box::new(toolset),
        ),
    ]
}

fn all() -> Vec<(&'static str, Box<dyn ProviderTool>)> {
    of_openai()
        .into_iter()
        .chain(of_gemini())
        .chain(of_anthropic())
        .collect()
}

fn takers(tool: &dyn ProviderTool) -> Vec<Provider> {
    Provider::ALL
        .into_iter()
        .filter(|provider| tool.config(&provider.id()).is_some())
        .collect()
}

// L4
#[test]
fn each_is_declared_in_its_own_form() {
    let declared = all().into_iter().map(|(name, tool)| {
        let takers = takers(&*tool);
        let config = takers.first().and_then(|taker| tool.config(&taker.id()));
        json!({"tool": name, "id": tool.id(), "providers": takers, "config": config})
    });
    let found = declared.collect::<Value>();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tests/golden/declared.json");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(
            &path,
            serde_json::to_string_pretty(&found).expect("JSON") + "\n",
        )
        .expect("written");
    }
    let golden = std::fs::read(&path).expect("the golden file");
    assert_eq!(
        serde_json::from_slice::<Value>(&golden).expect("JSON"),
        found
    );
}

// L4
#[test]
fn a_provider_tool_has_one_form_for_all_that_accept_it() {
    for (name, tool) in all() {
        let family = match name.split("::").next() {
            Some("openai") => "openai-",
            Some("gemini") => "gemini",
            _ => "anthropic",
        };
        let takers = takers(&*tool);
        assert!(
            takers.iter().all(|taker| taker.name().starts_with(family)),
            "{name}: {takers:?}"
        );
        let mut configs = takers
            .iter()
            .map(|taker| tool.config(&taker.id()))
            .collect::<Vec<_>>();
        configs.dedup();
        assert_eq!(configs.len(), 1, "{name}");
    }
}

#[test]
fn what_is_answered_here_is_called_as_it_is_declared() {
    for (name, tool) in of_anthropic() {
        let config = tool
            .config(&Provider::Anthropic.id())
            .expect("Anthropic's own");
        let runs_it = ["web_search", "web_fetch", "code_execution"].contains(&tool.id());
        match config.get("name").and_then(Value::as_str) {
            Some(called) if !runs_it => assert_eq!(tool.answered_here(), [called], "{name}"),
            Some(_) => assert!(tool.answered_here().is_empty(), "{name}"),
            None => {
                let withheld = name.ends_with("withheld");
                assert!(tool.answered_here().contains(&"left_click"), "{name}");
                assert_eq!(tool.answered_here().contains(&"zoom"), !withheld, "{name}");
            }
        }
    }
}

// L4: several provider tools may share an id
#[test]
fn a_context_takes_those_of_several_providers_by_value() {
    let tools = ToolContext::builder()
        .with(openai::WebSearch::default())
        .with(anthropic::WebSearch::default())
        .with(gemini::GoogleSearch::default())
        .build()
        .expect("sound");
    assert_eq!(tools.provider_tools().len(), 3);
}

/// Run a command.
#[tool]
fn bash(command: &str) -> String {
    command.to_owned()
}

#[test]
fn a_function_answers_the_provider_tool_of_its_name() {
    let tools = ToolContext::builder()
        .with(bash)
        .with(anthropic::Bash::default())
        .build()
        .expect("sound");
    let declared = declare(Provider::Anthropic, &tools);
    assert_eq!(
        declared.json().get(),
        r#"[{"name":"bash","type":"bash_20250124"}]"#
    );
    assert_eq!(
        (declared.wire_name("bash"), declared.tool_name("bash")),
        (Some("bash"), Some("bash"))
    );
    assert_eq!(
        declared.report().tools[0].declared_as.as_deref(),
        Some("bash")
    );
    assert!(declared.report().skipped.is_empty());

    let other = declare(Provider::OpenAiChat, &tools);
    assert!(other.json().get().contains("Run a command."), "{other:?}");
    assert_eq!(other.report().skipped[0].id, "bash");
}

#[test]
fn a_function_is_told_apart_from_a_tool_that_the_provider_runs() {
    let tools = ToolContext::builder()
        .with(web_search)
        .with(anthropic::WebSearch::default())
        .build()
        .expect("sound");
    let declared = declare(Provider::Anthropic, &tools);
    let wire = declared.wire_name("web_search").expect("declared");
    assert_ne!(wire, "web_search");
    assert_eq!(declared.tool_name("web_search"), None);
}

/// Search our own pages.
#[tool]
fn web_search(query: &str) -> String {
    query.to_owned()
}

#[test]
fn a_secret_is_sent_and_not_shown() {
    let remote = openai::RemoteMcp {
        authorization: Some("hunter2".into()),
        headers: [("x-key".to_owned(), "hunter2".into())].into(),
        ..openai::RemoteMcp::new("docs", "https://example.com/mcp")
    };
    let tools = ToolContext::builder()
        .with(remote.clone())
        .build()
        .expect("sound");
    let declared = declare(Provider::OpenAiResponses, &tools);
    assert!(declared.json().get().contains("hunter2"));
    assert!(
        !format!("{remote:?} {tools:?} {declared:?} {:?}", declared.report()).contains("hunter2")
    );
    assert_eq!(
        remote
            .config(&Provider::OpenAiResponses.id())
            .expect("taken")["headers"]["x-key"],
        "hunter2"
    );
}

#[derive(Debug)]
struct Deep;

impl ProviderTool for Deep {
    fn id(&self) -> &'static str {
        "deep"
    }

    fn config(&self, _: &ProviderId) -> Option<Value> {
        Some((0..100_000).fold(Value::Null, |inner, _| Value::Array(vec![inner])))
    }
}

// T9
#[test]
fn a_provider_tool_that_nests_100_000_deep_is_skipped() {
    let tools = ToolContext::builder()
        .with(Deep)
        .build()
        .expect("sound tools");
    for provider in Provider::ALL {
        let declared = declare(provider, &tools);
        assert!(
            declared
                .report()
                .skipped
                .iter()
                .any(|skipped| skipped.id == "deep"),
            "{provider}"
        );
        assert!(!declared.json().get().contains("[[["), "{provider}");
    }
}
