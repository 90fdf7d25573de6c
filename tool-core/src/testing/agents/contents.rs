//! Tests that a record's contents come back exactly.

use crate::agents::RecordWrite;
use crate::testing::agents::driver::{AgentStoreUnderTest, Driver};
use crate::testing::agents::lists::ODD;
use serde_json::{Value, json};

/// Writes settings in a new record and as a change, and compares them as text after each.
async fn holds(driver: &Driver, config: &Value) {
    let text = config.to_string();
    driver
        .write(&RecordWrite::new("alice", "email", config.clone()))
        .await;
    let says = |config: &Value| {
        let found = config.to_string();
        // Large settings are cut in the message.
        assert!(found == text, "{}", &text[..text.len().min(2000)]);
    };
    says(&driver.get("alice", "email").await.config);
    driver.set("alice", "email", config.clone()).await;
    says(&driver.load("alice").await.tools[0].config);
    driver.remove("alice", "email").await;
}

/// Settings keep the order of keys, numbers beyond the range of a float, and all digits of floats.
pub async fn settings_keep_their_order_and_every_digit<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let numbers = json!([
        9_007_199_254_740_993_u64,
        u64::MAX,
        i64::MIN,
        -1,
        0,
        -0.0,
        1.0,
        0.1,
        1e21,
        1e-7
    ]);
    let floats = json!([
        f64::MAX,
        f64::MIN_POSITIVE,
        5e-324,
        f64::EPSILON,
        1.0 / 3.0,
        123_456_789.123_456_79,
        1e23
    ]);
    let config = json!({"zulu": numbers, "alpha": {"z": floats, "a": true, "": null}, "Zulu": [], "10": 1, "9": {}});
    holds(&driver, &config).await;
    // Many floats with all their digits, some of which are hard to parse exactly.
    let many: Vec<f64> = (1..2000_u32)
        .map(|number| f64::from(number).sqrt() * 1e-5_f64.powi(number.cast_signed() % 40))
        .collect();
    holds(&driver, &json!({ "many": many })).await;
}

/// Keys and values of settings hold every character, those that databases cannot store in a text
/// among them.
pub async fn settings_hold_every_character<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let odd = "\0\u{1}\t\n\r\u{7f}\u{85}\u{2028}\u{feff}\u{d7ff}\u{e000}\u{ffff}\u{10ffff}😀'\"\\/%_$1?1:a{}--\u{202e}";
    holds(
        &driver,
        &json!({ odd: odd, "\\u0000": "\\u0000", "\0": ["\0"], "a\u{308}": "ä" }),
    )
    .await;
}

/// Large settings come back, and small ones after them.
pub async fn settings_of_a_mebibyte_come_back<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    holds(
        &driver,
        &json!({ "text": "ä1\n".repeat(1 << 18), "list": vec!["item"; 10_000] }),
    )
    .await;
    holds(&driver, &json!({})).await;
}

/// Settings of 100 nested levels come back.
pub async fn settings_of_the_greatest_depth_come_back<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let deep = (0..99).fold(json!(1), |value, level| {
        if level % 2 == 0 {
            json!([value])
        } else {
            json!({ "in": value })
        }
    });
    holds(&driver, &json!({ "deep": deep })).await;
}

/// Disabled actions may have any name, because the tools of an imported toolset have any.
pub async fn disabled_actions_have_any_names<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let mut write = RecordWrite::new("alice", "email", json!({}));
    write.disabled_actions = ODD
        .into_iter()
        .chain(["", "\0", "a\nb", "[]"])
        .map(str::to_owned)
        .collect();
    driver.write(&write).await;
    assert_eq!(
        driver.get("alice", "email").await.disabled_actions,
        write.disabled_actions
    );
}

/// Ids hold any letters up to their greatest length, and no two are confused.
pub async fn ids_have_any_letters<T: AgentStoreUnderTest>(store: &T) {
    let driver = Driver::of(store).await;
    let long = ["ä".repeat(256), "x".repeat(512), "x".repeat(511)];
    let ids: Vec<&str> = ODD
        .into_iter()
        .chain(long.iter().map(String::as_str))
        .collect();
    for id in &ids {
        driver
            .write(&RecordWrite::new(*id, *id, json!({ "of": id })))
            .await;
    }
    for id in ids {
        let loaded = driver.load(id).await;
        assert_eq!((loaded.version, loaded.tools.len()), (1, 1), "{id}");
        assert_eq!(loaded.tools, [driver.get(id, id).await]);
        assert_eq!(
            (
                &*loaded.tools[0].agent,
                &*loaded.tools[0].tool,
                &loaded.tools[0].config["of"]
            ),
            (id, id, &json!(id))
        );
        assert_eq!(driver.set(id, id, json!({})).await, 2);
    }
}
