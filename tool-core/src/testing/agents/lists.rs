//! Tests that lists are sorted and paged, and the same on all stores.

use crate::agents::AgentSummary;
use crate::agents::SealedSecrets;
use crate::testing::agents::driver::{AgentStoreUnderTest, Driver, sealed};

/// Ids with letters, punctuation, characters with a meaning in SQL, and texts that a collation
/// would sort differently.
pub(crate) const ODD: [&str; 24] = [
    "A", "a", "B", "b", "a b", "a-b", "a_b", "aB", "%", "_", "'", "\"", "\\", ";--", "ä",
    "a\u{308}", "é", "ß", "ss", "Ω", "中文", "\u{200d}", "\u{ffff}", "😀",
];

fn names(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("agent-{number:03}"))
        .collect()
}

/// Agents are listed with their versions and numbers of records. A page begins after an id, which
/// need not exist.
pub async fn agents_are_listed_in_order_and_in_pages<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    for agent in ["carol", "alice", "bob", "alice"] {
        let tool = driver.load(agent).await.tools.len();
        driver.add(agent, &format!("tool-{tool}")).await;
    }
    let lines = driver.0.agents(None, 2).await.expect("the store lists");
    assert_eq!(
        lines,
        [
            AgentSummary::new("alice", 2, 2),
            AgentSummary::new("bob", 1, 1)
        ]
    );
    assert_eq!(driver.agents(Some("bob"), 2).await, ["carol"]);
    assert_eq!(driver.agents(Some("b"), 9).await, ["bob", "carol"]);
    assert_eq!(driver.agents(Some(""), 9).await, ["alice", "bob", "carol"]);
    assert_eq!(
        driver.agents(Some("carol"), 9).await.len() + driver.agents(None, 0).await.len(),
        0
    );
    assert_eq!(driver.agents(None, u32::MAX).await.len(), 3);
}

/// An agent without records is not listed until it has one again.
pub async fn agents_without_records_are_not_listed<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    driver.add("alice", "email").await;
    driver.add("bob", "email").await;
    driver.remove("alice", "email").await;
    assert_eq!(driver.agents(None, 9).await, ["bob"]);
    driver.add("alice", "email").await;
    assert_eq!(driver.agents(None, 9).await, ["alice", "bob"]);
}

/// Secrets are listed by agent, then by toolset.
pub async fn sealed_secrets_are_listed_in_order_and_in_pages<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    for (agent, tool) in [("b", "a"), ("a", "z"), ("ab", "m"), ("a", "c")] {
        driver.add_sealed(agent, tool, &sealed(1)).await;
    }
    driver.add("a", "d").await;
    let all = [("a", "c"), ("a", "z"), ("ab", "m"), ("b", "a")]
        .map(|(agent, tool)| (agent.to_owned(), tool.to_owned()));
    assert_eq!(driver.sealed("-", None, 9).await, all);
    assert_eq!(driver.sealed("-", None, 2).await, all[..2]);
    assert_eq!(driver.sealed("-", Some(("a", "z")), 9).await, all[2..]);
    assert_eq!(driver.sealed("-", Some(("a", "d")), 1).await, all[1..2]);
    assert_eq!(driver.sealed("-", Some(("aa", "zz")), 9).await, all[2..]);
    assert_eq!(driver.sealed("-", Some(("b", "a")), 9).await, []);
    assert_eq!(driver.sealed("-", None, 0).await, []);
}

/// Secrets under the given key are left out, so that a rotation finds those that are left.
pub async fn secrets_under_the_key_are_left_out<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    for number in 0..10 {
        let key = ["old", "older", "new"][number % 3];
        driver
            .add_sealed(
                "alice",
                &format!("tool-{number}"),
                &SealedSecrets::new(key, "sealed"),
            )
            .await;
    }
    let mut left = driver
        .0
        .sealed_under_others("new", None, 99)
        .await
        .expect("the store lists");
    assert_eq!(left.len(), 7);
    while let Some(row) = left.pop() {
        assert!(
            driver
                .replaces(
                    &row.agent,
                    &row.tool,
                    &row.secrets,
                    &SealedSecrets::new("new", "anew")
                )
                .await
        );
        assert_eq!(driver.sealed("new", None, 99).await.len(), left.len());
    }
    assert_eq!(driver.sealed("old", None, 99).await.len(), 10);
}

/// Ids sort by their bytes in lists, in loads and at the beginning of a page.
pub async fn ids_of_any_letters_sort_by_their_bytes<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    for id in ODD {
        driver.add_sealed(id, "email", &sealed(1)).await;
        driver.add_sealed("many", id, &sealed(1)).await;
    }
    let mut agents: Vec<_> = ODD.into_iter().chain(["many"]).collect();
    agents.sort_unstable();
    let mut listed = Vec::<String>::new();
    let mut after = None::<String>;
    while let Some(id) = driver.agents(after.as_deref(), 1).await.pop() {
        listed.push(id.clone());
        after = Some(id);
    }
    assert_eq!(listed, agents);
    let tools: Vec<_> = driver
        .load("many")
        .await
        .tools
        .into_iter()
        .map(|record| record.tool)
        .collect();
    assert_eq!(
        tools,
        agents
            .iter()
            .filter(|id| **id != "many")
            .copied()
            .collect::<Vec<_>>()
    );
    let mut rows = driver.sealed("-", None, 99).await;
    assert!(rows.is_sorted() && rows.len() == 2 * ODD.len());
    let rest = driver
        .sealed(
            "-",
            rows.get(9).map(|(agent, tool)| (&**agent, &**tool)),
            99,
        )
        .await;
    assert_eq!(rest, rows.split_off(10));
}

/// Pages of any size list each agent once.
pub async fn many_agents_are_all_listed_once<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let all = names(300);
    for agent in all.iter().rev() {
        driver.add(agent, "email").await;
    }
    for page in [7, 100, 300, 1000] {
        let mut listed: Vec<String> = Vec::new();
        loop {
            let more = driver.agents(listed.last().map(String::as_str), page).await;
            if more.is_empty() {
                break;
            }
            listed.extend(more);
        }
        assert_eq!(listed, all);
    }
}
