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
        fn decode<F: __tool::Fields<'__de>>(fields: &mut F) -> __Result<Self, F::Error> {
            let mut f0 = __None;
            let mut f2 = __None;
            let mut rest = __tool::Rest::new();
            while let __Some(index) = fields.next(Self::PARAMETERS)? {
                match index {
                    0 => f0 = __Some(fields.value()?),
                    1 => fields.keep(&mut rest)?,
                    _ => f2 = __Some(fields.value()?),
                }
            }
            let args = Self {
                folder: fields.required(f0, 0)?,
                paging: fields.flattened::<Paging>(&mut rest)?,
                order: fields.required(f2, 2)?,
                since: fields.flattened::<__ToolListParam3>(&mut rest)?.since,
            };
            fields.finish(rest)?;
            __Ok(args)
        }
    }
    fn __tool_list<'__a>(
        _: &'__a (),
        call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let args = call.decode::<ListArgs>()?;
        __Ok(
            __tool::respond!(
                call, list(args.folder, args.paging, args.order, args.since)
            ),
        )
    }
    static __TOOL_SPEC: __tool::ToolSpec<()> = __tool::ToolSpec::new(
            "list",
            "List the files.",
            __tool_list,
            <ListArgs as __tool::ArgumentStruct>::PARAMETERS,
        )
        .at(file!(), 0, concat!(module_path!(), "::list"))
        .output(|g| __tool::output!(g, Vec < File >));
    __tool::inventory::submit! {
        __tool::Registration::function(|| __tool::type_id_of(& list), & __TOOL_SPEC)
    }
};
