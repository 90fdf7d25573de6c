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
    struct FindArgs {
        title: String,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for FindArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<String>("title", "")];
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    _ => f0 = __Some(fields.value()?),
                }
            }
            __Ok(Self {
                title: fields.required(f0, 0)?,
            })
        }
    }
    fn __tool_find<'__a>(
        this: &'__a Library,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<FindArgs>()?;
        let future = Library::find(this, args.title);
        __Ok(__tool::pending(async move { __tool::respond!(call, future. await) }))
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
                        .at(file!(), 0, concat!(module_path!(), "::Library::find"))
                        .output(|g| __tool::output!(g, Book)),
                ],
            )
            .at(file!(), 0, concat!(module_path!(), "::Library"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Library > (|| __tool::discovery!(Library))
    }
};
