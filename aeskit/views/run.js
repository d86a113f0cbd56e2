// A trace (trace_json, version 2) as a run that can be asked: what a step did, what held after it.

const EVERY = 256; // steps from one kept state to the next: a jump replays at most as many

export const VERSION = 2;

/* What a value's name says of where its bytes come from: the key, the tweak or counter, the data. */
export function kindOf(name) {
  if (!name) return "";
  if (/^d?K\d*\[/.test(name)) return "key";
  return /^(T_\d|i\b|tweak|counter|iv\b)/.test(name) && !/^T_\d+\.round/.test(name) ? "tweak" : "data";
}

const KINDS = { d: "data", t: "tweak", k: "key", c: "" };

/* Where each lane of a register comes from: a kind a lane, or a list of 16 where its bytes are of several. */
export function lanesFrom(state, name, lanes) {
  const letters = state.origins.get(name);
  if (!letters) return Array.from({ length: lanes }, (_, lane) => kindOf(state.lanes.get(`${name}[${lane}]`)));
  if (letters.length === lanes) return [...letters].map((letter) => KINDS[letter]);
  return Array.from({ length: lanes }, (_, lane) => {
    const part = letters.slice(16 * lane, 16 * lane + 16);
    return new Set(part).size === 1 ? KINDS[part[0]] : [...part].map((letter) => KINDS[letter]);
  });
}

export const isVector = (name) => /^[xyz]mm\d+$/.test(name);
const number = (name) => Number(/\d+$/.exec(name)?.[0] ?? 0);

export class Run {
  constructor(raw) {
    if (raw?.aeskit_trace !== VERSION) throw new Error(`the trace must be of version ${VERSION}`);
    Object.assign(this, { raw, title: raw.title, source: raw.source, count: raw.steps.length });
    this.findings = raw.findings.map(([text, step]) => ({ text, step }));
    this.phases = raw.phases.map(([first, name], i) => ({ first, name, end: raw.phases[i + 1]?.[0] ?? raw.steps.length }));
    this.buffers = raw.buffers.map(([name, address, writable, hex, expected]) => ({ name, address: BigInt(address), writable, size: hex.length / 2, expected }));
    for (const buffer of this.buffers) buffer.blocks = Array.from({ length: Math.ceil(buffer.size / 16) }, () => ({ read: Infinity, written: Infinity }));
    this.kept = [];
    this.roles = new Map(); // vector register to how often each kind was seen in it
    this.seen = new Map(); // a model's name to the first step that had it
    this.names = new Set(); // registers that the run writes
    this.survey();
  }

  /* One pass over everything: kept states, roles, first sights, first touches of memory. */
  survey() {
    const state = this.start();
    this.raw.steps.forEach((row, at) => {
      if (at % EVERY === 0) this.kept.push(copy(state));
      this.apply(state, row);
      for (const name of Object.keys(row[1] ?? {})) this.names.add(name);
      for (const [place, name] of this.named(row)) this.sight(place, name, at);
      for (const [name, letters] of Object.entries(row[4] ?? {})) this.tally(name, KINDS[letters[0]]);
      for (const [buffer, offset, what] of row[3] ?? []) this.touch(this.buffers[buffer], offset, what, at);
    });
  }

  start() {
    return { values: new Map(Object.entries(this.raw.start)), lanes: new Map(), origins: new Map() };
  }

  apply(state, row) {
    for (const [name, hex] of Object.entries(row[1] ?? {})) {
      state.values.set(name, hex);
      state.lanes.delete(name);
      state.origins.delete(name);
      if (isVector(name)) for (let lane = 0; lane < hex.length / 32; lane++) state.lanes.delete(`${name}[${lane}]`);
    }
    for (const [name, letters] of Object.entries(row[4] ?? {})) state.origins.set(name, letters);
    for (const [place, name] of this.named(row)) if (!place.includes("+")) state.lanes.set(place, name);
  }

  /* The recognised values of a row: [place, name], a lane's place as zmm6[2]. */
  named(row) {
    const found = [], { names } = this.raw;
    for (const [place, index] of Object.entries(row[2] ?? {})) {
      if (!Array.isArray(index)) found.push([place, names[index]]);
      else index.forEach((one, lane) => one === null || found.push([`${place}[${lane}]`, names[one]]));
    }
    return found;
  }

  sight(place, name, at) {
    for (const part of name.split(" ⊕ ")) {
      const plain = part.replace(" reversed", "");
      if (!this.seen.has(plain)) this.seen.set(plain, at);
    }
    const register = place.replace(/\[\d+\]$/, "");
    if (isVector(register)) this.tally(register, kindOf(name));
  }

  tally(register, kind) {
    const counts = this.roles.get(register) ?? { data: 0, tweak: 0, key: 0, other: 0 };
    counts[kind || "other"]++;
    this.roles.set(register, counts);
  }

  touch(buffer, offset, what, at) {
    const size = typeof what === "string" ? what.length / 2 : what, how = typeof what === "string" ? "written" : "read";
    for (let block = offset >> 4; buffer && block < Math.ceil((offset + size) / 16); block++) {
      const found = buffer.blocks[block];
      if (found && found[how] === Infinity) found[how] = at;
    }
  }

  /* Registers and names after step `at`; -1 is before the first. */
  state(at) {
    const base = Math.floor((at + 1) / EVERY);
    const from = Math.min(base, this.kept.length - 1);
    const state = from < 0 ? this.start() : copy(this.kept[from]);
    for (let step = Math.max(from, 0) * EVERY; step <= at; step++) this.apply(state, this.raw.steps[step]);
    return state;
  }

  /* The state that step `at` leaves of the one before it. */
  follow(before, at) {
    const after = copy(before);
    this.apply(after, this.raw.steps[at]);
    return after;
  }

  step(at) {
    const [code, values = {}, , accesses = [], , wanted = {}] = this.raw.steps[at];
    const [text, where, line] = this.raw.code[code], place = this.raw.places[where];
    return { at, text, place, line, values, names: Object.fromEntries(this.named(this.raw.steps[at])), accesses: accesses.map((access) => this.access(access)), wanted: this.wanted(wanted) };
  }

  /* Lanes that are not what the model has there: place, the model's name or "", the bytes that must be there. */
  wanted(row) {
    return Object.entries(row).map(([place, [name, must]]) => ({ place, name: this.raw.names[name], must }));
  }

  access([buffer, offset, what]) {
    const written = typeof what === "string";
    return { buffer: this.buffers[buffer]?.name ?? "", index: buffer, offset, size: written ? what.length / 2 : what, written, data: written ? what : "" };
  }

  phase(at) {
    let low = 0, high = this.phases.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.phases[middle].first <= at) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /* Vector registers that the run writes, in groups by what they hold most of the time. */
  groups() {
    const groups = { data: [], tweak: [], key: [], other: [] };
    for (const name of [...this.names].filter(isVector).sort((a, b) => number(a) - number(b))) {
      const counts = Object.entries(this.roles.get(name) ?? {}).sort((a, b) => b[1] - a[1]);
      groups[counts[0]?.[1] ? counts[0][0] : "other"].push(name);
    }
    return groups;
  }

  scalars() {
    return [...this.names].filter((name) => !isVector(name) && name !== "flags");
  }

  /* An address by the buffer that it points into or behind; empty if none. */
  pointer(address) {
    const buffer = this.buffers.find((one) => one.address <= address && address <= one.address + BigInt(one.size));
    return buffer ? `${buffer.name}${address > buffer.address ? `+${address - buffer.address}` : ""}` : "";
  }

  model(at) {
    const [code, ...pairs] = this.raw.model[at];
    const [text, where] = this.raw.code[code], place = this.raw.places[where];
    const values = {};
    for (let i = 0; i < pairs.length; i += 2) values[this.raw.names[pairs[i]]] = pairs[i + 1];
    const steps = Object.keys(values).map((name) => this.seen.get(name)).filter((step) => step !== undefined);
    return { text: text ?? Object.keys(values)[0], place, values, first: steps.length ? Math.min(...steps) : undefined };
  }

  /* The model's steps by the names that they set. */
  modelIndex() {
    const index = new Map();
    this.raw.model.forEach(([, ...pairs], at) => {
      for (let i = 0; i < pairs.length; i += 2) if (!index.has(this.raw.names[pairs[i]])) index.set(this.raw.names[pairs[i]], at);
    });
    return index;
  }
}

const copy = ({ values, lanes, origins }) => ({ values: new Map(values), lanes: new Map(lanes), origins: new Map(origins) });
