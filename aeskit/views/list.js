// A list that may be long, and a model that is only here.

import { node } from "./lanes.js";

const ROW = 20; // pixels of a row
const SPARE = 10; // rows drawn beyond the visible ones

/* What LanesView asks of a widget's model, held here. */
export class LocalModel {
  constructor(values) {
    this.held = values;
    this.listeners = {};
  }
  get = (name) => this.held[name];
  on = (event, call) => (this.listeners[event] ??= []).push(call);
  off = (event, call) => (this.listeners[event] = this.listeners[event]?.filter((other) => other !== call));
  save_changes = () => {};
  set(name, value) {
    this.held[name] = value;
    for (const call of this.listeners[`change:${name}`] ?? []) call();
  }
}

/* A list of any length: only what is in sight exists. `draw(i)` gives a row, `choose(i)` hears a click. */
export class LongList {
  constructor(label, count, draw, choose) {
    Object.assign(this, { count, draw, at: -1 });
    this.room = node("div", { class: "aeskit-rows" });
    this.room.style.height = `${count * ROW}px`;
    this.box = node("div", { class: "aeskit-list", role: "listbox", "aria-label": label, tabindex: "0" }, this.room);
    this.box.onscroll = () => this.paint();
    this.room.onclick = (event) => {
      const row = event.target.closest("[data-row]");
      if (row) choose(Number(row.dataset.row));
    };
    new ResizeObserver(() => this.paint()).observe(this.box);
  }

  paint() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / ROW) - SPARE);
    const last = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / ROW) + SPARE);
    const rows = [];
    for (let i = first; i < last; i++) rows.push(this.row(i));
    this.room.replaceChildren(...rows);
  }

  id = (i) => `${this.name ??= `aeskit-${Math.random().toString(36).slice(2)}`}-${i}`;

  row(i) {
    const row = this.draw(i);
    row.style.top = `${i * ROW}px`;
    row.dataset.row = i;
    row.id = this.id(i);
    const named = { "aria-setsize": this.count, "aria-posinset": i + 1, "aria-selected": i === this.at, role: "option" };
    for (const [name, value] of Object.entries(named)) row.setAttribute(name, value);
    return row;
  }

  select(i) {
    if (i === this.at) return;
    const top = this.box.scrollTop, height = this.box.clientHeight;
    this.mark(false);
    this.at = i;
    if (i >= 0 && ((i - 1) * ROW < top || (i + 3) * ROW > top + height)) this.box.scrollTop = i * ROW - height / 2;
    if (!this.mark(true)) this.paint();
  }

  /* Mark the selected row, or no longer; whether it is drawn. */
  mark(selected) {
    const row = document.getElementById(this.id(this.at));
    row?.setAttribute("aria-selected", selected);
    if (row && selected) this.box.setAttribute("aria-activedescendant", row.id);
    return row;
  }
}
