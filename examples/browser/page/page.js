// SPDX-License-Identifier: Apache-2.0
//
// The page that counts in the browser: reads the form, calls the program (floptally_browser.cpp) and shows its JSON.
// Text from the user or from the program enters the page as text nodes only.

"use strict";

const form = document.getElementById("input");
const fields = form.elements;
const at = (id) => document.getElementById(id);

/** What the form has at first: the step of the README. The link leaves out whatever equals it. */
const FIRST = {
  model: "mistralai/Mistral-7B-v0.1", config: "", form: "cu-seqlens", batch: "0,700,6000,8100", row: "", convention: "exact",
  recompute: "none", seconds: "0.9", gpus: "1", accelerator: "H100 SXM", precision: "bf16", layout: "", zero: "none", options: "",
};
const HINTS = {
  lengths: "Tokens of each sequence: 512,1024. A batch of 16 rows of 2048 tokens is 2048x16.",
  "cu-seqlens": "Boundaries of the documents in a packed sequence: 0,512,1536.",
};
/** The field of the form that an error of the program is about. Other fields are of the config. */
const FIELDS = {
  lengths: "batch", cu_seqlens: "batch", row_length: "row", convention: "convention", seconds: "seconds", gpus: "gpus",
  accelerator: "accelerator", precision: "precision", layout: "layout", zero: "zero",
};

const COMMANDS = ["flops", "mfu", "compare", "waterfall", "fit"];

let library = null;
let begun = 0;
let published = new Map();
const knownOptions = new Map();
/** The config's text for a published model, which the text area shows. */
let shownConfig = "";

// ---- the library ----

/** What the program prints for a command line. Throws {message, field} for what it refuses. */
function run(words, config = "") {
  const request = JSON.stringify({arguments: words, config});
  const answer = JSON.parse(library.ccall("floptally_answer", "string", ["string"], [request]));
  if ("error" in answer) {
    throw Object.assign(new Error(answer.error), {field: answer.field});
  }
  return answer.output;
}
const runJson = (words, config) => JSON.parse(run([...words, "--format", "json"], config));

/** The options that a command's help names. */
function optionsOf(command) {
  if (!knownOptions.has(command)) {
    const lines = run([command, "--help"]).matchAll(/^ +(?:-\w, )?(--[a-z-]+)/gm);
    knownOptions.set(command, new Set([...lines].map(([, name]) => name)));
  }
  return knownOptions.get(command);
}

/** Words of a command line, with quotes as a shell has them: [["--weights", "*=frozen"], …], an option with its values. */
function splitOptions(text) {
  const options = [];
  for (const [, part] of text.matchAll(/((?:'[^']*'|"[^"]*"|[^\s'"])+)/g)) {
    const word = part.replace(/'([^']*)'|"([^"]*)"/g, (_, one, two) => one ?? two);
    if (word.startsWith("--") || options.length === 0) {
      options.push([]);
    }
    options.at(-1).push(word);
  }
  return options;
}

// ---- elements ----

/** An element with attributes and children. Strings become text nodes. */
function make(name, attributes = {}, ...children) {
  const vector = name === "svg" || name === "rect";
  const element = vector ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}

/** Replaces what a section shows below its heading. */
function show(section, ...children) {
  const heading = section.querySelector("h2");
  section.replaceChildren(...(heading ? [heading] : []), ...children);
  section.hidden = false;
}

/** A bar from one fraction of the width to another. */
function bar(kind, to, from = 0) {
  const percent = (x) => `${(100 * Math.min(Math.max(x, 0), 1)).toFixed(3)}%`;
  return make("svg", {class: "bar", "aria-hidden": "true"},
    make("rect", {class: kind, x: percent(from), width: percent(Math.max(to - from, 0)), height: "100%"}));
}

/** Rows of cells. The first cell of a row is its heading. */
function table(kind, head, rows) {
  const line = (cells, name) => make("tr", {}, ...cells.map((cell, i) => {
    const attributes = i === 0 && name === "td" ? {scope: "row"} : name === "th" ? {scope: "col"} : {};
    return make(i === 0 ? "th" : name, attributes, cell);
  }));
  return make("div", {class: "scroll"}, make("table", {class: kind}, make("thead", {}, line(head, "th")),
    make("tbody", {}, ...rows.map((cells) => line(cells, "td")))));
}

/** An integer of any size with thin spaces between groups of three digits. */
const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, "\u202f");

/** Four digits and a unit: "495.3 TFLOP". For a picture; tables show every digit. */
function rounded(digits, unit) {
  const letters = ["", "k", "M", "G", "T", "P", "E", "Z", "Y"];
  const number = Number(digits);
  const power = Math.min(Math.max(Math.floor(Math.log10(Math.max(Math.abs(number), 1)) / 3), 0), letters.length - 1);
  return `${(number / 1000 ** power).toPrecision(4)} ${letters[power]}${unit}`;
}
const percent = (x, digits = 2) => `${(100 * x).toFixed(digits)} %`;
const gib = (bytes) => (Number(bytes) / 2 ** 30).toFixed(2);

// ---- what the form says ----

const values = () => Object.fromEntries(Object.keys(FIRST).map((name) => [name, fields[name].value.trim()]));

/** The config's text: of the text area, which a published model fills. */
const configText = () => fields.config.value;

function batchOptions(state) {
  const words = [`--${state.form}`, state.batch];
  return state.row ? [...words, "--row-length", state.row] : words;
}

/** The command line for one command. `parts` are options of the form that it takes. */
function commandLine(command, state, parts) {
  const words = [command, "--config", "-", ...batchOptions(state), ...parts];
  if (state.recompute !== "none") {
    words.push("--recompute", state.recompute);
  }
  for (const [option, ...rest] of splitOptions(state.options)) {
    // An option that no command knows is an error of the first one.
    const takes = (other) => optionsOf(other).has(option.split("=")[0]);
    if (takes(command) || (command === "mfu" || command === "flops") && !COMMANDS.some(takes)) {
      words.push(option, ...rest);
    }
  }
  return words;
}

function stepOptions(state) {
  const words = state.seconds ? ["--seconds", state.seconds] : [];
  for (const name of ["gpus", "accelerator"]) {
    words.push(...(state[name] ? [`--${name}`, state[name]] : []));
  }
  return state.precision === "bf16" ? words : [...words, "--precision", state.precision];
}

// ---- what the page shows ----

function showNumbers(report) {
  const figures = [[`${grouped(report.flops.useful.total)}`, "FLOPs, useful"]];
  if (report.mfu) {
    figures.push([percent(report.mfu.useful), "MFU"], [percent(report.mfu.padded), "padded MFU"], [percent(report.mfu.executed), "HFU"],
      [report.mfu.tflops_per_gpu.toFixed(1), "TFLOP/s per GPU"], [grouped(report.mfu.tokens_per_second.toFixed(0)), "tokens/s"]);
  } else {
    figures.push([grouped(report.flops.padded.total), "padded"], [grouped(report.flops.executed.total), "executed"]);
  }
  const {tokens, count} = report.statistics;
  const lines = [`${report.model_type}: ${grouped(report.parameters.total)} parameters, ${grouped(count.useful)} sequences, ` +
    `${grouped(tokens.useful)} tokens, convention ${report.convention}.`];
  if (report.mfu) {
    const {peak_tflops: peak, accelerator, precision} = report.mfu;
    lines.push(`Peak: ${peak} TFLOP/s${accelerator ? `, ${accelerator} in ${precision}` : ""}.`);
  }
  show(at("numbers"), make("dl", {}, ...figures.map(([value, name]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)))),
    ...lines.map((line) => make("p", {class: "hint"}, line)), ...report.notes.map((note) => make("p", {class: "note"}, note)));
}

function showComponents({flops}) {
  const views = ["useful", "padded", "executed"];
  const all = Number(flops.useful.total);
  const totals = views.map((view) => new Map(flops[view].components.map(({name, total}) => [name, total])));
  const names = [...new Set(totals.flatMap((view) => [...view.keys()]))];
  const row = (name, digits) => [name, ...digits.map((total) => grouped(total)), make("span", {class: "share"},
    bar("main", all > 0 ? Number(digits[0]) / all : 0), all > 0 ? percent(Number(digits[0]) / all, 1) : "–")];
  const rows = names.map((name) => row(name, totals.map((view) => view.get(name) ?? "0")));
  rows.push(row("total", views.map((view) => flops[view].total)));
  show(at("components"), table("components", ["FLOPs", ...views, "of the useful"], rows));
}

function showConventions(report, state) {
  const exact = Number(report.exact);
  // A bar ends at twice the exact count: 6ND of a mixture of experts would make all others short.
  const most = Math.min(Math.max(...report.conventions.map(({total}) => Number(total))), 2 * exact);
  const rows = report.conventions.map(({name, total}) => {
    const ratio = Number(total) / exact;
    const beyond = total === report.exact ? "equal" : (ratio > 1 ? "+" : "−") + percent(Math.abs(ratio - 1), Math.abs(ratio - 1) < 0.001 ? 4 : 1);
    const kind = name === "exact" ? "main" : "other";
    const parts = name.split("_").flatMap((part, i) => i === 0 ? [part] : [make("wbr"), `_${part}`]);
    return [make("span", name === state.convention ? {class: "chosen"} : {}, ...parts), bar(kind, most > 0 ? Number(total) / most : 0),
      make("span", {title: grouped(total)}, rounded(total, "FLOP")), beyond];
  });
  show(at("conventions"), table("bars", ["convention", "", "total", "against exact"], rows));
}

function showWaterfall(report) {
  const [useful, ...others] = report.lines;
  const known = others.filter((line) => line.known && Number(line.gpu_nanoseconds) !== 0);
  let top = 1;
  const rows = [["peak", bar("other", 1), percent(1), ""]];
  for (const line of known) {
    rows.push([line.name, bar("lost", top, top - line.share_of_peak), `−${percent(line.share_of_peak)}`, line.usually_helps]);
    top -= line.share_of_peak;
  }
  rows.push(["measured MFU", bar("main", useful.share_of_peak), percent(useful.share_of_peak), useful.assumed]);
  const rest = report.not_known.length === 0 ? [] : [make("p", {class: "hint"},
    `Not known, and part of the last loss: ${report.not_known.join(", ")}. Options such as --apart data_wait=0.02 state them.`)];
  show(at("waterfall"), table("bars wide", ["of the peak", "", "", "what usually helps"], rows), ...rest);
}

function showMemory(report, state) {
  const columns = ["weights", "gradients", "optimizer", "activations", "logits", "cache", "buffers", "total"];
  const used = columns.filter((name) => name === "total" || report.stages.some(({held}) => held[name] !== "0"));
  const rows = report.stages.map(({held}, i) => [`stage ${i}`, ...used.map((name) => gib(held[name]))]);
  const own = report.accelerators.find(({name}) => name === state.accelerator);
  const holding = report.accelerators.filter(({fits}) => fits).map(({name, memory_gib}) => `${name} (${memory_gib} GiB)`);
  const lines = [holding.length > 0 ? `Accelerators that hold it: ${holding.join(", ")}.` : "No known accelerator holds it."];
  if (own) {
    lines.unshift(`${own.name} has ${own.memory_gib} GiB: it ${own.fits ? "fits" : "does not fit"}.`);
  }
  show(at("memory"), table("memory", ["GiB of one GPU", ...used], rows),
    ...lines.map((line, i) => make("p", {class: own && i === 0 ? (own.fits ? "fits" : "note") : "hint"}, line)));
}

function quoted(word) {
  return /^[\w,.:=/@+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** One part of the output. What the program refuses stands in its place. */
function section(name, fill) {
  try {
    fill();
  } catch (problem) {
    show(at(name), make("p", {class: "error"}, problem.message));
  }
}

/** Counts what the form says. The FLOPs stand first; the browser may paint them before the other parts are there. */
async function count() {
  const own = ++begun;
  const showRest = showFirst();
  await new Promise((resolve) => { setTimeout(resolve); });
  if (own === begun) {
    showRest();
    at("output").dataset.counts = Number(at("output").dataset.counts ?? 0) + 1;  // tests wait for it
  }
}

/** Shows FLOPs and rates, or what is wrong. Returns what shows the other parts. */
function showFirst() {
  const state = values();
  const config = configText();
  at("loading").hidden = true;
  at("batch-hint").textContent = HINTS[state.form];
  for (const element of fields) {
    element.removeAttribute("aria-invalid");
  }
  const step = stepOptions(state);
  const main = state.seconds ? "mfu" : "flops";
  const how = state.convention === "exact" ? [] : ["--convention", state.convention];
  const sections = ["numbers", "components", "conventions", "waterfall", "memory", "again"];
  try {
    const words = commandLine(main, state, [...(state.seconds ? step : []), ...how]);
    const report = runJson(words, config);
    at("error").hidden = true;
    showNumbers(report);
    showComponents(report);
    words[2] = "config.json";
    show(at("again"), make("pre", {}, `floptally ${words.map(quoted).join(" ")}`));
  } catch (problem) {
    sections.forEach((name) => { at(name).hidden = true; });
    at("error").textContent = problem.message;
    at("error").hidden = false;
    fields[FIELDS[problem.field?.replace(/\[.*/, "")] ?? "config"].setAttribute("aria-invalid", "true");
    return () => {};
  }
  performance.mark("first number");
  return () => showRest(state, config, step);
}

function showRest(state, config, step) {
  section("conventions", () => showConventions(runJson(commandLine("compare", state, []), config), state));
  at("waterfall").hidden = !state.seconds;
  if (state.seconds) {
    const layout = state.layout ? ["--layout", state.layout] : [];
    section("waterfall", () => showWaterfall(runJson(commandLine("waterfall", state, [...step, ...layout]), config)));
  }
  section("memory", () => {
    const layout = state.layout ? ["--layout", state.layout] : [];
    const zero = state.zero === "none" ? [] : ["--zero", state.zero];
    showMemory(runJson(commandLine("fit", state, [...layout, ...zero, "--gpus-of"]), config), state);
  });
}

// ---- the input: models, files, the link ----

function showModel() {
  const entry = published.get(fields.model.value);
  const terms = at("terms");
  terms.replaceChildren();
  if (entry) {
    terms.append("Sizes from ", make("a", {href: entry.source, rel: "noopener noreferrer"}, entry.repository), `. Terms of the model: ${entry.terms}.`);
    shownConfig = JSON.stringify(entry.config, null, 1);
    fields.config.value = shownConfig;
  } else if (fields.model.value) {
    terms.append("No published config has this name. The config below is counted.");
  }
}

function showConvention() {
  at("summary").textContent = fields.convention.selectedOptions[0]?.title ?? "";
}

/** Writes the input after the # of the address. A published model stands there by its name. */
function writeLink() {
  const link = new URLSearchParams();
  const state = values();
  state.config = published.has(state.model) ? "" : fields.config.value;
  for (const [name, value] of Object.entries(state)) {
    if (value !== FIRST[name]) {
      link.set(name, value);
    }
  }
  const text = link.toString();
  history.replaceState(null, "", text ? `#${text}` : location.pathname + location.search);
}

function readLink() {
  const link = new URLSearchParams(location.hash.slice(1));
  for (const [name, value] of Object.entries(FIRST)) {
    fields[name].value = link.get(name) ?? value;
    if (fields[name].value === "" && fields[name].options) {
      fields[name].value = value;  // a choice that this version lacks
    }
  }
  showModel();
  showConvention();
}

function takeFile(file) {
  file?.text().then((text) => {
    fields.config.value = text;
    fields.config.dispatchEvent(new Event("input", {bubbles: true}));
  });
}

let pending = 0;
form.addEventListener("input", ({target}) => {
  if (target.name === "model") {
    showModel();
  } else if (target.name === "config" && target.value !== shownConfig) {
    fields.model.value = "";
    at("terms").replaceChildren();
  } else if (target.name === "convention") {
    showConvention();
  } else if (target.name === "form") {
    fields.batch.value = target.value === "lengths" ? "2048x4" : FIRST.batch;
  }
  clearTimeout(pending);
  pending = setTimeout(() => { writeLink(); count(); }, 50);
});
form.addEventListener("submit", (event) => event.preventDefault());
at("file").addEventListener("change", ({target}) => { takeFile(target.files[0]); target.value = ""; });
for (const kind of ["dragover", "drop"]) {
  document.addEventListener(kind, (event) => {
    if (event.dataTransfer?.types.includes("Files")) {
      event.preventDefault();
      takeFile(kind === "drop" ? event.dataTransfer.files[0] : null);
    }
  });
}
at("link").addEventListener("click", ({target}) => {
  writeLink();
  if (navigator.clipboard) {
    navigator.clipboard.writeText(location.href).then(() => { target.textContent = "Copied"; });
  } else {
    target.textContent = "Copy it from the address bar";  // no clipboard without https
  }
});
window.addEventListener("hashchange", () => { readLink(); count(); });

// ---- the start ----

async function start() {
  try {
    const configs = fetch("configs.json").then((response) => response.json());
    [library, configs.list] = await Promise.all([floptally(), configs]);
    published = new Map(configs.list.map((entry) => [entry.name, entry]));
    fields.convention.replaceChildren(...runJson(["conventions"]).conventions.map(({name, summary}) =>
      make("option", {value: name, title: summary}, name)));
    readLink();
    await count();
    fillLists();
  } catch (problem) {
    at("loading").textContent = `The library could not be loaded: ${problem.message}. This page needs a web server and WebAssembly.`;
  }
}

/** What the form suggests: published models, and the accelerators that the library knows. */
function fillLists() {
  at("models").replaceChildren(...[...published.keys()].map((name) => make("option", {value: name})));
  fields.model.placeholder = `Search ${published.size} models`;
  const {accelerators, version} = runJson(["accelerators"]);
  at("accelerators").replaceChildren(...accelerators.map(({name}) => make("option", {value: name})));
  at("version").textContent = `floptally ${version}`;
}

start();
