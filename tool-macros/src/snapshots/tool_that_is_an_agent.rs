impl Library {
    /// Find a book.
    async fn find(&self, title: String) -> Book {
        ::tool_core::__private::tool_span!("find", "::Library::find", Book)
            .run_async(async move {
                ::tool_core::__private::returns!(Book);
                ::tool_core::__private::agent_span!("librarian", Book)
                    .run_async(async move {
                        ::tool_core::__private::returns!(Book);
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
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            let mut __f0 = __None;
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    _ => __f0 = __Some(__f.value()?),
                }
            }
            __Ok(Self {
                title: __f.required(__f0, 0)?,
            })
        }
    }
    fn __tool_find<'__a>(
        __this: &'__a Library,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args = __call.decode::<FindArgs>()?;
        let __future = Library::find(__this, __args.title);
        __Ok(__tool::pending(async move { __tool::respond!(__call, __future. await) }))
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
                            <FindArgs as __tool::ArgumentStruct>::PARAMETERS,
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
