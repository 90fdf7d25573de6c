/// List the files.
fn list(
    folder: String,
    paging: Paging,
    order: String,
    since: Option<Timestamp>,
) -> Vec<File> {
    ::tool_core::__private::body::<Vec<File>>()
        .__tool_span(::tool_core::__private::function!("::list"))
        .run(move || -> Vec<File> { todo!() })
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    struct ListArgs {
        folder: String,
        paging: Paging,
        order: String,
        since: Option<Timestamp>,
    }
    #[derive(__tool::serde::Deserialize, __tool::schemars::JsonSchema)]
    #[serde(crate = "__tool::serde")]
    #[schemars(crate = "__tool::schemars")]
    struct __ListArgsParam3 {
        ///Not before
        #[serde(deserialize_with = "lenient", default)]
        since: Option<Timestamp>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for ListArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<String>("folder", ""),
            <Paging as __tool::ToolParameter>::ROW.flat("paging"),
            __Row::new::<String>("order_by", "The column").aliases(&["sort"]),
            <__ListArgsParam3 as __tool::ToolParameter>::ROW.flat("since"),
        ];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            let mut __f = (
                __None,
                __tool::Flattened(__None),
                __None,
                __tool::Flattened(__None),
            );
            __from
                .decode([
                    &mut __f.0,
                    <Paging as __tool::ToolParameter>::flattened_slot(&mut __f.1),
                    &mut __f.2,
                    <__ListArgsParam3 as __tool::ToolParameter>::flattened_slot(
                        &mut __f.3,
                    ),
                ])?;
            __Ok(Self {
                folder: __tool::filled(__f.0),
                paging: __tool::filled(__f.1.0),
                order: __tool::filled(__f.2),
                since: __tool::filled(__f.3.0).since,
            })
        }
    }
    fn __tool_list<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: ListArgs = __call.arguments()?;
        __tool::done(
            __call,
            list(__args.folder, __args.paging, __args.order, __args.since),
            |__value| __value.__split().__value().__error(),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new("list", __tool_list)
        .description("List the files.")
        .parameters::<ListArgs>()
        .at(0, __tool::path!("::list"))
        .output(|__generator| __tool::of_type::<Vec<File>>().__schema(__generator));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& list), & __TOOL_SPEC)
    }
};
