// The views of the page, of which one is shown at a time.

/** What several views know. */
export const app = {
  /** The view that is shown. */
  view: null,
  /** What the server has said about itself. */
  overview: {},
  tools: [],
  /** The name of the tool that is open. */
  tool: null,
  /** The sessions of the page. */
  sessions: [],
  /** The id of the session that calls are made in. */
  session: null,
  approvals: [],
};

const watchers = new Map();

/** Calls a function each time that a view is shown. */
export function onShow(view, work) {
  watchers.set(view, work);
}

export function show(view) {
  app.view = view;
  for (const one of document.querySelectorAll("main > section")) {
    one.hidden = one.id !== `view-${view}`;
  }
  for (const one of document.querySelectorAll("nav button")) {
    if (one.dataset.view === view) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
  watchers.get(view)?.();
}

const isNarrow = () => matchMedia("(max-width: 60rem)").matches;

const splitOf = (view) => document.querySelector(`#view-${view} .split`);

/** Shows the detail of a view. On a narrow screen it takes the place of the list. */
export function openDetail(view) {
  const split = splitOf(view);
  const wasOpen = split.classList.contains("open");
  split.classList.add("open");
  if (wasOpen || !isNarrow()) return;
  scrollTo(0, 0);
  split.querySelector("button.back")?.focus();
}

/** Shows the list of a view again, on a narrow screen. */
export function closeDetail(view) {
  const split = splitOf(view);
  split.classList.remove("open");
  if (isNarrow()) split.querySelector(".list, .plain button")?.focus();
}
