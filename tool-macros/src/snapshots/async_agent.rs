/// Finds out.
pub async fn research(&self, topic: &str) -> Result<Box<impl Display>, Error> {
    ::tool_core::__private::body::<Result<Box<_>, Error>>()
        .__agent_span("researcher")
        .run_async(async move || -> Result<Box<_>, Error> { self.ask(topic).await })
        .await
}
