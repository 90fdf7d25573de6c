/// Finds out.
pub async fn research(&self, topic: &str) -> Result<Box<impl Display>, Error> {
    ::tool_core::__private::in_agent_async(
            "researcher",
            async move {
                ::tool_core::__private::returns!(Result < Box < _ >, Error >);
                self.ask(topic).await
            },
            ::tool_core::__private::ends!(),
        )
        .await
}
