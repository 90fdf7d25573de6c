// Requests to the server, with the token of this tab.

import { report } from "./elements.js";
import { parseJson } from "./exact.js";
import { show } from "./views.js";

const TOKEN = "inspector-token";

/** Moves the token from the address into the storage of this tab. */
export function takeToken() {
  const found = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!found) return;
  storeToken(found);
  history.replaceState(null, "", location.pathname);
}

export const storeToken = (token) => sessionStorage.setItem(TOKEN, token);

const headers = () => ({ authorization: `Bearer ${sessionStorage.getItem(TOKEN) ?? ""}` });

/** Sends a request, and returns the JSON of the answer. Throws the error that the server names. */
export async function ask(method, path, body) {
  const token = sessionStorage.getItem(TOKEN);
  const request = { method, headers: headers(), cache: "no-store", credentials: "omit" };
  if (body !== undefined) request.body = JSON.stringify(body);

  const response = await fetch(`/api/${path}`, request);
  const text = await response.text();
  if (response.status === 401) return lock(token);
  if (!response.ok) throw new Error(errorIn(text));
  return parseJson(text);
}

/** Opens a stream of the server. */
export const open = (path) =>
  fetch(`/api/${path}`, { headers: headers(), cache: "no-store", credentials: "omit" });

export function errorIn(text) {
  try {
    return JSON.parse(text).error;
  } catch {
    return text;
  }
}

/** Shows the form for the token. The request that was refused does not go on. */
function lock(token) {
  if (sessionStorage.getItem(TOKEN) === token) sessionStorage.removeItem(TOKEN);
  show("locked");
  throw new Error("the server refused the token");
}

export const path = (...parts) => parts.map(encodeURIComponent).join("/");

/** Runs a handler, and shows its error. */
export function guarded(handler) {
  return async (event) => {
    event?.preventDefault?.();
    try {
      await handler(event);
    } catch (error) {
      report(error.message);
    }
  };
}
