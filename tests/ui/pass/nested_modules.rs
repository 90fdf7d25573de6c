//! Private types in nested modules, attributes by full path, and names that repeat across modules.
#![deny(warnings)]
#![allow(clippy::all, clippy::pedantic)] // `strict_lints` covers lints

mod outer {
    pub mod inner {
        pub(in super::super::outer) struct Secret;

        #[tool_core::toolset(name = "secrets")]
        impl Secret {
            /// Tell it.
            #[tool_core::tool]
            pub(super) fn tell(&self, to: Whom) -> String {
                to.name
            }
        }

        #[derive(tool_core::serde::Deserialize, tool_core::schemars::JsonSchema)]
        #[serde(crate = "tool_core::serde")]
        #[schemars(crate = "tool_core::schemars")]
        pub(super) struct Whom {
            name: String,
        }

        /// Keep it.
        #[tool_core::tool]
        pub(crate) fn keep(number: u8) -> u8 {
            number
        }
    }

    pub fn secret() -> impl tool_core::Toolset {
        inner::Secret
    }
}

mod elsewhere {
    /// Keep it elsewhere.
    #[tool_core::tool(name = "keep_elsewhere")]
    pub fn keep(number: u8) -> u8 {
        number
    }
}

#[test]
fn names_can_repeat_across_modules() {
    let tools = tool_core::ToolContext::builder()
        .with(outer::secret())
        .with(outer::inner::keep)
        .with(elsewhere::keep)
        .build()
        .expect("three tools");
    assert!(tools.has_tool("tell") && tools.has_tool("keep_elsewhere"));
}
