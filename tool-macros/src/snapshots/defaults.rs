impl Search {
    const LIMIT: u32 = 5;
    /// Search the index.
    async fn search(
        &self,
        query: &str,
        language: String,
        scope: &str,
        bias: f64,
        limit: u32,
        pages: u8,
        region: &str,
        tags: Vec<String>,
        depth: Option<u8>,
    ) -> Vec<Hit> {
        ::tool_core::__private::body::<Vec<Hit>>()
            .__tool_span(::tool_core::__private::function!("::Search::search"))
            .run_async(move |__typed| async move {
                if let ::core::option::Option::Some(__typed) = __typed.value() {
                    return __typed;
                }
                todo!()
            })
            .await
    }
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    const _: () = {
        struct tool;
        use tool as _;
    };
    struct SearchArgs<'__de> {
        query: __tool::Text<'__de>,
        language: String,
        scope: __tool::Text<'__de>,
        bias: f64,
        limit: u32,
        pages: __Option<u8>,
        region: __Option<__tool::Text<'__de>>,
        tags: Vec<String>,
        depth: Option<u8>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for SearchArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<__String>("query", ""),
            __Row::new::<String>("language", "").default_literal("\"en\""),
            __Row::new::<__String>("scope", "").default_literal("\"web\""),
            __Row::new::<f64>("bias", "").default_literal("-0.5"),
            __Row::new::<u32>("limit", "")
                .default_computed(|| __tool::to_json(
                    &(|| -> u32 { <Search>::LIMIT })(),
                )),
            __Row::new::<u8>("pages", "").default_from_instance(),
            __Row::new::<__String>("region", "").default_from_instance(),
            __Row::new::<Vec<String>>("tags", "")
                .default_computed(|| __tool::to_json(
                    &(|| -> Vec<String> { defaults::tags() })(),
                )),
            __Row::new::<Option<u8>>("depth", "").default_literal("3"),
        ];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
                __None,
            );
            __from
                .decode([
                    &mut __f.0,
                    &mut __f.1,
                    &mut __f.2,
                    &mut __f.3,
                    &mut __f.4,
                    &mut __f.5,
                    &mut __f.6,
                    &mut __f.7,
                    &mut __f.8,
                ])?;
            __Ok(Self {
                query: __tool::filled(__f.0),
                language: __f
                    .1
                    .unwrap_or_else(|| -> String { ::core::convert::Into::into("en") }),
                scope: __f.2.unwrap_or_else(|| __tool::Text::from("web")),
                bias: __f.3.unwrap_or_else(|| -> f64 { -0.5 }),
                limit: __f.4.unwrap_or_else(|| -> u32 { <Search>::LIMIT }),
                pages: __f.5,
                region: __f.6,
                tags: __f.7.unwrap_or_else(|| -> Vec<String> { defaults::tags() }),
                depth: __f.8.unwrap_or_else(|| -> Option<u8> { __Some(3) }),
            })
        }
    }
    fn __tool_search<'__a>(
        __this: &'__a Search,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: SearchArgs<'_> = __call.arguments()?;
        let __defaults = (
            __call.or_instance_default(__args.pages, 5, __tool::from_text)?,
            __call.or_instance_default(__args.region, 6, __tool::from_text)?,
        );
        let __method = async move {
            Search::search(
                    __this,
                    &*__args.query,
                    __args.language,
                    &*__args.scope,
                    __args.bias,
                    __args.limit,
                    __defaults.0,
                    &*__defaults.1,
                    __args.tags,
                    __args.depth,
                )
                .await
        };
        __tool::start(__call, __method, |__value| __value.__split().__value().__error())
    }
    impl __tool::MainToolsetBlock for Search {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new("search")
            .at(0);
        const TOOLS: &'static [__tool::ToolSpec<Self>] = &[
            __tool::ToolSpec::new("search", __tool_search)
                .description("Search the index.")
                .parameters::<SearchArgs<'_>>()
                .at(0, __tool::path!("::Search::search"))
                .instance_defaults(
                    &[
                        (
                            5,
                            |__this| __tool::to_json(
                                &(|| -> u8 { __this.config.pages })(),
                            ),
                        ),
                        (
                            6,
                            |__this| __tool::to_json(
                                &(|| -> __String { __String::from(__this.region()) })(),
                            ),
                        ),
                    ],
                )
                .output(|__generator| {
                    __tool::of_type::<Vec<Hit>>().__schema(__generator)
                }),
        ];
        const DISCOVERY: __tool::Discover = || __tool::of_type::<Self>().__discovery();
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Search > ()
    }
};
