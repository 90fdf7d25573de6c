//! Unusual code that is valid. It compiles with this test, under the lints that each file names.

// Only `strict_lints` is checked by the lints of the workspace.
#![allow(missing_docs, unreachable_pub, unused_qualifications)]

pub mod block_inside_a_function;
pub mod block_made_by_a_macro;
pub mod conditional_methods;
pub mod constant_bounds;
pub mod constants_in_scope;
pub mod consumed_imports;
pub mod context_patterns;
pub mod everything_in_a_block;
pub mod framework_by_another_path;
pub mod generic_parameters;
pub mod generic_types;
pub mod hostile_scope;
pub mod macros_in_scope;
pub mod nested_modules;
pub mod no_implicit_prelude;
pub mod prompts;
pub mod raw_identifiers;
pub mod strict_lints;
pub mod tool_types;
