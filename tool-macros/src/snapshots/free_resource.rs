/// All notes.
fn notes() -> &'static str {
    "none"
}
#[allow(clippy::all, clippy::nursery, clippy::pedantic)]
const _: () = {
    use ::tool_core::__private::{self as __tool, prelude::*};
    struct NotesArgs {}
    impl<'__de> __tool::ArgumentStruct<'__de> for NotesArgs {
        const PARAMETERS: &'static [__Row] = &[];
        fn decode<__S: __Source<'__de>>(__from: &mut __S) -> __Result<Self, __S::Error> {
            __from.decode([])?;
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
        __tool::ToolSpec::new("notes", __tool_notes)
            .description("All notes.")
            .at(0, __tool::path!("::notes")),
    );
    __tool::inventory::submit! {
        __tool::Registration::resource(|| __tool::type_id_of(& notes), & __TOOL_SPEC)
    }
};
