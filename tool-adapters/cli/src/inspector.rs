//! The command `inspect`: a page in the browser that tries the tools.

use crate::arguments::InspectOptions;
use crate::output::{CommandIo, CommandResult};
use tool_core::ToolContext;

/// Prints the address of the page, and serves it until the process ends.
#[cfg(feature = "inspector")]
pub(crate) async fn inspect_tools(
    tools: ToolContext,
    options: &InspectOptions,
    io: &mut CommandIo<'_>,
) -> CommandResult {
    use crate::caller::set_up;
    use crate::output::{CommandError, CommandStatus};
    use tool_adapters_inspector::Inspector;
    use tool_core::Runtime;

    if !options.address.ip().is_loopback() {
        let address = options.address;
        return Err(CommandError::Usage(format!(
            "expected a loopback address, such as 127.0.0.1:7411, got {address}"
        )));
    }
    let tools = set_up(tools, io).await;
    let runtime = Runtime::builder(tools)
        .build()
        .map_err(CommandError::failure)?;
    let bound = Inspector::new(&runtime)
        .trace_process()
        .bind(options.address)
        .await;
    let bound =
        bound.map_err(|error| CommandError::Failure(format!("{}: {error}", options.address)))?;
    io.print_line(&bound.url().map_err(CommandError::failure)?)?;
    // A program that starts the server may wait for this line.
    io.flush()?;
    let served = bound.serve().await;
    runtime.shutdown().await;
    served.map_err(CommandError::failure)?;
    Ok(CommandStatus::Success)
}

#[cfg(not(feature = "inspector"))]
#[allow(
    clippy::unused_async,
    reason = "the signature is the same with the feature"
)]
pub(crate) async fn inspect_tools(
    _: ToolContext,
    options: &InspectOptions,
    _: &mut CommandIo<'_>,
) -> CommandResult {
    let address = options.address;
    let message = format!(
        "this program was built without the inspector, so nothing listens on {address}; enable the feature `inspector` of \
         `tool-adapters` in its Cargo.toml"
    );
    Err(crate::output::CommandError::Usage(message))
}

#[cfg(test)]
#[cfg(feature = "inspector")]
mod tests {
    use crate::{CommandIo, CommandStatus, run};
    use std::io::{self, Write};
    use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
    use tool_core::ToolContext;

    /// An output whose parts another task reads.
    struct SharedOutput(UnboundedSender<String>);

    impl Write for SharedOutput {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            // The test may have ended.
            _ = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[tokio::test]
    async fn prints_the_address_of_the_page_and_serves_it() {
        let tools = ToolContext::builder().build().expect("sound");
        let (sender, mut receiver) = unbounded_channel();
        let mut output = SharedOutput(sender);
        let mut errors = Vec::new();
        let mut input = &b""[..];
        let mut io = CommandIo::new(&mut input, &mut output, &mut errors);
        tokio::select! {
            status = run(["tools", "inspect", "--address", "127.0.0.1:0"], &tools, &mut io) => panic!("{status:?}"),
            line = receiver.recv() => {
                let line = line.expect("a line");
                assert!(line.starts_with("http://127.0.0.1:") && line.contains("/#token="), "{line}");
            }
        }
    }

    #[tokio::test]
    async fn other_machines_cannot_reach_the_page() {
        let tools = ToolContext::builder().build().expect("sound");
        let mut output = Vec::new();
        let mut errors = Vec::new();
        let mut input = &b""[..];
        let mut io = CommandIo::new(&mut input, &mut output, &mut errors);
        let status = run(
            ["tools", "inspect", "--address", "0.0.0.0:0"],
            &tools,
            &mut io,
        )
        .await;
        assert_eq!(status, CommandStatus::Usage);
        assert!(
            String::from_utf8_lossy(&errors).contains("expected a loopback address"),
            "{errors:?}"
        );
    }
}
