//! Properties of every page. `tests/conformance/report.py` checks its looks in a browser.

use crate::trace::tests::report::fixture::{hostile, planner};

/// Returns the tags of a page, without its style.
fn tags(page: &str) -> Vec<&str> {
    let body = page.split_once("</style>").expect("a style").1;
    body.split('<').skip(1).map(|tag| tag.split_once('>').expect("a tag ends").0).collect()
}

// T2
#[test]
fn a_page_has_known_tags_only() {
    let own = [
        "/head", "body", "header", "h1", "h2", "p", "time", "main", "section", "dl", "div", "dt", "dd", "data", "ul",
        "li", "details", "summary", "span", "bdi", "ol", "table", "caption", "thead", "tbody", "tr", "th", "td",
        "/html",
    ];
    for page in [planner().to_html(), hostile().to_html()] {
        for tag in tags(&page) {
            let name = tag.split(' ').next().unwrap_or_default();
            let known = own.contains(&name) || own.contains(&name.trim_start_matches('/'));
            assert!(known, "<{tag}>");
            assert!(!tag.contains("onerror") && !tag.contains("href") && !tag.contains("src="), "<{tag}>");
        }
        assert!(!page.chars().any(|c| c.is_control() && c != '\n'), "a control character");
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
                None => open.push(name),
            }
        }
        assert_eq!(open, Vec::<&str>::new());
    }
}

#[test]
fn a_page_forbids_scripts_and_loads_nothing() {
    let page = planner().to_html();
    let policy = "content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"";
    assert!(page.contains(policy));
    for loads in ["http://", "https://", "url(", "@import", "<script", "<link", "<img"] {
        assert!(!page.contains(loads), "{loads}");
    }
}
