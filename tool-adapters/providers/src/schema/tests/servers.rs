//! Tools as MCP servers declare them.

use crate::Provider;
use crate::schema::document::SchemaDocument;
use crate::schema::tests::oracle::{Dice, read, validator};
use crate::schema::tests::{SERVERS, projected};
use serde_json::Value;
use tool_core::schema::to_draft_2020_12;

#[test]
fn tools_of_mcp_servers_have_a_form_with_each_provider() {
    let servers: Value = serde_json::from_str(SERVERS).expect("JSON");
    let tools = servers
        .as_object()
        .expect("servers")
        .values()
        .flat_map(|tools| tools.as_array().expect("tools"));
    let mut checked = 0;
    for (at, tool) in tools.enumerate() {
        let schema = &to_draft_2020_12(&tool["inputSchema"]);
        let accepts = validator(schema).expect("a schema");
        let document = SchemaDocument::new(schema);
        let mut dice = Dice(at as u64);
        let instances: Vec<Value> = (0..50)
            .map(|_| dice.instance(&document, schema, "", 0))
            .filter(|value| accepts.is_valid(value))
            .collect();
        checked += instances.len();
        for provider in Provider::ALL {
            let read = read(provider, &projected(provider, schema).schema);
            let projection = validator(&read).expect("a schema");
            for instance in &instances {
                assert!(
                    projection.is_valid(instance),
                    "{provider} {}: {instance}",
                    tool["name"]
                );
            }
        }
    }
    assert!(checked > 1_000, "{checked} instances");
}
