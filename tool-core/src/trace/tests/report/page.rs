//! Properties of every page. `tests/conformance/report.py` checks its looks in a browser.

use crate::trace::record::SpanStatus;
use crate::trace::tests::report::fixture::{Fixture, hostile, open, planner};
use sha2::{Digest, Sha256};

/// Returns the tags of a page, without its style.
fn tags(page: &str) -> Vec<&str> {
    let body = page.split_once("</style>").expect("a style").1;
    body.split('<')
        .skip(1)
        .map(|tag| tag.split_once('>').expect("a tag ends").0)
        .collect()
}

// T2
#[test]
fn a_page_has_known_tags_only() {
    let own = [
        "/head", "body", "header", "h1", "h2", "p", "time", "main", "section", "dl", "div", "dt",
        "dd", "data", "ul", "li", "details", "summary", "span", "bdi", "label", "input", "output",
        "table", "caption", "thead", "tbody", "tr", "th", "td", "/html",
    ];
    for page in [planner().to_html(), hostile().to_html()] {
        for tag in tags(&page) {
            let name = tag.split(' ').next().unwrap_or_default();
            let known = own.contains(&name) || own.contains(&name.trim_start_matches('/'));
            assert!(known, "<{tag}>");
            assert!(
                !tag.contains("onerror") && !tag.contains("href") && !tag.contains("src="),
                "<{tag}>"
            );
        }
        assert!(
            !page.chars().any(|c| c.is_control() && c != '\n'),
            "a control character"
        );
        assert!(!page.contains('\u{202e}'), "a turned line");
    }
}

#[test]
fn a_page_closes_every_tag() {
    for page in [planner().to_html(), hostile().to_html()] {
        let mut open = vec!["html", "head"];
        for tag in tags(&page) {
            let name = tag.split(' ').next().unwrap_or_default();
            match name.strip_prefix('/') {
                Some(name) => assert_eq!(open.pop(), Some(name), "</{name}>"),
                None if name == "input" => {}
                None => open.push(name),
            }
        }
        assert_eq!(open, Vec::<&str>::new());
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = bytes.chunks(3).flat_map(|chunk| {
        let bits = [0, 1, 2].iter().fold(0, |bits, at| {
            bits << 8 | chunk.get(*at).map_or(0, |byte| u32::from(*byte))
        });
        let digit = move |at: usize| {
            if at > chunk.len() {
                b'='
            } else {
                DIGITS[(bits >> (18 - 6 * at) & 63) as usize]
            }
        };
        (0..4).map(move |at| char::from(digit(at)))
    });
    digits.collect()
}

#[test]
fn the_policy_allows_the_one_script_and_loads_nothing() {
    let page = hostile().to_html();
    let script = page
        .split_once("<script type=\"module\">")
        .and_then(|(_, rest)| rest.split_once("</script>"));
    let hash = base64(&Sha256::digest(script.expect("a script").0));
    let policy = format!(
        "content=\"default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; base-uri 'none'; \
         form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\""
    );
    assert!(
        page.contains(&policy),
        "the hash of `page.js` in `page_head.html` is sha256-{hash}"
    );
    assert_eq!(page.matches("<script").count(), 1);
    for loads in ["http://", "https://", "url(", "@import", "<link", "<img"] {
        assert!(!page.contains(loads), "{loads}");
    }
}

/// Makes a page of one span with attributes.
fn page_with(attributes: Vec<(&'static str, serde_json::Value)>) -> String {
    let mut fixture = Fixture::new();
    let span = open(&fixture, None, 1, "tool:search", 0);
    span.change(|details| {
        for (key, value) in attributes {
            details.set_attribute(key, value);
        }
    });
    fixture.ends(&span, SpanStatus::Ok);
    fixture.report().to_html()
}

#[test]
fn a_span_opens_to_its_input_and_output() {
    let input = "{\"q\": \"<b>\"}\n\u{202e}next line";
    let page = page_with(vec![
        ("gen_ai.tool.call.arguments", input.into()),
        ("gen_ai.tool.call.result", serde_json::json!([1])),
        ("http.route", "/search".into()),
    ]);
    let shown = "<dt>Input</dt><dd><bdi class=\"text\">{&quot;q&quot;: &quot;&lt;b&gt;&quot;}\n\\u{202e}next line</bdi></dd>";
    assert!(page.contains(shown), "{page}");
    assert!(
        page.contains("<dt>Output</dt><dd><bdi class=\"text\">[1]</bdi></dd>"),
        "{page}"
    );
    assert!(
        page.contains("<dt>http.route</dt><dd><bdi class=\"text\">/search</bdi></dd>"),
        "{page}"
    );
    assert!(page.contains("<dt>Status</dt><dd>ok</dd>"), "{page}");
}

#[test]
fn the_texts_of_a_page_are_bounded() {
    let mut fixture = Fixture::new();
    for at in 0..1_000 {
        let span = open(&fixture, None, at + 1, "tool:search", at);
        span.change(|details| {
            for key in 0..64 {
                details.set_attribute(String::leak(format!("k{key}")), "<".repeat(1_024).into());
            }
        });
        fixture.ends(&span, SpanStatus::Ok);
    }
    let page = fixture.report().to_html();
    // 64 MiB of `<`, each of which is written as four characters.
    assert!(page.len() < 10_000_000, "{}", page.len());
    assert!(page.contains("<dd class=\"dim\">left out, as the page is too long</dd>"));
}
