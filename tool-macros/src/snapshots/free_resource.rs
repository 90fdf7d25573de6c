/// All notes.
fn notes() -> &'static str {
    "none"
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
    struct NotesArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for NotesArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __tool::ArgumentSource<'__de>>(
            __source: &mut __S,
        ) -> __Result<Self, __S::Error> {
            __source.decode(&mut [])?;
            __Ok(Self {})
        }
    }
    fn __tool_notes<'__a>(
        _: &'__a (),
        __call: __tool::Invocation<'__a>,
    ) -> __tool::HandlerResult<'__a> {
        let __args: NotesArgs = __call.arguments()?;
        match notes() {
            __value => __Ok(__tool::respond_text!(resource_result, __call, __value)),
        }
    }
    static __TOOL_SPEC: __tool::ResourceSpec<()> = __tool::ResourceSpec::new(
        "notes://all",
        __tool::ToolSpec::new(
                "notes",
                "All notes.",
                __tool_notes,
                __tool::parameters::<NotesArgs>(),
            )
            .at(::core::file!(), 0, __tool::path!("::notes")),
    );
    __tool::inventory::submit! {
        __tool::Registration::resource(|| __tool::type_id_of(& notes), & __TOOL_SPEC)
    }
};
