/// List the files.
fn list(
    folder: String,
    paging: Paging,
    order: String,
    since: Option<Timestamp>,
) -> Vec<File> {
    ::tool_core::__private::tool_span!("list", "::list", Vec < File >)
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
            __Row::flattened::<Paging>("paging"),
            __Row::new::<String>("order_by", "The column").aliases(&["sort"]),
            __Row::flattened::<__ToolListParam3>("since"),
        ];
        fn decode<__F: __tool::Fields<'__de>>(
            __f: &mut __F,
        ) -> __Result<Self, __F::Error> {
            let mut __f0 = __None;
            let mut __f2 = __None;
            let mut __rest = __tool::Rest::new();
            while let __Some(__index) = __f.next(Self::PARAMETERS)? {
                match __index {
                    0 => __f0 = __Some(__f.value()?),
                    1 => __f.keep(&mut __rest)?,
                    _ => __f2 = __Some(__f.value()?),
                }
            }
            let __args = Self {
                folder: __f.required(__f0, 0)?,
                paging: __f.flattened::<Paging>(&mut __rest)?,
                order: __f.required(__f2, 2)?,
                since: __f.flattened::<__ToolListParam3>(&mut __rest)?.since,
            };
            __f.finish(__rest)?;
            __Ok(__args)
        }
    }
    fn __tool_list<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args = __call.decode::<ListArgs>()?;
        __Ok(
            __tool::respond!(
                __call, list(__args.folder, __args.paging, __args.order, __args.since)
            ),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "list",
            "List the files.",
            __tool_list,
            <ListArgs as __tool::ArgumentStruct>::PARAMETERS,
        )
        .at(::core::file!(), 0, __tool::path!("::list"))
        .output(__tool::output!(Vec < File >));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& list), & __TOOL_SPEC)
    }
};
