// A set of vectors: a select of flags, a field of text, and rows that open to show their bytes.
// The kernel owns the rows; only the number of the open one goes back to it.

/* JupyterLab's shortcuts match the focused element itself: each one that can have the focus says no. */
const QUIET = { "data-lm-suppress-shortcuts": "true" };

function node(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/* 16 bytes a line in four groups, the offset before it. */
export function dump(hex) {
  const rows = [];
  for (let at = 0; at < hex.length; at += 32) {
    const groups = hex.slice(at, at + 32).match(/.{1,8}/g) ?? [];
    rows.push((at / 2).toString(16).padStart(4, "0") + "  " + groups.join(" "));
  }
  return rows.join("\n");
}

/* Whether a row has the flag ("" for any) and every word of the text in one of its cells. */
export function matches(row, flag, text) {
  if (flag && !row.flags.includes(flag)) return false;
  const whole = row.cells.join(" ").toLowerCase();
  return text.toLowerCase().split(/\s+/).every((word) => whole.includes(word));
}

function details(row, columns) {
  const parts = row.bytes.flatMap(([name, size, hex]) => {
    const more = size > hex.length / 2 ? `, the first ${hex.length / 2}` : "";
    return [
      node("dt", {}, `${name} (${size} ${size === 1 ? "byte" : "bytes"}${more})`),
      node("dd", {}, node("pre", { tabindex: "0", ...QUIET }, dump(hex))),
    ];
  });
  const cell = node("td", { colspan: String(columns) }, node("dl", {}, ...parts));
  return node("tr", { class: "aeskit-details" }, cell);
}

/* Draw into `root`; `choose` is told the number of the row that was opened, or -1. */
export function mount(root, { columns, rows, flags, total }, choose) {
  let open = -1;
  const select = node("select", { "aria-label": "flag", ...QUIET });
  select.append(node("option", { value: "" }, `all flags (${rows.length})`));
  for (const flag of flags) select.append(node("option", { value: flag.name }, `${flag.name} (${flag.count})`));
  const search = node("input", { type: "search", placeholder: "filter", "aria-label": "filter by text", ...QUIET });
  const count = node("span", { "aria-live": "polite" });
  const meaning = node("p", { class: "aeskit-meaning" });
  const head = node("tr", {}, ...columns.map((name) => node("th", { scope: "col" }, name)));
  const body = node("tbody");
  const table = node("table", {}, node("thead", {}, head), body);

  function toggle(number, at) {
    open = open === number ? -1 : number;
    choose(open);
    draw();
    body.querySelectorAll("button")[at]?.focus();
  }

  function line(row, number, at) {
    const [name, ...cells] = row.cells;
    const button = node("button", { "aria-expanded": String(open === number), ...QUIET }, name);
    button.addEventListener("click", () => toggle(number, at));
    const first = node("th", { scope: "row" }, button);
    return node("tr", {}, first, ...cells.map((text) => node("td", {}, text)));
  }

  function draw() {
    const shown = rows.map((row, number) => [row, number]).filter(([row]) => matches(row, select.value, search.value));
    const lines = shown.flatMap(([row, number], at) => {
      const made = line(row, number, at);
      return number === open ? [made, details(row, columns.length)] : [made];
    });
    body.replaceChildren(...lines);
    const cut = total > rows.length ? `, of ${total} the first ${rows.length} are here` : "";
    count.textContent = `${shown.length} of ${rows.length} vectors${cut}`;
    meaning.textContent = flags.find((flag) => flag.name === select.value)?.meaning ?? "";
  }

  function move(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.target.tagName !== "BUTTON") return;
    const buttons = [...body.querySelectorAll("button")];
    buttons[buttons.indexOf(event.target) + step]?.focus();
    event.preventDefault();
    event.stopPropagation();
  }

  select.addEventListener("change", draw);
  search.addEventListener("input", draw);
  body.addEventListener("keydown", move);
  for (const control of [select, search]) control.addEventListener("keydown", (event) => event.stopPropagation());
  const bar = node("div", { class: "aeskit-toolbar" }, node("label", {}, "flag ", select), search, count);
  root.classList.add("aeskit-vectors");
  root.append(bar, meaning, node("div", { class: "aeskit-scroll", tabindex: "-1" }, table));
  draw();
}

export default {
  render({ model, el }) {
    const names = ["columns", "rows", "flags", "total"];
    const data = Object.fromEntries(names.map((name) => [name, model.get(name)]));
    mount(el, data, (number) => {
      model.set("chosen", number);
      model.save_changes();
    });
  },
};
