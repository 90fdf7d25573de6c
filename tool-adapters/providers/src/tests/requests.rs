//! What differs in the requests of each provider: the settings of a model, and a message of the user with all kinds of
//! parts. A file for each provider is in `golden/requests`. `UPDATE=1 cargo test` writes them anew.

use crate::Provider;
use crate::request::output_limit;
use crate::spec::Endpoint;
use crate::tests::fixtures::{pretty, request, user};
use crate::tests::{settings, user_parts};
use serde_json::{Map, Value};
use std::path::Path;
use tool_core::session::ToolChoice;

/// Returns the content of a golden file; empty for a provider that gets no requests.
fn forms(provider: Provider) -> Map<String, Value> {
    let forms = [
        ("settings", settings::forms(provider)),
        ("message of the user", user_parts::form(provider)),
    ];
    let mut shown = Map::new();
    for (name, form) in forms {
        if let Some(form) = form {
            shown.insert(name.to_owned(), form);
        }
    }
    shown
}

// M14
#[test]
fn every_request_is_what_its_golden_file_says() {
    for provider in Provider::ALL {
        let shown = forms(provider);
        if shown.is_empty() {
            continue;
        }
        let shown = pretty(&Value::Object(shown));
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("src/tests/golden/requests")
            .join(format!("{provider}.json"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &shown).expect("a writable file");
        }
        let golden = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(shown, golden, "{}: run with UPDATE=1", path.display());
    }
}

// M14
#[test]
fn the_limit_of_output_is_found_in_every_request() {
    let has_requests = |provider: &Provider| matches!(provider.spec().endpoint, Endpoint::Http(_));
    for provider in Provider::ALL.into_iter().filter(has_requests) {
        let body = request(provider, &[user("Look around.")], ToolChoice::Auto);
        assert_eq!(output_limit(&body), Some(100), "{provider}: {body}");
    }
}
