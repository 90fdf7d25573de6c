/// List the files.
fn list(
    folder: String,
    paging: Paging,
    order: String,
    since: Option<Timestamp>,
) -> Vec<File> {
    ::tool_core::__private::body::<Vec<File>>()
        .__tool_span("list", ::tool_core::__private::function_id!("::list"))
        .run(move || -> Vec<File> { todo!() })
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
    struct ListArgs {
        folder: String,
        paging: Paging,
        order: String,
        since: Option<Timestamp>,
    }
    #[derive(__tool::serde::Deserialize, __tool::schemars::JsonSchema)]
    #[serde(crate = "::tool_core::__private::serde")]
    #[schemars(crate = "::tool_core::__private::schemars")]
    struct __ToolListParam3 {
        ///Not before
        #[serde(deserialize_with = "lenient", default)]
        since: Option<Timestamp>,
    }
    impl<'__de> __tool::ArgumentStruct<'__de> for ListArgs {
        const PARAMETERS: &'static [__Row] = &[
            __Row::new::<String>("folder", ""),
            <Paging as __tool::ToolParameter>::ROW.flat("paging"),
            __Row::new::<String>("order_by", "The column").aliases(&["sort"]),
            <__ToolListParam3 as __tool::ToolParameter>::ROW.flat("since"),
        ];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            let mut __f0 = __None;
            let mut __f1 = __tool::Flattened(__None);
            let mut __f2 = __None;
            let mut __f3 = __tool::Flattened(__None);
            __source
                .decode(
                    &mut [
                        &mut __f0,
                        <Paging as __tool::ToolParameter>::flattened_slot(&mut __f1),
                        &mut __f2,
                        <__ToolListParam3 as __tool::ToolParameter>::flattened_slot(
                            &mut __f3,
                        ),
                    ],
                )?;
            __Ok(Self {
                folder: __tool::filled(__f0),
                paging: __tool::filled(__f1.0),
                order: __tool::filled(__f2),
                since: __tool::filled(__f3.0).since,
            })
        }
    }
    fn __tool_list<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: ListArgs = __call.arguments()?;
        match list(__args.folder, __args.paging, __args.order, __args.since) {
            __value => __Ok(__tool::respond!(__call, __value)),
        }
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "list",
            "List the files.",
            __tool_list,
            __tool::parameters::<ListArgs>(),
        )
        .at(::core::file!(), 0, __tool::path!("::list"))
        .output(__tool::output!(Vec < File >));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& list), & __TOOL_SPEC)
    }
};
