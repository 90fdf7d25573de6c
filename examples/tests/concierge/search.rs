//! The search index, and the two retrieval tools.

use crate::articles::{self, Article};
use crate::index::ArticleIndex;
use crate::tools::tools;
use serde_json::{Value, json};
use std::path::Path;
use tool_core::ErrorKind;
use tool_core::testing::Client;

fn index() -> ArticleIndex {
    ArticleIndex::new(&articles::read(Path::new(articles::FOLDER)).unwrap()).unwrap()
}

/// Returns the ids of the results, the best first.
fn found(query: &str) -> Vec<String> {
    index()
        .search(query, 20)
        .unwrap()
        .into_iter()
        .map(|hit| hit.id)
        .collect()
}

#[test]
fn question_finds_its_article_first() {
    for (question, article) in [
        ("Can I bring my dog?", "pets"),
        ("how do I get my money back, a refund", "cancellation"),
        ("When is the pool open?", "pool"),
        ("charging an electric car", "parking"),
        ("is there gluten-free food in the morning", "breakfast"),
        ("what's the WiFi password?", "wifi"),
        ("leaving late: checkout until 14:00", "late-checkout"),
        ("massages", "spa"),
        ("dinner on Tuesdays", "restaurant"),
        ("where do we leave our luggage", "check-in"),
    ] {
        assert_eq!(
            found(question).first().map(String::as_str),
            Some(article),
            "{question}: {:?}",
            found(question)
        );
    }
}

#[test]
fn search_ignores_word_endings_and_case() {
    let of = |query| index().search(query, 20).unwrap();
    assert_eq!(of("cancel a booking"), of("CANCELLED bookings"));
}

#[test]
fn title_words_rank_above_text_words() {
    let article = |id: &str, title: &str, body: &str| Article {
        id: id.into(),
        title: title.into(),
        body: body.into(),
    };
    let articles = [
        article("text", "Rooms", "Lift beside stairs."),
        article("title", "Lift", "Rooms beside stairs."),
    ];
    let hits = ArticleIndex::new(&articles)
        .unwrap()
        .search("lift", 5)
        .unwrap();
    assert_eq!(
        hits.iter().map(|hit| hit.id.as_str()).collect::<Vec<_>>(),
        ["title", "text"]
    );
    assert!(hits[0].score > hits[1].score, "{hits:?}");
}

#[test]
fn snippet_is_the_matching_part_or_the_beginning() {
    let hits = index().search("lifeguard", 5).unwrap();
    assert!(
        hits[0].snippet.contains("lifeguard") && hits[0].snippet.len() <= 160,
        "{hits:?}"
    );
    let hits = index().search("swimming refunds", 5).unwrap();
    assert!(hits.iter().all(|hit| !hit.snippet.is_empty()), "{hits:?}");
}

#[test]
fn unknown_words_find_nothing() {
    for query in [
        "helipad",
        "casino",
        "cinema",
        "",
        "   ",
        "?!",
        "what is it that you do",
        "\u{0}",
        "🏊",
    ] {
        assert_eq!(found(query), [""; 0], "{query}");
    }
}

#[test]
fn query_syntax_is_treated_as_words() {
    for query in [
        "pool: hours",
        "-pool",
        "title:pool",
        "pool AND (",
        "\"pool",
        "pool^",
        "[pool TO",
        "NOT pool",
        "pool*",
    ] {
        assert_eq!(
            found(query).first().map(String::as_str),
            Some("pool"),
            "{query}"
        );
    }
}

#[test]
fn article_without_heading_has_its_file_name_as_title() {
    assert!(articles::parse("pool".into(), "The pool is open.").is_none());
    assert!(articles::parse("pool".into(), "# \nThe pool is open.").is_none());
    let folder = Path::new(articles::FOLDER);
    let problem = articles::read(&folder.join("nowhere")).err().unwrap();
    assert!(problem.contains("nowhere: "), "{problem}");
}

#[tokio::test]
async fn search_returns_the_requested_number_of_results() {
    let client = Client::new(tools().unwrap());
    let found = |data: Value| data["results"].as_array().unwrap().len();
    assert_eq!(
        found(client.call_ok("kb_search", json!({"query": "room"})).await),
        5
    );
    assert_eq!(
        found(
            client
                .call_ok("kb_search", json!({"query": "room", "limit": 2}))
                .await
        ),
        2
    );
    assert_eq!(
        client
            .call_ok::<Value>("kb_search", json!({"query": "helipad"}))
            .await,
        json!({"results": []})
    );
    for limit in [0, 21] {
        let error = client
            .call_err("kb_search", json!({"query": "room", "limit": limit}))
            .await;
        assert_eq!(error.kind, ErrorKind::Validation);
    }
}

#[tokio::test]
async fn article_is_read_by_the_id_from_a_search() {
    let client = Client::new(tools().unwrap());
    let found: Value = client
        .call_ok("kb_search", json!({"query": "late checkout"}))
        .await;
    let article: Value = client
        .call_ok("kb_get", json!({"id": found["results"][0]["id"]}))
        .await;
    assert_eq!(
        (&article["id"], &article["title"]),
        (&json!("late-checkout"), &json!("Late checkout"))
    );
    assert!(
        article["body"]
            .as_str()
            .unwrap()
            .starts_with("A room can be kept until 13:00"),
        "{article}"
    );
    let error = client.call_err("kb_get", json!({"id": "late"})).await;
    assert_eq!((error.kind, error.retryable), (ErrorKind::Permanent, false));
    assert!(
        error.message.contains("`late`") && error.message.contains("kb_search"),
        "{}",
        error.message
    );
}
