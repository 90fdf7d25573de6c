//! Generic toolsets: parts by name, registered by hand.

use crate::support::{data, failure, tools};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::fmt;
use std::sync::Mutex;
use tool_core::call::IntoToolError;
use tool_core::schemars::JsonSchema;
use tool_core::{ErrorKind, ToolError, toolset};

struct Store<T>(Mutex<Vec<T>>);

/// Keeps things.
#[toolset(name = "store", parts(admin, stats))]
impl<T> Store<T>
where
    T: Serialize + DeserializeOwned + JsonSchema + Clone + Send + Sync + 'static,
{
    /// Keep one.
    #[tool]
    fn put(&self, item: T) -> usize {
        let mut items = self.0.lock().expect("no panic");
        items.push(item);
        items.len()
    }

    /// Get one.
    #[tool]
    async fn get(&self, index: usize) -> Result<T, String> {
        self.0
            .lock()
            .expect("no panic")
            .get(index)
            .cloned()
            .ok_or_else(|| format!("there is no item {index}"))
    }
}

/// The dangerous part.
#[toolset(part = admin)]
impl<T: Send + Sync + 'static> Store<T> {
    /// Forget all.
    #[tool(destructive)]
    fn clear(&self) -> usize {
        let mut items = self.0.lock().expect("no panic");
        std::mem::take(&mut *items).len()
    }
}

#[toolset(part = stats)]
impl<T: Send + Sync + 'static> Store<T> {
    /// Count.
    #[tool]
    fn count(&self) -> usize {
        self.0.lock().expect("no panic").len()
    }
}

// D8
#[test]
fn generic_toolset_is_registered_with_all_its_parts() {
    let numbers = tools(Store::<u8>(Mutex::default()));
    let names = numbers
        .definitions()
        .map(tool_core::ToolDefinition::name)
        .collect::<Vec<_>>();
    assert_eq!(names, ["put", "get", "clear", "count"]);
    assert_eq!(data(&numbers, "put", json!({"item": 7})), json!(1));
    assert_eq!(data(&numbers, "get", json!({"index": 0})), json!(7));
    assert_eq!(
        failure(&numbers, "put", json!({"item": 300})).0,
        ErrorKind::Validation
    );
    assert_eq!(data(&numbers, "clear", "{}"), json!(1));
    assert_eq!(data(&numbers, "count", "{}"), json!(0));
}

// D8
#[test]
fn each_instantiation_publishes_its_own_schema() {
    let texts = tools(Store::<Option<String>>(Mutex::default()));
    let schema = texts
        .function_tool("put")
        .expect("there")
        .definition()
        .parameters();
    assert_eq!(schema["properties"]["item"]["type"], json!("string"));
}

struct Failing<E>(fn() -> E);

#[toolset(discover = false)]
impl<E: IntoToolError + Send + Sync + 'static> Failing<E> {
    /// Fail.
    #[tool]
    fn bounded(&self) -> Result<u8, E> {
        Err((self.0)())
    }
}

struct Foreign<E>(fn() -> E);

#[toolset(discover = false)]
impl<E: std::error::Error + Send + Sync + 'static> Foreign<E> {
    /// Fail.
    #[tool]
    fn unbounded(&self) -> Result<u8, E> {
        Err((self.0)())
    }
}

// D8
#[test]
fn generic_error_type_is_treated_by_its_bound() {
    let told = tools(Failing(|| ToolError::conflict("taken")));
    assert_eq!(failure(&told, "bounded", "{}").0, ErrorKind::Conflict);
    let foreign = tools(Foreign(|| fmt::Error));
    assert_eq!(failure(&foreign, "unbounded", "{}").0, ErrorKind::Internal);
}

struct Many<const N: usize>;

#[toolset(discover = false)]
impl<const N: usize> Many<N> {
    /// Tell the size and a number.
    #[tool]
    fn size(&self, #[arg(range(0..=9))] more: usize) -> usize {
        N + more
    }
}

// D8
#[test]
fn toolset_can_have_a_const_parameter() {
    let tools = tools(Many::<2>);
    assert_eq!(data(&tools, "size", json!({"more": 1})), json!(3));
}
