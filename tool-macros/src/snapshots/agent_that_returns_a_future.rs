fn r#loop(&self) -> impl Future<Output = u8> {
    ::tool_core::__private::in_agent(
        "loop",
        move || { async { 1 } },
        ::tool_core::__private::finish!(future),
    )
}
