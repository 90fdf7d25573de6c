//! Validation of settings.

use super::toolsets::{DoorSettings, PostSettings};
use super::{agents, lines, wrong_config};
use serde_json::{Value, json};

fn filled(config: &Value) -> Value {
    let (agents, _) = agents();
    agents
        .form("settings_post")
        .expect("a form")
        .check_config(config)
        .expect("sound")
}

// C2
#[test]
fn defaults_are_filled_in_before_settings_are_validated() {
    assert_eq!(
        filled(&json!({"server": "mx"})),
        json!({
            "server": "mx", "port": 587, "greeting": "", "limits": {"per_hour": 60, "size": 1000}, "reply_to": null,
            "delivery": {"when": "now"}, "relays": [], "encrypted": false,
        })
    );
}

// C2
#[test]
fn nested_defaults_are_filled_in() {
    let given = json!({
        "server": "mx", "limits": {"size": 5}, "reply_to": {"address": "a@b.c"}, "delivery": {"when": "later"},
        "relays": [{"host": "r1"}, {"host": "r2", "port": 25}],
    });
    let filled = filled(&given);
    assert_eq!(filled["limits"], json!({"size": 5, "per_hour": 60}));
    assert_eq!(
        filled["reply_to"],
        json!({"address": "a@b.c", "name": "Office"})
    );
    assert_eq!(filled["delivery"], json!({"when": "later", "hours": 2}));
    assert_eq!(
        filled["relays"],
        json!([{"host": "r1", "port": 587}, {"host": "r2", "port": 25}])
    );
}

// C2
#[test]
fn given_values_are_never_changed() {
    let given = json!({"server": "mx", "port": 25, "delivery": {"when": "nightly", "hour": 0}, "encrypted": true});
    let filled = filled(&given);
    for (name, value) in given.as_object().expect("an object") {
        assert_eq!(&filled[name], value);
    }
}

// C3
#[test]
fn all_problems_are_reported_with_place_and_nearest_name() {
    let (agents, _) = agents();
    let config = json!({
        "prot": 25, "port": 0, "limits": {"per_hour": 5000, "size": true}, "greeting": "much too long a text",
        "relays": [{"port": "25"}], "delivery": {"when": "soon"},
    });
    assert_eq!(
        wrong_config(&agents, "settings_post", &config),
        [
            "`/delivery/when`: expected one of \"now\", \"later\", \"nightly\", got a string of 4 characters",
            "`/greeting`: expected at most 10 characters, got 20 characters",
            "`/limits/per_hour`: expected a number of at most 1000, got 5000",
            "`/limits/size`: expected an integer of at least 0, got true",
            "`/port`: expected a number of at least 1, got 0",
            "`/prot`: unknown setting, did you mean `port`?",
            "`/relays/0/host`: missing, expected a string",
            "`/relays/0/port`: expected an integer from 0 to 65535, got a string of 2 characters",
            "`/server`: missing, expected a string (\"The address of the post office\")",
        ]
    );
}

// C3
#[test]
fn settings_must_be_an_object_or_null() {
    let (agents, _) = agents();
    assert_eq!(
        wrong_config(&agents, "settings_post", &json!([1])),
        ["arguments: expected an object, got an array of 1 item"]
    );
    assert!(wrong_config(&agents, "settings_plain", &json!(null)).is_empty());
    let wrong = wrong_config(&agents, "settings_plain", &json!({"port": 1}));
    assert_eq!(wrong, ["`/port`: unknown setting, there are none"]);
}

// C3
#[tokio::test]
async fn write_error_groups_problems_by_subject() {
    let (agents, _) = agents();
    let error = agents
        .add("alice", "settings_plain")
        .config(json!({"port": 1}))
        .save()
        .await
        .expect_err("refused");
    assert_eq!(
        error.to_string(),
        "toolset `settings_plain` of agent `alice`: invalid settings:\n- `/port`: unknown setting, there are none"
    );
    let error = agents
        .add("alice", "settings_plain")
        .config(json!(7))
        .save()
        .await
        .expect_err("refused");
    assert!(
        error
            .to_string()
            .ends_with("invalid settings:\n- expected an object, got 7"),
        "{error}"
    );
}

// C2: an improved default reaches records that were stored before
#[tokio::test]
async fn settings_are_stored_as_they_were_given() {
    let (agents, _) = agents();
    let draft = agents
        .add("alice", "settings_post")
        .config(json!({"server": "mx"}));
    let record = draft
        .secrets(json!({"password": "longenough"}))
        .save()
        .await
        .expect("sound");
    assert_eq!(record.config, json!({"server": "mx"}));
    assert_eq!(
        agents
            .record("alice", "settings_post")
            .await
            .expect("there"),
        record
    );
}

// C3
#[test]
fn type_error_beyond_the_schema_gives_place_without_text() {
    let (agents, _) = agents();
    let form = agents.form("settings_door").expect("a form");
    let config = json!({"rooms": {"a": {"code": "12"}, "b/c": {"code": "1x"}}});
    assert!(wrong_config(&agents, "settings_door", &config).is_empty());
    let problems = form
        .read_config::<DoorSettings>(&config)
        .err()
        .expect("refused");
    assert_eq!(
        lines(&problems),
        ["`/rooms/b~1c/code`: refused: a code is of digits, not \"[hidden]\""]
    );
}

// C4: an earlier version of the toolset knew the settings
#[test]
fn unknown_old_settings_are_left_out_when_read() {
    let (agents, _) = agents();
    let config = json!({"server": "mx", "colour": "red"});
    assert_eq!(wrong_config(&agents, "settings_post", &config).len(), 1);
    let form = agents.form("settings_post").expect("a form");
    assert!(form.read_config::<PostSettings>(&config).is_ok());
}
