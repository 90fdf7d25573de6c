//! A1 to A3: actions say what the schemas say.

use crate::call::context::RunContext;
use crate::call::error::ToolError;
use crate::describe::actions::ToolsetActions;
use crate::json::canonical::canonical;
use crate::registry::ToolContext;
use crate::registry::discovery::Registry;
use crate::schema::timestamp::Timestamp;
use crate::tool::ToolsetExt;
use crate::tool::action::ActionParameter;
use crate::tool::configure::Configure;
use crate::tool::function::FunctionTool;
use crate::tool::raw::RawTool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_macros::{tool, toolset};

#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// Hardly heard.
    Low,
    /// Over the street.
    High,
}

#[derive(Deserialize, JsonSchema)]
struct Paging {
    /// How many
    limit: Option<u8>,
}

/// Made by its configuration.
struct Calendar {
    minutes: u32,
}

#[derive(Deserialize, JsonSchema)]
struct NoSettings {}

impl Configure for Calendar {
    type Config = NoSettings;
    type Secrets = NoSettings;

    async fn configure(_: NoSettings, _: NoSettings) -> Result<Self, ToolError> {
        Ok(Self { minutes: 30 })
    }
}

/// Appointments.
#[toolset(
    name = "calendar_of_action_tests",
    title = "My Calendar",
    prefix = "cal"
)]
impl Calendar {
    /// Create an event.
    ///
    /// # Returns
    /// the event
    #[tool]
    #[allow(
        clippy::too_many_arguments,
        clippy::needless_pass_by_value,
        clippy::unused_self
    )]
    fn create(
        &self,
        _ctx: &RunContext,
        /// Event title
        #[arg(length(1..=80))]
        title: String,
        /// Start
        start_time: Timestamp,
        #[arg(default = self.minutes, range(5..=480))] minutes: u32,
        #[arg(items(1..=10), format = "email")] attendees: Option<Vec<String>>,
        #[arg(default = Level::Low)] level: Level,
        #[arg(range(0.0..1.0))] share: f64,
        again: Option<Level>,
        at: Option<Timestamp>,
        #[arg(default)] loud: bool,
        #[arg(one_of("red", "green"))] colour: &str,
        extra: Value,
        #[serde(alias = "where")] place: String,
        #[arg(flatten)] paging: Paging,
    ) -> u32 {
        let _ = (
            title,
            start_time,
            attendees,
            level,
            share,
            again,
            at,
            loud,
            colour,
            extra,
            place,
            paging.limit,
        );
        minutes
    }

    /// List events.
    #[tool]
    fn list(&self) -> u32 {
        self.minutes
    }
}

/// Belong to no toolset.
#[tool(name = "free_in_action_tests")]
fn free(n: i8) -> i8 {
    n
}

#[derive(Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Payment {
    Card {
        #[schemars(range(min = 10, max = 100))]
        amount: u8,
        #[schemars(range(min = 1))]
        points: u32,
        number: String,
        at: Timestamp,
        #[serde(default)]
        now: bool,
    },
    Cash {
        #[schemars(range(min = 5, max = 50))]
        amount: u8,
        points: String,
        at: String,
        now: bool,
    },
}

/// Pay.
#[tool(name = "pay_in_action_tests")]
fn pay(#[arg(flatten)] payment: Payment) -> u8 {
    match payment {
        Payment::Card {
            amount,
            points,
            number,
            at,
            now,
        } => {
            let _ = (points, number, at, now);
            amount
        }
        Payment::Cash {
            amount,
            points,
            at,
            now,
        } => {
            let _ = (points, at, now);
            amount
        }
    }
}

fn described() -> ToolsetActions {
    let tools = ToolContext::builder()
        .with(Calendar { minutes: 45 })
        .build()
        .expect("sound");
    tools.actions().swap_remove(0)
}

fn parameter(name: &str) -> Value {
    let create = described().actions.swap_remove(0);
    let found = create
        .parameters
        .into_iter()
        .find(|parameter| parameter.name == name);
    serde_json::to_value(found.unwrap_or_else(|| panic!("no parameter {name}"))).expect("JSON")
}

// A1, A3
#[test]
fn lists_actions_in_source_order() {
    let toolset = described();
    assert_eq!(toolset.name, "calendar_of_action_tests");
    assert_eq!(toolset.title, "My Calendar");
    assert_eq!(toolset.description, "Appointments.");
    let names = toolset
        .actions
        .iter()
        .map(|action| (action.name.as_str(), action.returns.as_str()));
    assert_eq!(
        names.collect::<Vec<_>>(),
        [("cal_create", "the event"), ("cal_list", "any")]
    );
}

// A3
#[test]
fn lists_parameters_in_order_without_the_context() {
    let create = described().actions.swap_remove(0);
    let names = create
        .parameters
        .iter()
        .map(|parameter| parameter.name.as_str())
        .collect::<Vec<_>>();
    let expected = [
        "title",
        "start_time",
        "minutes",
        "attendees",
        "level",
        "share",
        "again",
        "at",
        "loud",
        "colour",
        "extra",
        "place",
        "limit",
    ];
    assert_eq!(names, expected);
}

// A2, A3
#[test]
fn takes_types_and_limits_from_the_schema() {
    let text = json!({"name": "title", "type": "string", "description": "Event title", "required": true, "min": 1, "max": 80});
    assert_eq!(parameter("title"), text);
    let time = json!({"name": "start_time", "type": "datetime", "description": "Start", "required": true, "format": "date-time"});
    assert_eq!(parameter("start_time"), time);
    let number = json!({"name": "share", "type": "number", "description": "", "required": true,
        "min": 0, "max": 1, "exclusiveMax": true});
    assert_eq!(canonical(&parameter("share")), canonical(&number));
    let yes = json!({"name": "loud", "type": "boolean", "description": "", "required": false, "default": false});
    assert_eq!(parameter("loud"), yes);
    let list = json!({"name": "attendees", "type": "array", "description": "", "required": false,
        "min": 1, "max": 10, "format": "email"});
    assert_eq!(parameter("attendees"), list);
    assert_eq!(parameter("extra")["type"], "object");
}

// A3
#[test]
fn lists_the_values_of_an_enum_behind_a_reference() {
    let level = parameter("level");
    assert_eq!(
        (&level["type"], &level["enum"], &level["default"]),
        (&json!("string"), &json!(["low", "high"]), &json!("low"))
    );
    assert_eq!(parameter("again")["enum"], json!(["low", "high"]));
    assert_eq!(parameter("again")["required"], false);
    assert_eq!(parameter("colour")["enum"], json!(["red", "green"]));
    assert_eq!(parameter("at")["type"], "datetime");
}

// A3
#[test]
fn shows_instance_defaults_in_a_context() {
    let minutes = parameter("minutes");
    assert_eq!(
        (&minutes["default"], &minutes["required"]),
        (&json!(45), &json!(false))
    );
    assert_eq!((&minutes["min"], &minutes["max"]), (&json!(5), &json!(480)));
}

#[test]
fn an_alias_is_not_a_separate_parameter() {
    assert_eq!(parameter("place")["required"], true);
}

#[test]
fn lists_the_properties_of_a_flattened_type() {
    assert_eq!(parameter("limit")["description"], "How many");
    assert_eq!(parameter("limit")["max"], 255);
}

// A3
#[test]
fn a_parameter_of_several_variants_has_the_limits_of_all() {
    let tools = ToolContext::builder().with(pay).build().expect("sound");
    let action = tools.actions().swap_remove(0).actions.swap_remove(0);
    let parameter = |name: &str| {
        let mut parameters = action.parameters.iter();
        let found = parameters.find(|parameter| parameter.name == name);
        serde_json::to_value(found.expect(name)).expect("JSON")
    };
    assert_eq!(
        parameter("kind"),
        json!({"name": "kind", "type": "string", "description": "", "required": true, "enum": ["card", "cash"]})
    );
    assert_eq!(
        parameter("amount"),
        json!({"name": "amount", "type": "integer", "description": "", "required": true, "min": 5, "max": 100})
    );
    assert_eq!(
        parameter("points"),
        json!({"name": "points", "type": "object", "description": "", "required": true})
    );
    assert_eq!(
        parameter("at"),
        json!({"name": "at", "type": "string", "description": "", "required": true})
    );
    assert_eq!(
        parameter("number"),
        json!({"name": "number", "type": "string", "description": "", "required": false})
    );
    assert_eq!(
        parameter("now"),
        json!({"name": "now", "type": "boolean", "description": "", "required": false})
    );
}

// A1
#[test]
fn the_registry_lists_unconfigured_toolsets() {
    let all = Registry::discover().expect("sound").actions();
    let calendar = all
        .iter()
        .find(|toolset| toolset.name == "calendar_of_action_tests")
        .expect("it is linked");
    assert_eq!(
        (calendar.title.as_str(), calendar.actions.len()),
        ("My Calendar", 2)
    );
    let minutes = calendar.actions[0]
        .parameters
        .iter()
        .find(|parameter| parameter.name == "minutes")
        .expect("it");
    assert_eq!((minutes.required, &minutes.default), (false, &None));

    // All else is as the instance has it.
    let bound = described();
    for (unbound, bound) in calendar.actions.iter().zip(&bound.actions) {
        assert_eq!(
            (&unbound.name, &unbound.returns),
            (&bound.name, &bound.returns)
        );
        for (unbound, bound) in unbound.parameters.iter().zip(&bound.parameters) {
            assert_eq!(
                unbound,
                &ActionParameter {
                    default: unbound.default.clone(),
                    ..bound.clone()
                }
            );
        }
    }
}

#[test]
fn lists_tools_outside_toolsets_last() {
    async fn echo(arguments: Value, _: &RunContext) -> Result<Value, ToolError> {
        Ok(arguments)
    }
    let parameters = json!({"type": "object", "required": ["b"], "properties": {
        "b": {"$ref": "#/$defs/B", "description": "near"},
        "a": {"anyOf": [{"type": "integer"}, {"type": "number"}]},
        "c": {"type": ["string", "null"], "default": "x"}
    }, "$defs": {"B": {"type": "integer", "minimum": 3, "description": "far"}}});
    let raw = FunctionTool::raw(
        RawTool {
            name: "raw".into(),
            description: "Raw.".into(),
            parameters,
        },
        echo,
    );
    let tools = ToolContext::builder()
        .with(raw)
        .with(free)
        .with(Calendar { minutes: 30 }.prefixed("x"))
        .build();
    let all = tools.expect("sound").actions();
    assert_eq!(
        all.iter()
            .map(|toolset| toolset.name.as_str())
            .collect::<Vec<_>>(),
        ["calendar_of_action_tests", "functions"]
    );
    assert_eq!(all[0].actions[0].name, "x_cal_create");
    let expected = json!({"name": "functions", "title": "Functions", "description": "", "actions": [
        {"name": "raw", "description": "Raw.", "returns": "any", "parameters": [
            {"name": "b", "type": "integer", "description": "near", "required": true, "min": 3},
            {"name": "a", "type": "number", "description": "", "required": false},
            {"name": "c", "type": "string", "description": "", "required": false, "default": "x"}
        ]},
        {"name": "free_in_action_tests", "description": "Belong to no toolset.", "returns": "any", "parameters": [
            {"name": "n", "type": "integer", "description": "", "required": true, "min": -128, "max": 127}
        ]}
    ]});
    assert_eq!(serde_json::to_value(&all[1]).expect("JSON"), expected);
}
