//! Arguments and schemas that are expensive to check: each call answers, within bounded memory, in few words. This is a
//! separate binary, as a process has one allocator.

#[path = "../benches/counting.rs"]
mod counting;
#[path = "../benches/shapes/mod.rs"]
mod shapes;

use shapes::Shape;
use std::sync::OnceLock;
use tool_core::{ErrorKind, RunContext, ToolResponse};

/// The bytes that a call may hold above its arguments.
const BYTES: i64 = 64 << 20;
/// The size of an answer.
const ANSWER: usize = 64 << 10;

/// The shapes whose schema cannot be checked in bounds.
const REFUSED: [&str; 3] = [
    "untagged, one field in three variants",
    "a chain of 3,000 references",
    "a chain that ends where it began",
];

/// A call of a shape, with the bytes that it held above its arguments.
struct Call {
    name: &'static str,
    response: ToolResponse,
    bytes: i64,
}

/// The calls of all tools that can be frozen.
fn calls() -> &'static [Call] {
    static CALLS: OnceLock<Vec<Call>> = OnceLock::new();
    CALLS.get_or_init(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .expect("a runtime");
        let call = |shape: Shape| {
            let tools = shape.tools.ok()?;
            let ctx = RunContext::detached();
            let work = || runtime.block_on(tools.call(shape.tool, shape.arguments.as_str(), &ctx));
            let (response, bytes) = counting::peak(work);
            Some(Call {
                name: shape.name,
                response,
                bytes,
            })
        };
        shapes::all().into_iter().filter_map(call).collect()
    })
}

// T4: arguments of any shape, within the cap and against any accepted schema
#[test]
fn arguments_take_at_most_64_mib_above_their_size() {
    assert!(calls().len() >= 40, "{} shapes", calls().len());
    for Call { name, bytes, .. } in calls() {
        assert!(*bytes <= BYTES, "{name}: {bytes} bytes");
    }
}

#[test]
fn answers_to_expensive_arguments_are_short() {
    for Call { name, response, .. } in calls() {
        let (size, meta) = (response.to_json().len(), response.meta());
        assert!(size <= ANSWER, "{name}: {size} bytes");
        assert!(
            meta.problems().len() <= 20 && meta.coerced().len() <= 20,
            "{name}: {response}"
        );
        assert!(
            meta.problems()
                .iter()
                .all(|problem| problem.pointer.len() <= 256),
            "{name}: {response}"
        );
    }
}

#[test]
fn wrong_arguments_are_refused_in_bounds() {
    let wrong: Vec<_> = calls()
        .iter()
        .filter(|call| call.name.ends_with(", wrong"))
        .collect();
    assert!(wrong.len() >= 10, "{}", wrong.len());
    for Call { name, response, .. } in wrong {
        assert_eq!(
            response.error().map(|error| error.kind),
            Some(ErrorKind::Validation),
            "{name}: {response}"
        );
    }
}

#[test]
fn valid_arguments_are_accepted_in_bounds() {
    assert!(
        calls()
            .iter()
            .filter(|call| call.name.ends_with(", valid"))
            .count()
            > 3
    );
    for Call { name, response, .. } in calls().iter().filter(|call| call.name.ends_with(", valid"))
    {
        assert!(response.is_ok(), "{name}: {response}");
    }
}

#[test]
fn schemas_without_bounds_are_refused_when_frozen() {
    let refused: Vec<_> = shapes::all()
        .iter()
        .filter(|shape| shape.tools.is_err())
        .map(|shape| shape.name)
        .collect();
    assert_eq!(refused, REFUSED);
}
