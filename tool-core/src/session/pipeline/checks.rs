//! The checks before a call's arguments are read: its mode, its depth, the cost of its callers, and
//! its turn among the calls of its session.

use crate::call::{ErrorKind, Mode, ToolError};
use crate::session::calls_in_progress::CallInProgress;
use crate::session::pipeline::governed_call::GovernedCall;
use crate::session::timer;
use crate::trace::span::{self, OpenSpan};
use std::sync::Arc;
use tokio::time::timeout_at;

impl GovernedCall<'_> {
    /// Checks that the call may be made. Returns false if it has to wait for others of its session.
    #[inline]
    pub(crate) fn may_run(&self, place: &mut CallInProgress<'_>) -> Result<bool, ToolError> {
        self.check_mode()
            .and_then(|()| self.check_depth())
            .and_then(|()| self.check_callers())?;
        if self.request.is_cancelled() {
            return Err(self.cancelled().did_not_run());
        }
        // A nested call uses its parent's permit, and a control tool must not wait for the calls
        // that it cancels.
        let needs_none = self.request.depth() > 0 || self.session.tools.is_control_tool(self.index);
        Ok(needs_none || place.try_run(self.definition().options.annotations.sequential))
    }

    /// Waits until the call may run beside the others of its session.
    pub(crate) async fn wait_to_run(
        &self,
        place: &mut CallInProgress<'_>,
    ) -> Result<(), ToolError> {
        let turn = place.run_in_turn(self.definition().options.annotations.sequential);
        timer::check().map_err(ToolError::did_not_run)?;
        match timeout_at(self.deadline(), turn).await {
            Ok(()) => self.check_wanted(),
            Err(_) => Err(self
                .timed_out("waiting for other calls of the session")
                .did_not_run()),
        }
    }

    /// Checks that the tool serves the session's mode.
    #[inline]
    fn check_mode(&self) -> Result<(), ToolError> {
        if self.definition().options.modes.contains(self.mode) {
            Ok(())
        } else {
            Err(self.mode_restricted())
        }
    }

    #[cold]
    fn mode_restricted(&self) -> ToolError {
        let needed = self
            .definition()
            .options
            .modes
            .iter()
            .map(Mode::as_str)
            .collect::<Vec<_>>()
            .join(" or ");
        let mode = self.mode.as_str();
        let message = format!(
            "`{}` needs {needed} mode; this is {mode} mode",
            self.tool.name()
        );
        ToolError::new(ErrorKind::ModeRestricted, message, false)
    }

    /// Bounds the depth of tools that call tools.
    fn check_depth(&self) -> Result<(), ToolError> {
        let limit = self.policy.max_depth;
        if self.request.depth() <= limit {
            return Ok(());
        }
        let message = format!(
            "tools may call tools {limit} deep; `{}` would be one too many",
            self.tool.name()
        );
        Err(ToolError::new(ErrorKind::BudgetExceeded, message, false))
    }

    /// Refuses a call of a tool that has cost more than it may, and has not been cancelled yet.
    fn check_callers(&self) -> Result<(), ToolError> {
        let is_over = |span: &Arc<OpenSpan>| span.meters().any(|meter| meter.is_over());
        if self.meter.is_none() || !span::current().as_ref().is_some_and(is_over) {
            return Ok(());
        }
        let message = format!(
            "budget exceeded: the tool that calls `{}` has cost more than it may",
            self.tool.name()
        );
        Err(ToolError::new(ErrorKind::BudgetExceeded, message, false))
    }
}
