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
        ::tool_core::__private::tool_span!("search", "::Search::search", Vec < Hit >)
            .run_async(async move {
                ::tool_core::__private::returns!(Vec < Hit >);
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
                .default_computed(|| __tool::default_json::<u32>(&(<Search>::LIMIT))),
            __Row::new::<u8>("pages", "").default_from_instance(),
            __Row::new::<__String>("region", "").default_from_instance(),
            __Row::new::<Vec<String>>("tags", "")
                .default_computed(|| __tool::default_json::<
                    Vec<String>,
                >(&(defaults::tags()))),
            __Row::new::<Option<u8>>("depth", "").default_literal("3"),
        ];
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            let mut __f0 = __None;
            let mut __f1 = __None;
            let mut __f2 = __None;
            let mut __f3 = __None;
            let mut __f4 = __None;
            let mut __f5 = __None;
            let mut __f6 = __None;
            let mut __f7 = __None;
            let mut __f8 = __None;
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    0 => __f0 = __Some(__f.value()?),
                    1 => __f1 = __Some(__f.value()?),
                    2 => __f2 = __Some(__f.value()?),
                    3 => __f3 = __Some(__f.value()?),
                    4 => __f4 = __Some(__f.value()?),
                    5 => __f5 = __Some(__f.value()?),
                    6 => __f6 = __Some(__f.value()?),
                    7 => __f7 = __Some(__f.value()?),
                    _ => __f8 = __Some(__f.value()?),
                }
            }
            __Ok(Self {
                query: __f.required(__f0, 0)?,
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
        let __args = __call.decode::<SearchArgs<'__a>>()?;
        let __default5 = __call.or_instance_default(__args.pages, 5usize)?;
        let __default6 = __call.or_instance_default(__args.region, 6usize)?;
        __Ok(
            __tool::pending(async move {
                __tool::respond!(
                    __call, Search::search(__this, & * __args.query, __args.language, & *
                    __args.scope, __args.bias, __args.limit, __default5, & * __default6,
                    __args.tags, __args.depth). await
                )
            }),
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
                            <SearchArgs<'_> as __tool::ArgumentStruct>::PARAMETERS,
                        )
                        .at(::core::file!(), 0, __tool::path!("::Search::search"))
                        .instance_defaults(
                            &[
                                (
                                    5,
                                    |__this| __tool::default_json::<u8>(&(__this.config.pages)),
                                ),
                                (
                                    6,
                                    |__this| __tool::default_json::<
                                        __String,
                                    >(&(__String::from(__this.region()))),
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
