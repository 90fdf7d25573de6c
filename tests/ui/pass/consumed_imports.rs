//! The attributes that `#[toolset]` and `#[tool]` consume, imported or not.
#![deny(
    warnings,
    unused,
    unused_imports,
    unreachable_pub,
    private_interfaces,
    ambiguous_glob_imports
)]
#![deny(clippy::all, clippy::pedantic, clippy::nursery)]
#![allow(
    clippy::missing_const_for_fn,
    clippy::unused_self,
    clippy::items_after_statements
)]

mod imported {
    use tool_core::{agent, tool, toolset};

    pub(super) struct Clock;

    #[toolset]
    impl Clock {
        /// Tell the time.
        #[tool]
        fn now(&self) -> u8 {
            1
        }

        /// Guess the time.
        #[agent("guesser")]
        #[tool]
        async fn guess(&self) -> u8 {
            std::future::ready(1).await
        }
    }

    #[toolset(part)]
    impl Clock {
        /// Tell the date.
        #[tool]
        fn date(&self) -> u8 {
            2
        }
    }
}

mod beside_an_agent {
    use tool_core::{agent, tool};

    /// Add two numbers.
    #[tool]
    #[agent("adder")]
    pub(super) fn add(a: i64, b: i64) -> i64 {
        a + b
    }
}

mod not_imported {
    use tool_core::toolset;

    pub(super) struct Clock;

    #[toolset(name = "second")]
    impl Clock {
        /// Tell the time.
        #[tool(name = "now_2")]
        fn now(&self) -> u8 {
            1
        }

        /// Tell the date.
        #[tool_core::tool(name = "date_2")]
        fn date(&self) -> u8 {
            2
        }
    }
}

mod imported_by_a_glob {
    use tool_core::*;

    pub(super) struct Clock;

    #[toolset(name = "third")]
    impl Clock {
        /// Tell the time.
        #[tool(name = "now_3")]
        fn now(&self) -> u8 {
            1
        }
    }

    pub(super) fn built(builder: registry::ToolContextBuilder) -> usize {
        builder
            .build()
            .map_or(0, |tools| tools.definitions().count())
    }
}

/// Other items of that name do not matter.
mod beside_other_names {
    use tool_core::toolset;

    macro_rules! tool {
        () => {
            3
        };
    }

    pub(super) mod tool {}

    pub(super) fn tool() -> u8 {
        tool!()
    }

    pub(super) struct Clock;

    #[toolset(name = "fourth")]
    impl Clock {
        /// Tell the time.
        #[tool(name = "now_4")]
        fn now(&self) -> u8 {
            tool()
        }
    }
}

mod beside_another_attribute {
    use tokio::test as tool;
    use tool_core::toolset;

    pub(super) struct Clock;

    #[toolset(name = "fifth")]
    impl Clock {
        /// Tell the time.
        #[tool(name = "now_5")]
        fn now(&self) -> u8 {
            1
        }
    }

    #[tool]
    async fn other_attribute_of_that_name_works() {
        assert_eq!(Clock.now(), std::future::ready(1).await);
    }
}

mod imported_outside_of_the_function {
    use tool_core::{ToolContext, tool, toolset};

    pub(super) fn tools() -> usize {
        struct Clock;

        #[toolset]
        impl Clock {
            /// Tell the time.
            #[tool]
            fn now(&self) -> u8 {
                1
            }
        }

        ToolContext::builder()
            .with(Clock)
            .build()
            .map_or(0, |tools| tools.definitions().count())
    }
}

fn imported_inside_of_the_function() -> usize {
    use tool_core::{ToolContext, tool, toolset};

    struct Clock;

    #[toolset]
    impl Clock {
        /// Tell the time.
        #[tool]
        fn now(&self) -> u8 {
            1
        }
    }

    ToolContext::builder()
        .with(Clock)
        .build()
        .map_or(0, |tools| tools.definitions().count())
}

#[test]
fn imports_of_consumed_attributes_are_used() {
    let builder = tool_core::ToolContext::builder()
        .with(imported::Clock)
        .with(beside_an_agent::add);
    let builder = builder
        .with(not_imported::Clock)
        .with(imported_by_a_glob::Clock)
        .with(beside_other_names::Clock);
    let builder = builder.with(beside_another_attribute::Clock);
    assert_eq!(imported_by_a_glob::built(builder), 9);
    assert_eq!(beside_an_agent::add(1, 2), 3);
    assert_eq!(
        imported_outside_of_the_function::tools() + imported_inside_of_the_function(),
        2
    );
}
