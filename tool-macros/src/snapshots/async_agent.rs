/// Finds out.
pub async fn research(&self, topic: &str) -> Result<Box<impl Display>, Error> {
    ::tool_core::__private::body::<Result<Box<_>, Error>>()
        .__agent_span("researcher")
        .run_async(move |__typed| async move {
            if let ::core::option::Option::Some(__typed) = __typed.value() {
                return __typed;
            }
            self.ask(topic).await
        })
        .await
}
