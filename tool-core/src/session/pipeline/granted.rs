//! Grants: taking one with an approval, and running calls that one covers.

use crate::call::ToolError;
use crate::call::approval_form::argument_lines;
use crate::call::error::ErrorKind;
use crate::call::tool_call::{CallApproval, GrantTerms};
use crate::schema::timestamp::Timestamp;
use crate::session::approvals::{call_digest, fresh_id, summary_of};
use crate::session::audit::AuditedGrant;
use crate::session::grants::{CallGrant, GrantRequest, GrantScope, GrantVerdict};
use crate::session::inner::SessionInner;
use crate::session::pipeline::governed_call::{GovernedCall, UsedGrant};
use crate::session::policy::Policy;
use crate::session::store::StoreError;
use crate::time::CENTURY;
use crate::tool::FunctionTool;
use std::time::Duration;

/// Returns a grant that covers the call. If the store fails there is none, and a person is asked.
/// Only a grant for these arguments covers a demand of a hook: the person who allowed the tool has
/// not seen it.
pub(crate) async fn find(call: &GovernedCall<'_>, text: &str, by_hook: bool) -> Option<CallGrant> {
    if !may_be_granted(call.policy, call.tool) {
        return None;
    }
    let grants = kept_grants(call).await;
    if grants.is_empty() {
        return None;
    }
    let arguments = call.definition().approved_text(text);
    let digest = call_digest(call.tool.name(), &arguments);
    let may_cover = |grant: &CallGrant| !by_hook || grant.scope == GrantScope::Arguments;
    grants
        .into_iter()
        .find(|grant| may_cover(grant) && covers(call.session, grant, call.tool.name(), &digest))
}

/// Checks once more that a grant has neither ended nor been revoked, and names it as the reason for
/// which the call runs. Called as late as possible, as the call may have waited meanwhile.
pub(crate) async fn holds(call: &GovernedCall<'_>, grant: CallGrant) -> bool {
    let is_kept = kept_grants(call).await.contains(&grant);
    if is_kept {
        use_grant(call, grant, false);
    }
    is_kept
}

/// Takes a call that was approved out of the store, and keeps the grant that the person has given
/// with the approval.
pub(crate) async fn redeem(
    call: &GovernedCall<'_>,
    approval: &CallApproval,
) -> Result<GrantVerdict, StoreError> {
    let session = call.session;
    let Some(terms) = approval.grant else {
        let consumed = session.record.consume(&approval.id).await?;
        return Ok(if consumed {
            GrantVerdict::Granted
        } else {
            GrantVerdict::NotFound
        });
    };
    let lifetime = lifetime(call.policy, terms);
    let grant = new_grant(call, approval, terms, lifetime);
    let request = GrantRequest::new(&approval.id, &grant, lifetime, call.policy.max_grants);
    let verdict = session.record.grant(&request).await?;
    if verdict == GrantVerdict::Granted {
        let session = session.id.as_str().escape_debug();
        let tool = grant.tool.escape_debug();
        let scope = grant.scope.as_str();
        let by = grant.by.escape_debug();
        tracing::info!(%session, %tool, scope, %by, grant = %grant.id, "calls were approved in advance");
        use_grant(call, grant, true);
    }
    Ok(verdict)
}

/// Checks that a tool's calls may be approved in advance.
pub(crate) fn check_allowed(session: &SessionInner, tool: &str) -> Result<(), ToolError> {
    let found = session.tools.find(tool);
    let asks_each_time = found.is_some_and(|(_, tool)| tool.definition().flags().ask_each_time);
    let message = if asks_each_time {
        format!(
            "`{tool}` asks a person each time, so its calls cannot be approved in advance. Nothing was done; approve \
             this call alone."
        )
    } else if !allows_grants(session.policy()) {
        "calls cannot be approved in advance here. Nothing was done; approve this call alone."
            .to_owned()
    } else {
        return Ok(());
    };
    Err(ToolError::conflict(message))
}

/// Returns the error of an approval with a grant for which there is no room.
pub(crate) fn too_many(policy: &Policy) -> ToolError {
    let message = format!(
        "budget exceeded: {} grants are in force in this session, which is the limit. Nothing was done; approve this \
         call alone, or revoke a grant first.",
        policy.max_grants
    );
    ToolError::new(ErrorKind::BudgetExceeded, message, false)
}

/// Returns true if a runtime with this one's key has made the grant for the session.
pub(crate) fn is_proven(session: &SessionInner, grant: &CallGrant) -> bool {
    let parts = proven_parts(session, grant);
    session
        .runtime
        .signer
        .proves_grant(&grant.proof, &parts.each_ref().map(String::as_str))
}

/// Returns true if a grant may cover calls of the tool.
fn may_be_granted(policy: &Policy, tool: &FunctionTool) -> bool {
    !tool.definition().flags().ask_each_time && allows_grants(policy)
}

fn allows_grants(policy: &Policy) -> bool {
    !policy.max_grant_lifetime.is_zero() && policy.max_grants > 0
}

async fn kept_grants(call: &GovernedCall<'_>) -> Vec<CallGrant> {
    let grants = call.session.record.grants().await;
    grants.unwrap_or_else(|error| {
        let session = call.session.id.as_str().escape_debug();
        tracing::error!(%session, %error, "failed to look up grants, so a person is asked");
        Vec::new()
    })
}

fn covers(session: &SessionInner, grant: &CallGrant, tool: &str, digest: &str) -> bool {
    let is_for_call = match grant.scope {
        GrantScope::Tool => true,
        GrantScope::Arguments => grant.digest == digest,
    };
    is_for_call
        && grant.tool == tool
        && *grant.version == *session.tools.version
        && grant.settings == session.tools.context.agent_settings()
        && !grant.is_stale()
        && is_proven(session, grant)
}

fn use_grant(call: &GovernedCall<'_>, grant: CallGrant, is_new: bool) {
    let used = UsedGrant {
        by: grant.by.into(),
        audited: AuditedGrant {
            id: grant.id,
            given_at: grant.given_at,
            is_new,
        },
    };
    // A call has one approval or one grant.
    _ = call.grant.set(Box::new(used));
}

fn lifetime(policy: &Policy, terms: GrantTerms) -> Duration {
    terms.lifetime.min(policy.max_grant_lifetime).min(CENTURY)
}

fn new_grant(
    call: &GovernedCall<'_>,
    approval: &CallApproval,
    terms: GrantTerms,
    lifetime: Duration,
) -> CallGrant {
    let session = call.session;
    let tool = call.tool.name();
    let arguments = call.definition().approved_text(call.request.arguments());
    let now = whole_milliseconds(jiff::Timestamp::now());
    let mut grant = CallGrant {
        id: fresh_id(),
        tool: tool.to_owned(),
        scope: GrantScope::of(terms),
        digest: call_digest(tool, &arguments),
        summary: summary_of(tool, &argument_lines(&arguments)),
        version: session.tools.version.to_string(),
        settings: session.tools.context.agent_settings().to_owned(),
        by: approval.by.to_string(),
        given_at: Timestamp(now),
        ends_at: Timestamp(whole_milliseconds(now + lifetime)),
        proof: String::new(),
    };
    let parts = proven_parts(session, &grant);
    grant.proof = session
        .runtime
        .signer
        .grant_proof(&parts.each_ref().map(String::as_str));
    grant
}

/// Returns a time as every store keeps it.
fn whole_milliseconds(time: jiff::Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(time.as_millisecond()).unwrap_or(time)
}

/// Returns what the proof of a grant covers: all of it, and the session that it is for.
fn proven_parts(session: &SessionInner, grant: &CallGrant) -> [String; 14] {
    // Destructured, so that a new field does not compile until it is proven.
    let CallGrant {
        id,
        tool,
        scope,
        digest,
        summary,
        version,
        settings,
        by,
        given_at,
        ends_at,
        proof: _,
    } = grant;
    [
        session.id.as_str().to_owned(),
        format!("{:032x}", session.record.incarnation()),
        session.principal.to_string(),
        session.agent().to_owned(),
        id.clone(),
        tool.clone(),
        scope.as_str().to_owned(),
        digest.clone(),
        summary.clone(),
        version.clone(),
        settings.clone(),
        by.clone(),
        given_at.as_millisecond().to_string(),
        ends_at.as_millisecond().to_string(),
    ]
}
