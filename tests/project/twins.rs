//! Tools that differ in their module only. They are in this binary, as discovery finds every linked tool.

use tool_core::ToolContext;

macro_rules! twin {
    ($module:ident) => {
        pub mod $module {
            /// The same name from the same line.
            #[tool_core::tool]
            pub fn twin() -> &'static str {
                stringify!($module)
            }
        }
    };
}

twin!(left);
twin!(right);

// L8, L13
#[test]
fn two_functions_of_one_macro_line_are_two_tools() {
    let errors = ToolContext::builder()
        .with(left::twin)
        .with(right::twin)
        .build()
        .expect_err("a collision");
    assert!(
        errors
            .to_string()
            .starts_with("duplicate function name: twin"),
        "{errors}"
    );
}
