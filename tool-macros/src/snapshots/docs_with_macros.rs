/// Search the notes.
#[doc = include_str!("search.md")]
///
/// At most ten.
#[cfg_attr(unix, doc = "On Unix.", doc = paths!())]
///
/// # Arguments
///
/// * `limit` - How many
#[cfg_attr(unix, doc = "  of them")]
///
/// # Errors
///
/// When it is busy.
#[doc = errors!()]
fn search(query: &str, limit: u8) {
    ::tool_core::__private::body::<()>()
        .__tool_span(::tool_core::__private::function!("::search"))
        .run(move || -> () {})
}
///The arguments of the tool `search`.
struct SearchArgs<'__de> {
    ///What to look for
    #[doc = syntax!()]
    query: ::tool_core::__private::Text<'__de>,
    ///How many
    #[cfg_attr(unix, doc = "of them")]
    limit: u8,
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    impl<'__de> __tool::ArgumentStruct<'__de> for SearchArgs<'__de> {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<
                __String,
            >("query", __tool::joined!("What to look for\n", syntax!())),
            __Row::new::<
                u8,
            >(
                "limit",
                __tool::joined!(
                    "How many ", { #[cfg(unix)] { __tool::joined_parts!("of them", " ") }
                    #[cfg(not(unix))] { "" } }
                ),
            ),
        ];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (__None, __None);
            __from.decode([&mut __f.0, &mut __f.1])?;
            __Ok(Self {
                query: __tool::filled(__f.0),
                limit: __tool::filled(__f.1),
            })
        }
    }
    impl<'__de> __tool::serde::Deserialize<'__de> for SearchArgs<'__de> {
        fn deserialize<__D: __tool::serde::Deserializer<'__de>>(
            __from: __D,
        ) -> __Result<Self, __D::Error> {
            __tool::deserialize_arguments(__from)
        }
    }
    fn __tool_search<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: SearchArgs<'_> = __call.arguments()?;
        __tool::done(
            __call,
            search(&*__args.query, __args.limit),
            |__value| __value.__split().__value().__error(),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "search",
            __tool_search,
        )
        .description(
            __tool::joined!(
                "Search the notes.\n", include_str!("search.md"), "\n\nAt most ten.\n", {
                #[cfg(unix)] { __tool::joined_parts!("On Unix.", "\n") }
                #[cfg(not(unix))] { "" } }, { #[cfg(unix)] {
                __tool::joined_parts!(paths!(), "\n") } #[cfg(not(unix))] { "" } }, "\n",
                __tool::own_section(errors!())
            ),
        )
        .parameters::<SearchArgs<'_>>()
        .at(0, __tool::path!("::search"));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& search), & __TOOL_SPEC)
    }
};
