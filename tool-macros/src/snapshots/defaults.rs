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
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            let mut f1 = __None;
            let mut f2 = __None;
            let mut f3 = __None;
            let mut f4 = __None;
            let mut f5 = __None;
            let mut f6 = __None;
            let mut f7 = __None;
            let mut f8 = __None;
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    0 => f0 = __Some(fields.value()?),
                    1 => f1 = __Some(fields.value()?),
                    2 => f2 = __Some(fields.value()?),
                    3 => f3 = __Some(fields.value()?),
                    4 => f4 = __Some(fields.value()?),
                    5 => f5 = __Some(fields.value()?),
                    6 => f6 = __Some(fields.value()?),
                    7 => f7 = __Some(fields.value()?),
                    _ => f8 = __Some(fields.value()?),
                }
            }
            __Ok(Self {
                query: fields.required(f0, 0)?,
                language: f1
                    .unwrap_or_else(|| -> String { ::core::convert::Into::into("en") }),
                scope: f2.unwrap_or_else(|| __tool::Text::from("web")),
                bias: f3.unwrap_or_else(|| -> f64 { -0.5 }),
                limit: f4.unwrap_or_else(|| -> u32 { <Search>::LIMIT }),
                pages: f5,
                region: f6,
                tags: f7.unwrap_or_else(|| -> Vec<String> { defaults::tags() }),
                depth: f8.unwrap_or_else(|| -> Option<u8> { __Some(3) }),
            })
        }
    }
    fn __tool_search<'__a>(
        this: &'__a Search,
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<SearchArgs<'__a>>()?;
        let default5 = call.or_instance_default(args.pages, 5usize)?;
        let default6 = call.or_instance_default(args.region, 6usize)?;
        __Ok(
            __tool::pending(async move {
                __tool::respond!(
                    call, Search::search(this, & * args.query, args.language, & * args
                    .scope, args.bias, args.limit, default5, & * default6, args.tags,
                    args.depth). await
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
                        .at(file!(), 0, concat!(module_path!(), "::Search::search"))
                        .instance_defaults(
                            &[
                                (
                                    5,
                                    |this| __tool::default_json::<u8>(&(this.config.pages)),
                                ),
                                (
                                    6,
                                    |this| __tool::default_json::<
                                        __String,
                                    >(&(__String::from(this.region()))),
                                ),
                            ],
                        )
                        .output(|g| __tool::output!(g, Vec < Hit >)),
                ],
            )
            .at(file!(), 0, concat!(module_path!(), "::Search"));
    }
    __tool::inventory::submit! {
        __tool::Registration::toolset:: < Search > (|| __tool::discovery!(Search))
    }
};
