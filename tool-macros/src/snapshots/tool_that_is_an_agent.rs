impl Library {
    /// Find a book.
    async fn find(&self, title: String) -> Book {
        ::tool_core::__private::body::<Book>()
            .__tool_span("find", ::tool_core::__private::function_id!("::Library::find"))
            .run_async(async move {
                ::tool_core::__returns!(Book);
                ::tool_core::__private::body::<Book>()
                    .__agent_span("librarian")
                    .run_async(async move {
                        ::tool_core::__returns!(Book);
                        self.shelf.get(title).await
                    })
                    .await
            })
            .await
    }
    #[agent("page")]
    async fn fetch(&self) {}
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    use __tool::locals::*;
    const _: () = {
        struct agent;
        use agent as _;
        struct tool;
        use tool as _;
    };
    struct FindArgs {
        title: String,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for FindArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<String>("title", "")];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            __source.decode(&mut [&mut __f0])?;
            __Ok(Self {
                title: __tool::filled(__f0),
            })
        }
    }
    fn __tool_find<'__a>(
        __this: &'__a Library,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: FindArgs = __call.arguments()?;
        __Ok(
            __tool::start(
                __call,
                Library::find(__this, __args.title),
                |__value, __call| __tool::respond!(__call, __value),
            ),
        )
    }
    impl __tool::MainToolsetBlock for Library {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "library",
                "",
                &[
                    __tool::ToolSpec::new(
                            "find",
                            "Find a book.",
                            __tool_find,
                            __tool::parameters::<FindArgs>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Library::find"))
                        .output(__tool::output!(Book)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Library"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Library > (|| __tool::discovery!(Library))
    }
};
