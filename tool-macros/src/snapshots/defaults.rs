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
            .__tool_span(
                "search",
                ::tool_core::__private::function_id!("::Search::search"),
            )
            .run_async(async move {
                ::tool_core::__returns!(Vec < Hit >);
                todo!()
            })
            .await
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
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            let mut __f2 = __None;
            let mut __f3 = __None;
            let mut __f4 = __None;
            let mut __f5 = __None;
            let mut __f6 = __None;
            let mut __f7 = __None;
            let mut __f8 = __None;
            __source
                .decode(
                    &mut [
                        &mut __f0,
                        &mut __f1,
                        &mut __f2,
                        &mut __f3,
                        &mut __f4,
                        &mut __f5,
                        &mut __f6,
                        &mut __f7,
                        &mut __f8,
                    ],
                )?;
            __Ok(Self {
                query: __tool::filled(__f0),
                language: __f1
                    .unwrap_or_else(|| -> String { ::core::convert::Into::into("en") }),
                scope: __f2.unwrap_or_else(|| __tool::Text::from("web")),
                bias: __f3.unwrap_or_else(|| -> f64 { -0.5 }),
                limit: __f4.unwrap_or_else(|| -> u32 { <Search>::LIMIT }),
                pages: __f5,
                region: __f6,
                tags: __f7.unwrap_or_else(|| -> Vec<String> { defaults::tags() }),
                depth: __f8.unwrap_or_else(|| -> Option<u8> { __Some(3) }),
            })
        }
    }
    fn __tool_search<'__a>(
        __this: &'__a Search,
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: SearchArgs<'_> = __call.arguments()?;
        let __f5 = __call.or_instance_default(__args.pages, 5, __tool::from_text)?;
        let __f6 = __call.or_instance_default(__args.region, 6, __tool::from_text)?;
        __Ok(
            __tool::start(
                __call,
                async move {
                    Search::search(
                            __this,
                            &*__args.query,
                            __args.language,
                            &*__args.scope,
                            __args.bias,
                            __args.limit,
                            __f5,
                            &*__f6,
                            __args.tags,
                            __args.depth,
                        )
                        .await
                },
                |__value, __call| __tool::respond!(__call, __value),
            ),
        )
    }
    impl __tool::MainToolsetBlock for Search {
        const TOOLSET: __tool::ToolsetSpec<Self> = __tool::ToolsetSpec::new(
                "search",
                "",
                &[
                    __tool::ToolSpec::new(
                            "search",
                            "Search the index.",
                            __tool_search,
                            __tool::parameters::<SearchArgs<'_>>(),
                        )
                        .at(::core::file!(), 0, __tool::path!("::Search::search"))
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
                        .output(__tool::output!(Vec < Hit >)),
                ],
            )
            .at(::core::file!(), 0, __tool::path!("::Search"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Search > (|| __tool::discovery!(Search))
    }
};
