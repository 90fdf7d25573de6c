//! Calls that wait for a person: the client's user is asked, and the session told what they say. R-C1
//!
//! Up to revision 2025-11-25 the client is sent an `elicitation/create` request. Since 2026-07-28 the call is answered
//! `input_required` and made again with what the user says; what the client hands back is a random word and nothing
//! else, looked up here, once. The token itself never leaves the process.

use crate::mcp::server::connection::Connection;
use crate::mcp::server::conversation::fresh;
use crate::mcp::server::{connection, is_stateless, parts};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationSchema, InputRequest, InputRequests, InputRequiredResult, JsonObject,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use tokio::time::Instant;
use tool_core::call::Confirmation;
use tool_core::{Session, ToolResponse};

/// The name under which the question is asked.
const QUESTION: &str = "confirm";

/// The calls that may wait at once.
const MOST: usize = 10_000;

/// The calls whose clients were sent away with a question, by the word that they bring back.
#[derive(Default)]
pub(crate) struct Waiting(Mutex<HashMap<String, Asked>>);

struct Asked {
    session: Session,
    principal: Option<String>,
    /// As it was called, to be compared with what comes back.
    name: String,
    arguments: Option<JsonObject>,
    tool: String,
    token: String,
    summary: String,
    until: Instant,
    /// Whether the session ends with the question, because its connection has.
    alone: bool,
}

impl Waiting {
    /// Keeps a question under its word; gives it back where too many are kept already.
    fn keep(&self, word: String, asked: Asked) -> Result<(), Box<Asked>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let late = all.extract_if(|_, asked| asked.until <= now).map(|(_, asked)| asked).collect::<Vec<_>>();
        let full = all.len() >= MOST;
        if !full {
            all.insert(word, asked);
            drop(all);
            late.into_iter().for_each(Asked::over);
            return Ok(());
        }
        drop(all);
        late.into_iter().for_each(Asked::over);
        Err(Box::new(asked))
    }

    fn take(&self, word: &str) -> Option<Asked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(word)
    }
}

impl Asked {
    /// Nobody waits for it any more.
    fn over(self) {
        if let (true, Ok(runtime)) = (self.alone, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move { self.session.end().await });
        }
    }
}

/// Asks the client's user, where the client can; otherwise nobody is asked, and the call is over.
pub(crate) async fn ask(
    connection: &Connection,
    session: &Session,
    request: &CallToolRequestParams,
    tool: &str,
    confirmation: &Confirmation,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let can_ask = context.client_capabilities().and_then(|can| can.elicitation).is_some_and(|elicitation| {
        // Neither form nor URL said is a form.
        elicitation.form.is_some() || elicitation.url.is_none()
    });
    if !can_ask {
        // What the session answers, that a person is being asked, would not be true.
        session.deny(&confirmation.token).await;
        return Ok(CallToolResponse::Complete(nobody_to_ask(tool)));
    }
    if is_stateless(context) {
        let asked = Asked {
            session: session.clone(),
            principal: connection.shared.client(context).principal,
            name: request.name.to_string(),
            arguments: request.arguments.clone(),
            tool: tool.to_owned(),
            token: confirmation.token.clone(),
            summary: confirmation.summary.clone(),
            until: Instant::now() + connection.shared.settings.confirm_within,
            alone: parts(context).is_some(),
        };
        return send_away(connection, asked);
    }
    let limit = Some(connection.shared.settings.confirm_within);
    let asked = context.peer.create_elicitation_with_timeout(form(&confirmation.summary), limit);
    let said = tokio::select! {
        said = asked => said.map_err(|error| tracing::debug!(%error, "a client's user could not be asked")).ok(),
        () = context.ct.cancelled() => None,
    };
    let token = &confirmation.token;
    let response = decide(session, token, said.map(|said| said.action)).await;
    Ok(connection::complete(session, tool, &response))
}

/// A call comes back with what the user said.
pub(crate) async fn resume(
    connection: &Connection,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let word = request.request_state.unwrap_or_default();
    let asked = connection.shared.waiting.take(&word).ok_or_else(nothing_waits)?;
    let same = asked.name == request.name
        && asked.arguments.clone().unwrap_or_default() == request.arguments.unwrap_or_default()
        && asked.principal == connection.shared.client(context).principal;
    if !same || asked.until <= Instant::now() {
        // Whoever brings another call has not been asked about it: nothing runs, not the first one either.
        asked.session.deny(&asked.token).await;
        asked.over();
        return Err(nothing_waits());
    }
    let said = request.input_responses.and_then(|mut said| said.remove(QUESTION));
    let Some(said) = said else { return send_away(connection, asked) };
    let said = serde_json::from_value::<ElicitResult>(said)
        .map_err(|_| ErrorData::invalid_params("`inputResponses.confirm` is no answer to an elicitation", None));
    let action = said.as_ref().ok().map(|said| said.action.clone());
    let response = decide(&asked.session, &asked.token, action).await;
    let result = connection::complete(&asked.session, &asked.tool, &response);
    asked.over();
    said.map(|_| result)
}

/// Only a plain yes is a yes.
async fn decide(session: &Session, token: &str, said: Option<ElicitationAction>) -> ToolResponse {
    match said {
        Some(ElicitationAction::Accept) => session.approve(token).await,
        _ => session.deny(token).await,
    }
}

/// Answers with the question, and a word to come back with.
fn send_away(connection: &Connection, asked: Asked) -> Result<CallToolResponse, ErrorData> {
    let (word, alone) = (fresh()?, asked.alone);
    let question = InputRequest::Elicitation(ElicitRequest::new(form(&asked.summary)));
    if let Err(asked) = connection.shared.waiting.keep(word.clone(), asked) {
        asked.over();
        return Err(ErrorData::internal_error("too many calls wait for a person; try again later", None));
    }
    if alone {
        connection.conversation.hand_on();
    }
    let questions = InputRequests::from([(QUESTION.to_owned(), question)]);
    Ok(CallToolResponse::InputRequired(InputRequiredResult::new(Some(questions), Some(word))))
}

/// A form without fields: to accept it is the answer.
fn form(summary: &str) -> ElicitRequestParams {
    ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: format!("May this be done?\n\n{summary}"),
        requested_schema: ElicitationSchema::new(BTreeMap::new()),
    }
}

/// The client has not said that it can ask its user.
fn nobody_to_ask(tool: &str) -> CallToolResult {
    let message = format!(
        "`{tool}` runs only when a person approves it, and this client cannot ask one: it does not declare elicitation \
         by form. Nobody was asked, and it was not run. Do not call it again; it needs a client that can ask its user."
    );
    CallToolResult::error(vec![ContentBlock::text(message)])
}

fn nothing_waits() -> ErrorData {
    let message = "no call waits under this `requestState`: it was used, has expired, or is for another call; make the call again without it";
    ErrorData::invalid_params(message, None)
}
