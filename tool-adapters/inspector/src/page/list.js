// A list that draws only what is visible.

import { eachFrame, el, freshId } from "./elements.js";

/** The rows above and below the visible ones that are drawn too. */
const MARGIN = 5;

export class VirtualList {
  constructor(root, { label, rowHeight, draw, onSelect, key = (item) => item }) {
    Object.assign(this, { root, rowHeight, onSelect, key });
    this.drawRow = draw;
    this.items = [];
    this.index = -1;
    this.id = freshId();
    this.drawn = new Map();
    this.rows = el("div", { class: "rows", role: "presentation" });
    root.append(this.rows);
    root.tabIndex = 0;
    root.setAttribute("role", "listbox");
    root.setAttribute("aria-label", label);
    root.addEventListener(
      "scroll",
      eachFrame(() => this.draw()),
    );
    root.addEventListener("keydown", (event) => this.press(event));
    root.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(eachFrame(() => this.draw())).observe(root);
  }

  /** Replaces the items. The selection stays at the item with the same key. */
  set(items) {
    const selected = this.items[this.index];
    this.items = items;
    const isSame = (item) => this.key(item) === this.key(selected);
    this.index = selected === undefined ? -1 : items.findIndex(isSame);
    this.rows.style.height = `${items.length * this.rowHeight}px`;
    // A list without items takes no place.
    this.root.hidden = items.length === 0;
    this.draw();
  }

  /** Draws the rows in sight. Rows that stay keep their elements, so that a click is not lost between press and release. */
  draw() {
    const top = this.root.scrollTop;
    const bottom = top + this.root.clientHeight;
    const first = Math.max(0, Math.floor(top / this.rowHeight) - MARGIN);
    const last = Math.min(this.items.length, Math.ceil(bottom / this.rowHeight) + MARGIN);

    const drawn = new Map();
    for (let at = first; at < last; at += 1) drawn.set(this.key(this.items[at]), this.row(at));
    for (const [key, { row }] of this.drawn) if (!drawn.has(key)) row.remove();
    this.insert([...drawn.values()]);
    this.drawn = drawn;

    const isSeen = this.index >= first && this.index < last;
    if (isSeen) this.root.setAttribute("aria-activedescendant", `${this.id}-${this.index}`);
    else this.root.removeAttribute("aria-activedescendant");
  }

  /** Inserts the new rows, each behind the one before it. */
  insert(drawn) {
    let before = null;
    for (const { row } of drawn) {
      if (!row.isConnected && before) before.after(row);
      else if (!row.isConnected) this.rows.prepend(row);
      before = row;
    }
  }

  row(at) {
    const item = this.items[at];
    const known = this.drawn.get(this.key(item)) ?? { row: el("div", { role: "option" }) };
    if (known.item !== item) known.row.replaceChildren(...this.drawRow(item));
    const attributes = {
      id: `${this.id}-${at}`,
      "data-at": at,
      "aria-selected": at === this.index,
      "aria-posinset": at + 1,
      "aria-setsize": this.items.length,
    };
    for (const [name, value] of Object.entries(attributes)) known.row.setAttribute(name, value);
    known.row.style.height = `${this.rowHeight}px`;
    known.row.style.transform = `translateY(${at * this.rowHeight}px)`;
    return { row: known.row, item };
  }

  /** Draws all rows anew. */
  redraw() {
    this.drawn.forEach((known) => {
      known.item = undefined;
    });
    this.draw();
  }

  click(event) {
    const row = event.target.closest("[role=option]");
    if (row) this.select(Number(row.dataset.at), true);
  }

  /** Moves the selection by the arrow keys, and opens it by Enter. */
  press(event) {
    if (event.key === "Enter" && this.index >= 0) this.select(this.index, true);
    const page = Math.max(1, Math.floor(this.root.clientHeight / this.rowHeight) - 1);
    const steps = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -Infinity,
      End: Infinity,
    };
    const step = steps[event.key];
    if (step === undefined || this.items.length === 0) return;
    event.preventDefault();
    this.select(Math.min(this.items.length - 1, Math.max(0, this.index + step)), false);
  }

  /** Selects an item. `opens` is false for a move in the list, which goes on. */
  select(index, opens) {
    this.index = index;
    const top = index * this.rowHeight;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    const under = top + this.rowHeight - this.root.clientHeight;
    if (under > this.root.scrollTop) this.root.scrollTop = under;
    this.draw();
    if (this.items[index] !== undefined) this.onSelect(this.items[index], opens);
  }

  /** Selects the first item that a test accepts. */
  selectWhere(accepts) {
    const index = this.items.findIndex(accepts);
    if (index >= 0) this.select(index, true);
  }

  clearSelection() {
    this.index = -1;
    this.draw();
  }
}
