/// Finds out.
pub async fn research(&self, topic: &str) -> Result<Box<impl Display>, Error> {
    ::tool_core::__private::agent_span!("researcher", Result < Box < _ >, Error >)
        .run_async(async move {
            ::tool_core::__returns!(Result < Box < _ >, Error >);
            self.ask(topic).await
        })
        .await
}
