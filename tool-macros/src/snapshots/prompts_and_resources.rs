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
    use ::tool_core::__private::{
        self as __tool, Constraint as __Limit, Parameter as __Row,
    };
    use ::core::option::Option::{self as __Option, None as __None, Some as __Some};
    use ::core::result::Result::{self as __Result, Ok as __Ok};
    use ::std::{string::String as __String, vec::Vec as __Vec};
    use __tool::locals::*;
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
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            __source.decode(&mut [&mut __f0, &mut __f1])?;
            __Ok(Self {
                title: __tool::filled(__f0),
                sentences: __f1.unwrap_or_else(|| -> u32 { 3 }),
            })
        }
    }
    fn __tool_summarise<'__a>(
        __this: &'__a Notes,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: SummariseArgs<'_> = __call.arguments()?;
        let __ctx0 = __tool::context::<&RunContext>(__call)?;
        __Ok(
            __tool::start(
                __call,
                async move {
                    Notes::summarise(__this, __ctx0, &*__args.title, __args.sentences)
                        .await
                },
                |__value, __call| {
                    let __value = __tool::shown!(__value);
                    __tool::respond_text!(prompt_result, __call, __value)
                },
            ),
        )
    }
    struct NoteArgs {
        title: String,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for NoteArgs {
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
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "notes",
                "",
                &[],
            )
            .at(::core::file!(), 0, __tool::path!("::Notes"))
            .prefix("notes")
            .prompts(
                &[
                    __tool::PromptSpec::new(
                            __tool::ToolSpec::new(
                                    "summarise",
                                    "Summarise a note.",
                                    __tool_summarise,
                                    __tool::parameters::<SummariseArgs<'_>>(),
                                )
                                .at(::core::file!(), 0, __tool::path!("::Notes::summarise"))
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
                            __tool::ToolSpec::new(
                                    "note",
                                    "A note.",
                                    __tool_note,
                                    __tool::parameters::<NoteArgs>(),
                                )
                                .at(::core::file!(), 0, __tool::path!("::Notes::note")),
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
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Notes > (|| __tool::discovery!(Notes))
    }
};
