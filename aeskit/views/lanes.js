// Registers as lanes of 16 cells: hover, click and type; the values go to the kernel as hexadecimal.
// The kernel owns the values: what it sends (values, marks, caption) is what is drawn.
// Words are little-endian integers, as an x86 instruction sees them; text.py draws the same cells.

export const SIZES = { bytes: 1, words: 2, dwords: 4, quadwords: 8, bits: 1, polynomial: 1 };
const TYPES = Object.keys(SIZES);
const BLOCK = 16;
const NO_MARK = "0".repeat(2 * BLOCK);

export const fromHex = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const toHex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const singular = (type) => (type === "polynomial" ? "bit" : type.slice(0, -1));

/* JupyterLab's shortcuts match the focused element itself: each one that can have the focus says no. */
const QUIET = { "data-lm-suppress-shortcuts": "true" };

export function node(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/* The power of x that a bit of a byte stands for: bits.to_polynomial, bit by bit. */
export function degree(byte, bit, order) {
  if (order === "lrw") return 8 * (BLOCK - 1 - byte) + bit;
  return 8 * byte + (order === "ghash" ? 7 - bit : bit);
}

export function power(exponent) {
  if (exponent < 2) return exponent ? "x" : "1";
  return "x" + [...String(exponent)].map((digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]).join("");
}

/* The cells of one lane as rows on the screen; a cell is {byte, bit, width}, width in bits. */
export function layout(type, size, highFirst, order) {
  const count = Math.ceil(size / SIZES[type]);
  const firsts = Array.from({ length: BLOCK / SIZES[type] }, (_, i) => i * SIZES[type]);
  const shown = (highFirst ? firsts.reverse() : firsts).map((byte) => (byte < size ? byte : null));
  const bitsDown = [7, 6, 5, 4, 3, 2, 1, 0];
  const lone = (byte, bit) => (byte === null ? null : { byte, bit, width: 1 });
  if (type === "bits") {
    const halves = [shown.slice(0, 8), shown.slice(8)].filter((half) => half.some((byte) => byte !== null));
    return halves.map((half) => half.flatMap((byte) => bitsDown.map((bit) => lone(byte, bit))));
  }
  if (type === "polynomial") {
    // Powers go down a column the way they go across: up or down, without a jump.
    const rising = (order === "lrw") === highFirst;
    const down = rising === (order === "ghash") ? bitsDown : bitsDown.toReversed();
    return down.map((bit) => shown.map((byte) => lone(byte, bit)));
  }
  const width = (byte) => 8 * Math.min(SIZES[type], size - byte);
  return count ? [shown.map((byte) => (byte === null ? null : { byte, bit: 0, width: width(byte) }))] : [];
}

/* The unsigned integer of a cell in `bytes` of its lane. */
export function read(bytes, cell) {
  let value = 0n;
  for (let i = Math.ceil((cell.bit + cell.width) / 8) - 1; i >= 0; i--) value = (value << 8n) | BigInt(bytes[cell.byte + i]);
  return (value >> BigInt(cell.bit)) & ((1n << BigInt(cell.width)) - 1n);
}

export function write(bytes, cell, value) {
  if (cell.width === 1) {
    bytes[cell.byte] = (bytes[cell.byte] & ~(1 << cell.bit)) | (Number(value) << cell.bit);
  } else {
    for (let i = 0; i < cell.width / 8; i++) bytes[cell.byte + i] = Number((value >> BigInt(8 * i)) & 255n);
  }
}

export function text(bytes, cell, type, order) {
  const value = read(bytes, cell);
  if (type === "polynomial") return value ? power(degree(cell.byte, cell.bit, order)) : "·";
  return type === "bits" ? String(value) : value.toString(16).padStart(cell.width / 4, "0");
}

function terms(bytes, cell, order, most = 8) {
  const powers = [];
  for (let bit = cell.bit; bit < cell.bit + cell.width; bit++) {
    const byte = cell.byte + (bit >> 3);
    if ((bytes[byte] >> (bit & 7)) & 1) powers.push(degree(byte, bit & 7, order));
  }
  powers.sort((a, b) => b - a);
  const more = powers.length > most ? ` + … (${powers.length} terms)` : "";
  return powers.length ? powers.slice(0, most).map(power).join(" + ") + more : "0";
}

/* Where a cell is, for people: "byte 5, bits 40–47". */
function place(cell, type) {
  const low = 8 * cell.byte + cell.bit;
  if (cell.width === 1) return `byte ${cell.byte}, bit ${low}`;
  const name = type === "bytes" ? "" : `${singular(type)} ${cell.byte / SIZES[type]}, `;
  const last = cell.byte + cell.width / 8 - 1;
  return `${name}${last > cell.byte ? `bytes ${cell.byte}–${last}` : `byte ${cell.byte}`}, bits ${low}–${low + cell.width - 1}`;
}

export class LanesView {
  constructor(model, el) {
    Object.assign(this, { model, units: [], at: [0, 0], editor: null });
    this.root = node("div", { class: "aeskit-lanes", ...QUIET });
    this.grid = node("table", { role: "grid", "aria-label": "register lanes" });
    this.info = node("div", { class: "aeskit-info" });
    this.caption = node("div", { class: "aeskit-caption", role: "status", "aria-live": "polite" });
    this.root.append(this.toolbar(), node("div", { class: "aeskit-scroll" }, this.grid), this.caption, this.info);
    el.append(this.root);
    this.listen();
    this.build();
  }

  toolbar() {
    const options = TYPES.map((type) => node("option", { value: type }, type));
    this.select = node("select", { "aria-label": "cell type", ...QUIET }, ...options);
    this.select.onchange = () => this.put("cells", this.select.value);
    this.high = node("input", { type: "checkbox", ...QUIET });
    this.high.onchange = () => this.put("high_first", this.high.checked);
    this.keys = node("span", { class: "aeskit-keys" });
    return node("div", { class: "aeskit-toolbar" }, node("label", {}, "cells ", this.select),
      node("label", {}, this.high, " byte 15 on the left"), this.keys);
  }

  listen() {
    this.rebuild = () => this.build();
    this.repaint = () => this.paint();
    for (const name of ["cells", "high_first", "registers"]) this.model.on(`change:${name}`, this.rebuild);
    for (const name of ["values", "marks", "caption"]) this.model.on(`change:${name}`, this.repaint);
    this.grid.onkeydown = (event) => this.key(event);
    this.grid.onmouseover = (event) => this.hover(event.target);
    this.grid.onmouseleave = () => this.hover(document.activeElement);
    this.grid.addEventListener("focusin", (event) => this.arrive(event.target));
    this.grid.onclick = (event) => this.click(event);
    this.grid.ondblclick = (event) => this.unitOf(event.target)?.cell.width > 1 && this.edit(this.unitOf(event.target));
  }

  stop() {
    for (const name of ["cells", "high_first", "registers"]) this.model.off(`change:${name}`, this.rebuild);
    for (const name of ["values", "marks", "caption"]) this.model.off(`change:${name}`, this.repaint);
  }

  put(name, value) {
    this.model.set(name, value);
    this.model.save_changes();
  }

  /* The whole grid anew; the focus stays on the bit where it was. */
  build() {
    const kept = this.units[this.at[0]]?.[this.at[1]];
    const focused = this.grid.contains(document.activeElement);
    const type = this.model.get("cells"), highFirst = this.model.get("high_first");
    Object.assign(this, { type, units: [], rows: [], editor: null });
    this.select.value = type;
    this.high.checked = highFirst;
    this.grid.className = `aeskit-${type}`;
    this.grid.replaceChildren(this.head(type, highFirst));
    const registers = this.model.get("registers");
    const verb = type === "bits" || type === "polynomial" ? "click, space, 0 or 1" : "digits or Enter";
    this.keys.textContent = `arrows move · ${registers.some((r) => r.editable) ? `${verb} edit · ` : ""}[ ] cell type`;
    const tall = registers.map((r) => r.titles.length > 1 || type === "bits" || type === "polynomial");
    registers.forEach((register, number) => {
      const apart = number && (register.heading || tall[number] || tall[number - 1]);
      const names = `${apart ? "aeskit-apart" : ""} ${register.editable ? "aeskit-editable" : ""}`;
      const body = node("tbody", { role: "rowgroup", "aria-label": register.name, class: names });
      if (register.heading) body.append(this.heading(register.heading));
      register.titles.forEach((title, lane) => body.append(...this.lane(register, number, title, lane)));
      this.grid.append(body);
    });
    this.at = this.find(kept) ?? [0, this.units[0]?.findIndex((unit) => unit) ?? 0];
    this.paint();
    this.current()?.td.setAttribute("tabindex", "0");
    if (focused) this.current()?.td.focus();
  }

  head(type, highFirst) {
    const folded = type === "bits";
    const names = Array.from({ length: folded ? 8 : BLOCK / SIZES[type] }, (_, i) => (folded && highFirst ? i + 8 : i));
    const cells = (highFirst ? names.reverse() : names).map((name, i) =>
      node("th", { scope: "col", role: "columnheader", colspan: folded ? 8 : 1, class: i === names.length / 2 ? "aeskit-gap" : "" }, String(name)));
    const corner = node("th", { role: "columnheader", class: "aeskit-title" }, type === "polynomial" ? "byte" : singular(folded ? "bytes" : type));
    return node("thead", { role: "rowgroup" }, node("tr", { role: "row" }, corner, ...cells));
  }

  heading(words) {
    const columns = { bits: 64, polynomial: BLOCK }[this.type] ?? BLOCK / SIZES[this.type];
    const th = node("th", { role: "columnheader", colspan: columns + 1, class: "aeskit-heading" }, words);
    return node("tr", { role: "row" }, th);
  }

  lane(register, number, title, lane) {
    const size = Math.min(BLOCK, this.model.get("values")[number].length / 2 - BLOCK * lane);
    const rows = layout(this.type, size, this.model.get("high_first"), register.order);
    return rows.map((row, line) => {
      const tr = node("tr", { role: "row", class: line ? "" : "aeskit-first" });
      const folded = line && this.type === "bits" && `${row[0]?.byte ?? ""} to ${row.at(-1)?.byte ?? ""}`;
      const name = node("th", { role: "rowheader", scope: "row", class: "aeskit-title" }, folded || (line ? "" : title));
      if (folded) name.classList.add("aeskit-folded");
      tr.append(name);
      const units = row.map((cell, column) => {
        const td = node("td", { class: this.gap(column), ...(cell && { role: "gridcell", tabindex: "-1", ...QUIET }) });
        tr.append(td);
        if (!cell) return null;
        const unit = { td, cell, register, number, lane, title, row: this.units.length, column };
        if (!register.editable) td.setAttribute("aria-readonly", "true");
        td.unit = unit;
        return unit;
      });
      this.units.push(units);
      if (!line) this.rows.push({ tr, th: name, number, lane, units });
      return tr;
    });
  }

  gap(column) {
    const middle = this.type === "bits" ? 32 : BLOCK / SIZES[this.type] / 2;
    return column === middle ? "aeskit-gap" : this.type === "bits" && column % 8 === 0 && column ? "aeskit-byte" : "";
  }

  find(kept) {
    for (const unit of this.units.flat()) {
      const low = unit && 8 * unit.cell.byte + unit.cell.bit, wanted = kept && 8 * kept.cell.byte + kept.cell.bit;
      const same = unit && kept && unit.number === kept.number && unit.lane === kept.lane;
      if (same && low <= wanted && wanted < low + unit.cell.width) return [unit.row, unit.column];
    }
    return null;
  }

  paint() {
    const values = this.model.get("values").map(fromHex), marks = this.model.get("marks").map(fromHex);
    this.lanes = (unit, from = values) => from[unit.number].subarray(BLOCK * unit.lane, BLOCK * (unit.lane + 1));
    this.label();
    // Most cells stay as they were from step to step.
    const hex = this.model.get("values"), now = this.model.get("marks").map((mark, number) => `${hex[number]} ${mark}`);
    for (const unit of this.units.flat()) {
      if (!unit || unit.td === this.editor?.parentNode || unit.now === now[unit.number]) continue;
      unit.now = now[unit.number];
      const bytes = this.lanes(unit), mark = marks[unit.number]?.length ? this.lanes(unit, marks) : fromHex(NO_MARK);
      unit.marked = read(mark, unit.cell) !== 0n;
      unit.td.textContent = text(bytes, unit.cell, this.type, unit.register.order);
      unit.td.classList.toggle("aeskit-marked", unit.marked);
      unit.td.classList.toggle("aeskit-zero", unit.cell.width === 1 && read(bytes, unit.cell) === 0n);
      unit.td.setAttribute("aria-label", this.name(unit));
    }
    this.caption.textContent = this.model.get("caption");
    this.describe(this.described ?? this.current());
  }

  /* Titles and kinds (classes of rows) that change with the values: the model may have a list of each. */
  label() {
    const titles = this.model.get("titles"), kinds = this.model.get("kinds");
    for (const { tr, th, number, lane, units } of titles ? this.rows : []) {
      const title = titles[number][lane], kind = kinds?.[number][lane] ?? "", mixed = Array.isArray(kind);
      if (String(tr.kind ?? "") !== String(kind)) {
        Object.assign(tr, { kind }).dataset.kind = mixed ? "" : kind;
        for (const unit of units) if (unit) unit.td.dataset.kind = mixed ? kind[unit.cell.byte] : "";
      }
      if (th.title === title) continue;
      th.textContent = th.title = title;
      for (const unit of units) if (unit) Object.assign(unit, { title, now: "" });
    }
  }

  name(unit) {
    const value = read(this.lanes(unit), unit.cell).toString(16).padStart(unit.cell.width / 4, "0");
    return `${unit.title}, ${place(unit.cell, this.type)}: ${value}${unit.marked ? `, ${this.marking()}` : ""}`;
  }

  marking = () => this.model.get("marking") ?? "differs";

  describe(unit) {
    if (!unit || this.problem) return;
    const value = read(this.lanes(unit), unit.cell), { width } = unit.cell;
    const differs = unit.marked ? ` (${this.marking()})` : "", where = `${unit.title}, ${place(unit.cell, this.type)}`;
    const { byte, bit } = unit.cell, { order } = unit.register;
    if (width === 1) return void (this.info.textContent = `${where}, the coefficient of ${power(degree(byte, bit, order))}: ${value}${differs}`);
    const binary = value.toString(2).padStart(width, "0").replace(/(?=(....)+$)/g, " ").trim();
    const digits = value.toString(16).padStart(width / 4, "0");
    this.info.textContent = `${where}: ${digits} = ${binary} in binary; polynomial ${terms(this.lanes(unit), unit.cell, order)}${differs}`;
  }

  current = () => this.units[this.at[0]]?.[this.at[1]];
  unitOf = (target) => target?.closest?.("td")?.unit;

  hover(target) {
    const unit = this.unitOf(target);
    this.described = unit;
    for (const other of this.units.flat()) {
      const same = unit && other && other !== unit && other.cell.byte === unit.cell.byte && other.cell.bit === unit.cell.bit;
      other?.td.classList.toggle("aeskit-peer", Boolean(same));
    }
    this.describe(unit ?? this.current());
  }

  arrive(target) {
    const unit = this.unitOf(target);
    if (!unit) return;
    this.current()?.td.setAttribute("tabindex", "-1");
    this.at = [unit.row, unit.column];
    unit.td.setAttribute("tabindex", "0");
    if (target === unit.td) this.say("");
    this.hover(target);
  }

  say(problem) {
    this.problem = problem;
    this.info.classList.toggle("aeskit-problem", Boolean(problem));
    this.info.textContent = problem;
  }

  click(event) {
    const unit = this.unitOf(event.target);
    if (!unit || event.target !== unit.td) return;
    unit.td.focus();
    if (unit.cell.width === 1) this.toggle(unit);
  }

  key(event) {
    const unit = this.current();
    if (!unit || event.target !== unit.td || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!this.handle(event.key, unit)) return;
    event.preventDefault();
    event.stopPropagation();
  }

  handle(key, unit) {
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -999], End: [0, 999] };
    if (key in steps) this.move(unit, ...steps[key]);
    else if (key === "[" || key === "]") this.put("cells", TYPES[(TYPES.indexOf(this.type) + (key === "]" ? 1 : 5)) % 6]);
    else if (unit.cell.width === 1 && (key === "Enter" || key === " ")) this.toggle(unit);
    else if (unit.cell.width === 1 && (key === "0" || key === "1")) this.set(unit, BigInt(key)) && this.move(unit, 0, 1);
    else if (unit.cell.width > 1 && (key === "Enter" || key === "F2")) this.edit(unit);
    else if (unit.cell.width > 1 && /^[0-9a-f]$/i.test(key)) this.edit(unit, key);
    else return false;
    return true;
  }

  move(unit, down, right) {
    const row = this.units[unit.row + down];
    if (!row) return;
    const there = row.map((other, column) => (other ? column : -1)).filter((column) => column >= 0);
    const wanted = Math.max(there[0], Math.min(unit.column + right, there.at(-1)));
    row[wanted].td.focus();
  }

  toggle = (unit) => this.set(unit, 1n - read(this.lanes(unit), unit.cell));

  /* Send a cell's new value; true if it may be changed. */
  set(unit, value) {
    if (!unit.register.editable) return this.say(`${unit.register.name} is computed: it cannot be edited`), false;
    const values = [...this.model.get("values")];
    const bytes = fromHex(values[unit.number]);
    write(bytes.subarray(BLOCK * unit.lane), unit.cell, value);
    values[unit.number] = toHex(bytes);
    this.put("values", values);
    return true;
  }

  edit(unit, typed = "") {
    if (!unit.register.editable) return this.say(`${unit.register.name} is computed: it cannot be edited`);
    const digits = unit.cell.width / 4, old = unit.td.textContent;
    const input = node("input", { type: "text", maxlength: digits, size: digits, "aria-label": this.name(unit), ...QUIET });
    input.value = typed || old;
    input.style.width = `${digits}ch`;
    let open = true;
    const close = (save, onward) => {
      if (!open) return;
      open = false;
      this.editor = null;
      const good = /^[0-9a-f]+$/i.test(input.value.trim());
      unit.td.replaceChildren(old);
      if (save && good) this.set(unit, BigInt(`0x${input.value.trim()}`));
      if (onward !== undefined) onward && good ? this.move(unit, 0, 1) : unit.td.focus();
      if (save && !good) this.say(`a ${singular(this.type)} must be 1 to ${digits} hexadecimal digits, not “${input.value}”`);
    };
    input.onkeydown = (event) => {
      event.stopPropagation();
      if (event.key === "Escape") close(false, false);
      if (event.key === "Enter" || event.key === "Tab") event.preventDefault(), close(true, event.key === "Tab");
    };
    input.oninput = () => typed && input.value.length === digits && close(true, true);
    input.onblur = () => close(true);
    this.editor = input;
    unit.td.replaceChildren(input);
    input.focus();
    typed ? input.setSelectionRange(1, 1) : input.select();
  }
}

export default {
  render({ model, el }) {
    const view = new LanesView(model, el);
    return () => view.stop();
  },
};
