// A run to step through: code by phase, registers by role, the model's step, memory and a timeline.
// Everything shown is text content, never markup. Lanes are drawn by lanes.js, the trace is read by run.js.

import { LanesView, node } from "./lanes.js";
import { LocalModel, LongList } from "./list.js";
import { Run, isVector, kindOf, lanesFrom } from "./run.js";

const BACK = 300; // steps to look back for a recognised value
const PARTS = 120; // of the timeline
const PLAY = 120; // milliseconds a step
const ROLES = { data: "data", tweak: "tweak, counter, IV", key: "round keys", other: "scratch, constants" };
const FLAGS = { CF: 0, PF: 2, ZF: 6, SF: 7, OF: 11 };

const integer = (hex) => BigInt(`0x${hex.match(/../g).reverse().join("")}`);
const hexNumber = (hex) => `0x${integer(hex).toString(16)}`;
const flags = (hex) => Object.keys(FLAGS).filter((name) => (integer(hex) >> BigInt(FLAGS[name])) & 1n).join(" ") || "all clear";
const grouped = (hex) => hex.match(/.{1,8}/g)?.join(" ") ?? "";
const plural = (count, thing) => `${count} ${thing}${count === 1 ? "" : "s"}`;

/* zmm3[0], zmm3[1], zmm3[2], key+80 as zmm3[0–2], key+80. */
function together(places) {
  const lanes = new Map(), rest = places.filter((place) => !/\[\d\]$/.test(place));
  for (const [, name, lane] of places.flatMap((place) => [...place.matchAll(/^(.+)\[(\d)\]$/g)])) lanes.set(name, [...(lanes.get(name) ?? []), Number(lane)]);
  const runs = [...lanes].map(([name, some]) => {
    const one = some.length > 1 && some.at(-1) - some[0] === some.length - 1;
    return `${name}[${one ? `${some[0]}–${some.at(-1)}` : some.join(",")}]`;
  });
  return [...runs, ...rest].join(", ");
}

export class StepsView {
  constructor(raw, el) {
    this.run = new Run(raw);
    this.at = 0;
    this.timer = 0;
    this.root = node("div", { class: "aeskit-steps", tabindex: "0", "data-lm-suppress-shortcuts": "true", role: "application", "aria-label": `steps of ${this.run.title}` });
    const middle = this.registers();
    this.root.append(this.head(), this.code(), middle, this.standard(), this.foot());
    this.root.addEventListener("keydown", (event) => this.key(event));
    el.append(this.root);
    this.go(0);
  }

  // ---- The parts

  head() {
    const { run } = this, found = run.findings.length;
    const verdict = node("span", { class: found ? "aeskit-bad" : "aeskit-good" }, found ? `✗ ${plural(found, "finding")}` : "✓ nothing found");
    const ran = node("span", { class: "aeskit-quiet" }, `${plural(run.count, "instruction")} run by ${run.source}`);
    const legend = Object.entries(ROLES).map(([kind, words]) => node("span", { "data-kind": kind, class: "aeskit-key" }, words));
    return node("header", {}, node("h1", {}, run.title), node("p", {}, verdict, ran, node("span", { class: "aeskit-legend" }, ...legend)));
  }

  code() {
    // Rows of the list: a heading a phase, then its steps.
    this.rowOfStep = (at) => at + this.run.phase(at) + 1;
    const total = this.run.count + this.run.phases.length;
    this.bad = new Set(this.run.findings.map((finding) => finding.step));
    this.run.raw.steps.forEach((row, at) => row[5] && this.bad.add(at));
    this.list = new LongList("instructions", total, (row) => this.codeRow(row), (row) => this.go(this.stepOfRow(row).at));
    return node("section", { class: "aeskit-code", "aria-label": "code" }, this.list.box);
  }

  stepOfRow(row) {
    let low = 0, high = this.run.phases.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.run.phases[middle].first + middle <= row) low = middle;
      else high = middle - 1;
    }
    const heading = this.run.phases[low].first + low === row;
    return { phase: low, heading, at: heading ? this.run.phases[low].first : row - low - 1 };
  }

  codeRow(row) {
    const { phase, heading, at } = this.stepOfRow(row);
    if (heading) return node("div", { class: "aeskit-phase" }, this.run.phases[phase].name || "run");
    const { text, place } = this.run.step(at);
    const offset = place.includes("+") ? place.slice(place.indexOf("+")) : "";
    const mark = this.bad.has(at) ? "aeskit-step aeskit-bad" : "aeskit-step";
    return node("div", { class: mark, title: text }, node("span", { class: "aeskit-quiet" }, String(at)), node("span", { class: "aeskit-quiet" }, offset), node("span", {}, this.bad.has(at) ? `✗ ${text}` : text));
  }

  registers() {
    const groups = this.run.groups(), registers = [], start = this.run.start();
    this.shown = [];
    for (const [role, names] of Object.entries(groups)) {
      names.forEach((name, i) => {
        const size = this.sizeOf(name);
        registers.push({ name, titles: Array(size / 16).fill(name), editable: false, order: "xts", heading: i ? "" : ROLES[role] });
        this.shown.push({ name, size });
      });
    }
    const blank = this.shown.map(({ name, size }) => start.values.get(name) ?? "0".repeat(2 * size));
    this.model = new LocalModel({ registers, values: blank, marks: blank.map(() => ""), caption: "", cells: "bytes", high_first: false, marking: "changed" });
    this.lanes = node("div", { class: "aeskit-registers" });
    if (registers.length) this.drawn = new LanesView(this.model, this.lanes);
    this.now = node("div", { class: "aeskit-now", role: "status", "aria-live": "polite" });
    this.scalar = node("table", { class: "aeskit-scalars" });
    this.memory = node("div", { class: "aeskit-memory" });
    this.strips = this.run.buffers.filter((buffer) => buffer.size).map((buffer) => this.strip(buffer));
    return node("section", { class: "aeskit-middle", "aria-label": "registers and memory" }, this.now, this.lanes, this.scalar, this.memory);
  }

  sizeOf(name) {
    return { x: 16, y: 32, z: 64 }[name[0]];
  }

  strip(buffer) {
    const canvas = node("canvas", { height: "12", role: "img" });
    const told = node("span", { class: "aeskit-quiet" });
    this.memory.append(node("div", {}, node("span", { class: "aeskit-name" }, buffer.name), canvas, told));
    return { buffer, canvas, told };
  }

  standard() {
    this.index = this.run.modelIndex();
    this.fits = node("div", { class: "aeskit-fits" });
    this.modelList = new LongList("the model's steps", this.run.raw.model.length, (row) => this.modelRow(row), (row) => {
      const { first } = this.run.model(row);
      if (first !== undefined) this.go(first);
    });
    return node("section", { class: "aeskit-model", "aria-label": "the model's step" }, this.fits, this.modelList.box);
  }

  modelRow(row) {
    const { text, first } = this.run.model(row);
    const seen = first === undefined ? "·" : String(first);
    const classes = first === undefined ? "aeskit-step aeskit-unseen" : "aeskit-step";
    const title = first === undefined ? `${text}: in no lane` : `${text}: first held at step ${first}`;
    return node("div", { class: classes, title }, node("span", { class: "aeskit-quiet" }, seen), node("span", {}, text));
  }

  foot() {
    const { run } = this;
    const play = node("button", { type: "button", title: "space" }, "▶");
    play.onclick = () => this.play();
    this.button = play;
    this.slider = node("input", { type: "range", min: "0", max: String(Math.max(run.count - 1, 0)), value: "0", "aria-label": "step" });
    this.slider.oninput = () => this.go(Number(this.slider.value));
    const bar = node("div", { class: "aeskit-phases" });
    // At most PARTS parts: of more phases each part takes several.
    this.each = Math.ceil(run.phases.length / PARTS);
    this.parts = run.phases.filter((_, i) => i % this.each === 0).map(({ first, name }, i) => {
      const { end } = run.phases[Math.min((i + 1) * this.each, run.phases.length) - 1];
      const part = node("button", { type: "button", tabindex: "-1", title: `${name}: steps ${first} to ${end - 1}` }, name);
      part.style.flexGrow = end - first;
      part.onclick = () => this.go(first);
      return part;
    });
    bar.append(...this.parts);
    const marks = node("div", { class: "aeskit-marks" });
    for (const { text, step } of run.findings.filter((finding) => finding.step !== null)) {
      const mark = node("button", { type: "button", title: `step ${step}: ${text}`, "aria-label": `finding at step ${step}: ${text}` }, "▲");
      mark.style.left = `${(100 * step) / Math.max(run.count - 1, 1)}%`;
      mark.onclick = () => this.go(step);
      marks.append(mark);
    }
    const line = node("div", { class: "aeskit-line" }, bar, this.slider, marks);
    const keys = node("span", { class: "aeskit-quiet" }, "← → a step · ⇧← ⇧→ a phase · space plays · Home End");
    const findings = node("ul", { class: "aeskit-findings", "aria-label": "findings" });
    for (const { text, step } of run.findings) {
      const item = node("li", {}, step === null ? text : `step ${step}: ${text}`);
      if (step !== null) item.onclick = () => this.go(step);
      findings.append(item);
    }
    return node("footer", {}, play, line, findings, keys);
  }

  // ---- Going

  go(at) {
    this.at = Math.max(0, Math.min(at, this.run.count - 1));
    this.pending ??= requestAnimationFrame(() => {
      this.pending = undefined;
      if (this.run.count) this.paint();
    });
  }

  play() {
    clearInterval(this.timer);
    this.timer = this.timer ? 0 : setInterval(() => (this.at + 1 < this.run.count ? this.go(this.at + 1) : this.play()), PLAY);
    this.button.textContent = this.timer ? "❚❚" : "▶";
    this.now.setAttribute("aria-live", this.timer ? "off" : "polite");
  }

  stop = () => {
    clearInterval(this.timer);
    this.drawn?.stop();
  };

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
    const phase = this.run.phase(this.at), { first } = this.run.phases[phase] ?? {};
    const moves = {
      ArrowRight: () => this.go(event.shiftKey ? this.run.phases[phase].end : this.at + 1),
      ArrowLeft: () => this.go(event.shiftKey ? (this.at > first ? first : this.run.phases[phase - 1]?.first ?? 0) : this.at - 1),
      ArrowDown: () => this.go(this.at + 1),
      ArrowUp: () => this.go(this.at - 1),
      Home: () => this.go(0),
      End: () => this.go(this.run.count - 1),
      " ": () => event.target.tagName !== "BUTTON" && this.play(),
    };
    if (!(event.key in moves) || (event.key === " " && event.target.tagName === "BUTTON")) return;
    moves[event.key]();
    event.preventDefault();
    event.stopPropagation();
  }

  // ---- Drawing a step

  paint() {
    const step = this.run.step(this.at), before = this.run.state(this.at - 1);
    const after = this.run.follow(before, this.at);
    this.list.select(this.rowOfStep(this.at));
    this.paintNow(step, before);
    this.paintLanes(before, after, step.wanted);
    this.paintScalars(step, after);
    this.strips.forEach((strip) => this.paintStrip(strip, step));
    this.paintModel(step, after);
    this.slider.value = this.at;
    const number = this.run.phase(this.at), phase = this.run.phases[number]?.name ?? "";
    this.slider.setAttribute("aria-valuetext", `step ${this.at} of ${this.run.count}, ${phase}, ${step.text}`);
    this.parts.forEach((part, i) => part.classList.toggle("aeskit-here", i === Math.floor(number / this.each)));
  }

  paintNow(step, before) {
    const said = [node("strong", {}, step.text), node("span", { class: "aeskit-quiet" }, `step ${step.at} · ${step.place}${step.line ? ` · ${step.line}` : ""}`)];
    const told = [];
    if ("flags" in step.values) told.push(`flags ${flags(step.values.flags)}`);
    const next = this.at + 1 < this.run.count ? this.run.step(this.at + 1).place : "";
    if (/^j(?!mp)/.test(step.text)) told.push(next.endsWith(step.text.split(" ").at(-1)) ? "taken" : "not taken");
    for (const access of step.accesses.filter((one) => one.buffer)) told.push(this.told(access, step.names));
    said.push(node("span", {}, told.join(" · ")));
    for (const finding of this.run.findings.filter((one) => one.step === step.at)) said.push(node("span", { class: "aeskit-bad" }, `✗ ${finding.text}`));
    this.now.replaceChildren(...said);
  }

  told({ buffer, offset, size, written, data }, names) {
    const known = [];
    for (let at = 0; at < size; at += 16) if (names[`${buffer}+${offset + at}`]) known.push(names[`${buffer}+${offset + at}`]);
    const what = known.length ? `: ${known.join(", ")}` : data && size <= 16 ? `: ${grouped(data)}` : "";
    return `${written ? "writes" : "reads"} ${buffer}+${offset}, ${plural(size, "byte")}${what}`;
  }

  paintLanes(before, after, wanted) {
    if (!this.drawn) return;
    const values = [], marks = [], titles = [], kinds = [];
    for (const { name, size } of this.shown) {
      const now = after.values.get(name) ?? "0".repeat(2 * size), old = before.values.get(name) ?? "0".repeat(2 * size);
      values.push(now);
      marks.push(now === old ? "" : now.match(/../g).map((pair, i) => (pair === old.substr(2 * i, 2) ? "00" : "ff")).join(""));
      const lanes = Array.from({ length: size / 16 }, (_, lane) => after.lanes.get(`${name}[${lane}]`) ?? "");
      titles.push(lanes.map((known, lane) => {
        const missed = wanted.find(({ place }) => place === `${name}[${lane}]`);
        return `${name}[${lane}]${known ? ` = ${known}` : missed ? ` ≠ ${missed.name || "right"}` : ""}`;
      }));
      kinds.push(lanesFrom(after, name, lanes.length));
    }
    Object.assign(this.model.held, { marks, titles, kinds });
    this.model.set("values", values);
    const marked = this.lanes.querySelectorAll(".aeskit-marked"); // the last first, so that the first is seen
    for (const cell of [marked[marked.length - 1], marked[0]]) cell?.closest("tr").scrollIntoView({ block: "nearest" });
  }

  paintScalars(step, after) {
    const cells = this.run.scalars().filter((name) => after.values.has(name)).map((name) => {
      const hex = after.values.get(name), place = after.lanes.get(name) ?? (this.run.pointer(integer(hex)) || undefined);
      const cell = node("td", { class: name in step.values ? "aeskit-marked" : "", title: hexNumber(hex) }, place ?? hexNumber(hex));
      return [node("th", { scope: "row" }, name), cell];
    });
    const rows = [];
    for (let i = 0; i < cells.length; i += 4) rows.push(node("tr", {}, ...cells.slice(i, i + 4).flat()));
    this.scalar.replaceChildren(...rows);
  }

  paintStrip({ buffer, canvas, told }, step) {
    const style = getComputedStyle(this.root), colour = (name) => style.getPropertyValue(name);
    const wide = Math.max(2, Math.min(12, Math.floor(420 / buffer.blocks.length))), scale = devicePixelRatio || 1;
    const width = Math.min(wide * buffer.blocks.length, 420);
    const draw = canvas.getContext("2d");
    if (canvas.width !== width * scale) Object.assign(canvas, { width: width * scale, height: 12 * scale });
    canvas.style.width = `${width}px`;
    draw.setTransform(scale, 0, 0, scale, 0, 0);
    draw.clearRect(0, 0, width, 12);
    buffer.blocks.forEach(({ read, written }, block) => {
      draw.fillStyle = colour(written <= this.at ? "--ak-written" : read <= this.at ? "--ak-read" : "--ak-line");
      draw.fillRect(((block * wide) % 420), 1, wide - 1, 10);
    });
    const here = step.accesses.filter((access) => access.buffer === buffer.name);
    draw.strokeStyle = draw.fillStyle = colour("--ak-mark-line");
    for (const { offset, size, written } of here) {
      const left = (offset / 16) * wide, across = Math.max((size / 16) * wide, 2);
      if (written) draw.fillRect(left, 0, across, 12);
      else draw.strokeRect(left + 0.5, 0.5, across - 1, 11);
    }
    const done = here.map(({ offset, size, written }) => `${written ? "written" : "read"} ${offset}–${offset + size - 1}`);
    told.textContent = done.join(", ") || plural(buffer.size, "byte");
    canvas.setAttribute("aria-label", `${buffer.name}, ${told.textContent}`);
  }

  paintModel(step, after) {
    const plain = (name) => name.split(" ⊕ ")[0].replace(" reversed", "");
    const vector = Object.entries(step.names).filter(([place]) => isVector(place.replace(/\[\d+\]$/, "")) || place.includes("+"));
    const same = new Map();
    for (const [place, name] of vector) same.set(name, [...(same.get(name) ?? []), place]);
    const found = [...same].map(([name, places]) => ({ place: together(places), name, at: this.index.get(plain(name)) })).filter(({ at }) => at !== undefined);
    const shown = found.slice(0, 4).map(({ place, name, at }) => this.fit(place, name, at, step));
    const more = found.length > 4 ? [node("p", { class: "aeskit-quiet" }, `and ${found.length - 4} more`)] : [];
    const wrong = step.wanted.slice(0, 4).map((one) => this.unfit(one, plain, after));
    const none = node("p", { class: "aeskit-quiet" }, Object.keys(step.values).some(isVector) ? "no value that the standard names" : "no lane set");
    this.fits.replaceChildren(node("h2", {}, "the standard's step"), ...wrong, ...(found.length ? [...shown, ...more] : wrong.length ? [] : [none]));
    const own = found.filter(({ place }) => isVector(place.split("[")[0]));
    const missed = this.index.get(plain(step.wanted[0]?.name ?? ""));
    this.modelList.select(missed ?? (own[0] ?? found[0])?.at ?? this.before(plain));
  }

  /* A lane that is not what the model has: what it must be above what it is, and the bytes that differ. */
  unfit({ place, name, must }, plain, after) {
    const [, register, lane = 0] = /^(\w+)(?:\[(\d)\])?$/.exec(place), at = this.index.get(plain(name));
    const is = (after.values.get(register) ?? "").substr(32 * lane, 32);
    const { text, place: clause } = at === undefined ? { text: name || "what follows from the result", place: "" } : this.run.model(at);
    const verdict = node("p", { class: "aeskit-bad" }, `✗ ${place} is not ${name || "what it must be"}, different`);
    const rows = [["must be", must, is], ["     is", is, must]].map(([word, hex, other]) => node("p", { class: "aeskit-hex" }, `${word} `, ...this.apart(hex, other)));
    return node("div", { "data-kind": kindOf(name) }, node("p", {}, node("strong", {}, text)), node("p", { class: "aeskit-quiet" }, clause), ...rows, verdict);
  }

  /* Bytes in groups of four, those that differ from another's marked. */
  apart(hex, other) {
    return (hex.match(/../g) ?? []).flatMap((pair, i) => {
      const gap = i % 4 === 0 && i ? [" "] : [];
      return [...gap, pair === other.substr(2 * i, 2) ? pair : node("mark", {}, pair)];
    });
  }

  /* The model's step of the last recognised value before this step. */
  before(plain) {
    for (let at = this.at - 1; at >= Math.max(0, this.at - BACK); at--) {
      const names = Object.values(this.run.step(at).names).map((name) => this.index.get(plain(name)));
      const known = names.find((row) => row !== undefined);
      if (known !== undefined) return known;
    }
    return -1;
  }

  fit(place, name, at, step) {
    const { text, place: clause, values } = this.run.model(at);
    const value = Object.values(values)[0];
    const equal = node("p", { class: "aeskit-good" }, `✓ ${place} = ${name}${name.includes(" ⊕ ") || name.includes(" reversed") ? "" : ", equal"}`);
    return node("div", { "data-kind": kindOf(name) }, node("p", {}, node("strong", {}, text)), node("p", { class: "aeskit-quiet" }, clause), node("p", { class: "aeskit-hex" }, grouped(value)), equal);
  }
}

export function mount(raw, el) {
  el.classList.add("aeskit-room");
  return new StepsView(raw, el);
}

export default {
  render({ model, el }) {
    el.classList.add("aeskit-output");
    const view = mount(JSON.parse(model.get("trace")), el);
    return view.stop;
  },
};
