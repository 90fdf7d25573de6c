impl Library {
    /// Find a book.
    async fn find(&self, title: String) -> Book {
        ::tool_core::__private::body::<Book>()
            .__tool_span(::tool_core::__private::function!("::Library::find"))
            .run_async(move |__typed| async move {
                if let ::core::option::Option::Some(__typed) = __typed.value() {
                    return __typed;
                }
                ::tool_core::__private::body::<Book>()
                    .__agent_span("librarian")
                    .run_async(move |__typed| async move {
                        if let ::core::option::Option::Some(__typed) = __typed.value() {
                            return __typed;
                        }
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
    use ::tool_core::__private::{self as __tool, prelude::*};
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
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self {
                title: __tool::filled(__f.0),
            })
        }
    }
    fn __tool_find<'__a>(
        __this: &'__a Library,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: FindArgs = __call.arguments()?;
        let __method = Library::find(__this, __args.title);
        __tool::start(__call, __method, |__value| __value.__split().__value().__error())
    }
    impl __tool::MainToolsetBlock for Library {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("library")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("find", __tool_find)
                .description("Find a book.")
                .parameters::<FindArgs>()
                .at(0, __tool::path!("::Library::find"))
                .output(|__generator| __tool::of_type::<Book>().__schema(__generator)),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Library > ()
    }
};
