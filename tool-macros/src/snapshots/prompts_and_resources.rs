impl Notes {
    /// Summarise a note.
    async fn summarise(
        &self,
        ctx: &RunContext,
        title: &str,
        sentences: u32,
    ) -> Result<String, NoteError> {
        self.find(title).await
    }
    /// A note.
    fn note(&self, title: String) -> String {
        title
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    const _: () = {
        struct prompt;
        use prompt as _;
        struct resource;
        use resource as _;
    };
    struct SummariseArgs<'__de> {
        title: __tool::Text<'__de>,
        sentences: u32,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for SummariseArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<__String>("title", "The title"),
            __Row::new::<u32>("sentences", "").default_literal("3"),
        ];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None, __None);
            __from.decode([&mut __f.0, &mut __f.1])?;
            __Ok(Self {
                title: __tool::filled(__f.0),
                sentences: __f.1.unwrap_or_else(|| -> u32 { 3 }),
            })
        }
    }
    fn __tool_summarise<'__a>(
        __this: &'__a Notes,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: SummariseArgs<'_> = __call.arguments()?;
        let __contexts = (__tool::context::<&RunContext>(__call)?,);
        let __method = async move {
            match Notes::summarise(
                    __this,
                    __contexts.0,
                    &*__args.title,
                    __args.sentences,
                )
                .await
            {
                __value => {
                    let __value = __tool::shown!(__value);
                    __tool::respond_text!(prompt_result, __call, __value)
                }
            }
        };
        __tool::start_converted(__method)
    }
    struct NoteArgs {
        title: String,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for NoteArgs {
        const PARAMETERS: &'static [__Row] = &[__Row::new::<String>("title", "")];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None,);
            __from.decode([&mut __f.0])?;
            __Ok(Self {
                title: __tool::filled(__f.0),
            })
        }
    }
    fn __tool_note<'__a>(
        __this: &'__a Notes,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: NoteArgs = __call.arguments()?;
        match Notes::note(__this, __args.title) {
            __value => __Ok(__tool::respond_text!(resource_result, __call, __value)),
        }
    }
    impl __tool::MainToolsetBlock for Notes {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("notes")
            .at(0)
            .prefix("notes")
            .prompts(
                &[
                    __tool::PromptSpec::new(
                            __tool::ToolSpec::new("summarise", __tool_summarise)
                                .description("Summarise a note.")
                                .parameters::<SummariseArgs<'_>>()
                                .at(0, __tool::path!("::Notes::summarise"))
                                .title("Summary")
                                .uses_context(),
                        )
                        .complete(
                            &[
                                (
                                    "title",
                                    |__this, __request| __tool::completion(async move {
                                        __tool::completed!(
                                            (< Notes > ::titles) (__this, & __request)
                                        )
                                    }),
                                ),
                            ],
                        ),
                ],
            )
            .resources(
                &[
                    __tool::ResourceSpec::new(
                            "notes://{title}",
                            __tool::ToolSpec::new("note", __tool_note)
                                .description("A note.")
                                .parameters::<NoteArgs>()
                                .at(0, __tool::path!("::Notes::note")),
                        )
                        .mime_type("text/markdown")
                        .complete(
                            &[
                                (
                                    "title",
                                    |__this, __request| __tool::completion(async move {
                                        __tool::completed!(
                                            (< Notes > ::titles) (__this, & __request)
                                        )
                                    }),
                                ),
                            ],
                        ),
                ],
            );
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Notes > ()
    }
};
