//! What is kept comes back as it was given, to the last digit.

use crate::agents::RecordWrite;
use crate::testing::agents::AgentStoreUnderTest;
use crate::testing::agents::driver::Driver;
use crate::testing::agents::lists::ODD;
use serde_json::{Value, json};

/// Writes the settings as new and as changed ones, and reads them. What is equal as text is equal.
async fn holds(driver: &Driver, config: &Value) {
    let text = config.to_string();
    driver.write(&RecordWrite::new("alice", "email", config.clone())).await;
    let says = |config: &Value| {
        let found = config.to_string();
        // A mebibyte is too much to show.
        assert!(found == text, "{}", &text[..text.len().min(2000)]);
    };
    says(&driver.get("alice", "email").await.config);
    driver.set("alice", "email", config.clone()).await;
    says(&driver.load("alice").await.tools[0].config);
    driver.remove("alice", "email").await;
}

/// Numbers beyond what a float holds, floats with all their digits, keys in the order in which they came.
pub async fn settings_keep_their_order_and_every_digit<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let numbers = json!([9_007_199_254_740_993_u64, u64::MAX, i64::MIN, -1, 0, -0.0, 1.0, 0.1, 1e21, 1e-7]);
    let floats = json!([f64::MAX, f64::MIN_POSITIVE, 5e-324, f64::EPSILON, 1.0 / 3.0, 123_456_789.123_456_79, 1e23]);
    let config = json!({"zulu": numbers, "alpha": {"z": floats, "a": true, "": null}, "Zulu": [], "10": 1, "9": {}});
    holds(&driver, &config).await;
    // So that some have digits that are hard to read back: each as long as a float can be.
    let many: Vec<f64> =
        (1..2000_u32).map(|number| f64::from(number).sqrt() * 1e-5_f64.powi(number.cast_signed() % 40)).collect();
    holds(&driver, &json!({ "many": many })).await;
}

/// Also as keys, also those that a database has no place for in its text.
pub async fn settings_hold_every_character<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let odd = "\0\u{1}\t\n\r\u{7f}\u{85}\u{2028}\u{feff}\u{d7ff}\u{e000}\u{ffff}\u{10ffff}😀'\"\\/%_$1?1:a{}--\u{202e}";
    holds(&driver, &json!({ odd: odd, "\\u0000": "\\u0000", "\0": ["\0"], "a\u{308}": "ä" })).await;
}

/// And the next one, which is small.
pub async fn settings_of_a_mebibyte_come_back<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    holds(&driver, &json!({ "text": "ä1\n".repeat(1 << 18), "list": vec!["item"; 10_000] })).await;
    holds(&driver, &json!({})).await;
}

/// 100 of them.
pub async fn settings_come_back_from_the_deepest_level_that_is_taken<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let deep =
        (0..99).fold(json!(1), |value, level| if level % 2 == 0 { json!([value]) } else { json!({ "in": value }) });
    holds(&driver, &json!({ "deep": deep })).await;
}

/// They are the names that a model would call, and those of imported tools are anything.
pub async fn disabled_actions_have_any_names<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let mut write = RecordWrite::new("alice", "email", json!({}));
    write.disabled_actions = ODD.into_iter().chain(["", "\0", "a\nb", "[]"]).map(str::to_owned).collect();
    driver.write(&write).await;
    assert_eq!(driver.get("alice", "email").await.disabled_actions, write.disabled_actions);
}

/// And are as long as they may be. None is taken for another.
pub async fn ids_have_any_letters<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let long = ["ä".repeat(256), "x".repeat(512), "x".repeat(511)];
    let ids: Vec<&str> = ODD.into_iter().chain(long.iter().map(String::as_str)).collect();
    for id in &ids {
        driver.write(&RecordWrite::new(*id, *id, json!({ "of": id }))).await;
    }
    for id in ids {
        let loaded = driver.load(id).await;
        assert_eq!((loaded.version, loaded.tools.len()), (1, 1), "{id}");
        assert_eq!(loaded.tools, [driver.get(id, id).await]);
        assert_eq!(
            (&*loaded.tools[0].agent, &*loaded.tools[0].tool, &loaded.tools[0].config["of"]),
            (id, id, &json!(id))
        );
        assert_eq!(driver.set(id, id, json!({})).await, 2);
    }
}
