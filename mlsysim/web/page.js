// The page: inputs left, the answer right. Its state is the fragment of its address.

const WAIT = 60, BUDGET = 25, POINTS = 160, KEPT = ["variant", "plot", "over", "formula"];
const state = { variant: DATA.first, plot: "", over: "", formula: "", typed: { ...DATA.example } };
const byId = (id) => document.getElementById(id);
const variableOf = (name) => DATA.variables[name];
const labelOf = (name) => (variableOf(name) || { label: labelBy(name) }).label;
let answer = null, waiting = 0, drawing = 0;

/** An element with attributes and children; names that begin with "on" are listeners. */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Text with the pages that it names as links, where they stand beside the calculator. */
function linked(text) {
  const { pages } = byId("calculator").dataset;
  if (!pages) return [text];
  return text.split(/\bdocs\/(\w+)\.md/).map((part, place) => place % 2 ? element("a", { href: `${pages}/${part}.html` }, part.replaceAll("_", " ")) : part);
}

/** What is typed for the present variant. */
function typedHere() {
  const here = DATA.variants[state.variant].arguments;
  return Object.fromEntries(here.filter((name) => state.typed[name]).map((name) => [name, state.typed[name]]));
}

/** A value in words: numbers that are none, truth values and units. */
function inWords(name, value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (value === Infinity) return "infinite";
  if (Number.isNaN(value)) return "undefined (zero over zero)";
  const variable = variableOf(name);
  if (variable.kind === "flag") return value ? "yes" : "no";
  return asText(variable, value);
}

// The form.

/** Type what a recipe gives, in place of all that was typed. */
function follow(event) {
  const recipe = DATA.recipes[event.target.value];
  if (!recipe) return;
  [state.variant, state.typed] = [recipe.variant, { ...recipe.typed }];
  byId("variant").value = state.variant;
  build();
  update();
}

function build() {
  const chosen = DATA.variants[state.variant], isSlot = (name) => name in DATA.slots;
  const keywords = new Set(chosen.keywords), asked = new Set([...Object.keys(DATA.example), ...Object.keys(state.typed)]);
  const given = new Set(chosen.arguments.filter(isSlot).flatMap((name) => DATA.slots[name].gives));
  const isFirst = (name) => asked.has(name) || (!(name in chosen.defaults) && !given.has(name));
  const rest = chosen.arguments.filter((name) => !isSlot(name));
  const first = rest.filter(isFirst), more = rest.filter((name) => !isFirst(name) && keywords.has(name));
  const instead = rest.filter((name) => !isFirst(name) && !keywords.has(name));
  const group = (title, names, folded) => {
    if (!names.length) return "";
    const fields = element("div", { class: "fields" }, ...names.map(field));
    if (!folded) return element("section", {}, element("h2", {}, title), fields);
    return element("details", {}, element("summary", {}, `${title} (${names.length})`), fields);
  };
  byId("inputs").replaceChildren(
    group("From the catalog", chosen.arguments.filter(isSlot)),
    group("Inputs", first),
    group("More inputs", more, true),
    group("In place of the catalog", instead, true),
  );
  byId("about").replaceChildren(...linked(chosen.about));
  const numbers = chosen.formulas.map((place) => ROWS[place].name);
  if (!numbers.includes(state.plot)) state.plot = [DATA.answer, ...chosen.headline].find((name) => numbers.includes(name));
  const steps = rest.filter((name) => !["choice", "flag"].includes(variableOf(name).kind));
  if (!steps.includes(state.over)) state.over = first.find((name) => steps.includes(name) && keywords.has(name)) || steps[0];
  if (!numbers.includes(state.formula)) state.formula = state.plot;
  const option = (name, now) => element("option", { value: name, selected: name === now }, labelOf(name));
  const others = numbers.filter((name) => !chosen.headline.includes(name));
  byId("plot").replaceChildren(
    element("optgroup", { label: "Answer" }, ...chosen.headline.map((name) => option(name, state.plot))),
    element("optgroup", { label: "On the way" }, ...others.map((name) => option(name, state.plot))),
  );
  byId("over").replaceChildren(...steps.map((name) => option(name, state.over)));
}

/** A labelled input of an argument, with its unit and room for a refusal. */
function field(name) {
  const id = `in-${name}`, slot = DATA.slots[name], variable = variableOf(name);
  const attributes = { id, "aria-describedby": `no-${name}`, title: slot ? `Gives ${slot.gives.map(labelOf).join(", ")}` : variable.about };
  const type = (event) => {
    state.typed[name] = event.target.value.trim();
    update();
  };
  const choices = slot ? Object.entries(slot.entries).map(([key, entry]) => [key, entry.name])
    : variable.kind === "flag" ? [["True", "yes"], ["False", "no"]]
    : variable.kind === "choice" ? variable.labels.map((label) => [label, label]) : null;
  let input;
  if (choices) {
    const now = state.typed[name] || "";
    const options = choices.map(([key, text]) => element("option", { value: key, selected: key === now }, text));
    input = element("select", { ...attributes, onchange: type }, element("option", { value: "" }, "—"), ...options);
  } else {
    input = element("input", { ...attributes, oninput: type, value: state.typed[name] || undefined, autocomplete: "off", spellcheck: "false", inputmode: variable.unit ? "text" : "decimal" });
  }
  const unit = variable && variable.shown && !choices ? element("span", { class: "unit" }, variable.shown) : "";
  return element("div", { class: `field${slot ? " wide" : choices ? " chosen" : ""}`, "data-name": name },
    element("label", { for: id }, labelOf(name)), input, unit, element("p", { class: "no", id: `no-${name}` }));
}

/** What holds where nothing is typed: the placeholder of each field. */
function hint({ values, origins }) {
  for (const each of byId("inputs").querySelectorAll(".field")) {
    const name = each.dataset.name, input = byId(`in-${name}`), slot = DATA.slots[name];
    const value = values[name], variable = variableOf(name);
    let text = slot ? (slot.default ? DATA.slots[name].entries[slot.default].name : "none") : "";
    if (!slot && value !== undefined && origins[name] !== "given") {
      text = variable.kind === "choice" || variable.kind === "flag" ? inWords(name, value)
        : general(fromCanonical(value, variable.factor), 6);
    }
    if (input.tagName === "SELECT") {
      if (!state.typed[name]) input.options[0].textContent = text || (slot ? "none" : "choose");
      else input.options[0].textContent = "as without a choice";
    } else input.placeholder = text || "needed";
    if (!slot) input.dataset.origin = origins[name] || "";
  }
}

// The answer.

function update() {
  const start = performance.now(), typed = typedHere(), bind = bound(DATA, state.variant, typed);
  hint(bind);
  const refused = new Map(bind.refusals.map((each) => [each.argument, each.message]));
  for (const each of byId("inputs").querySelectorAll(".field")) {
    const message = refused.get(each.dataset.name) || "", input = byId(`in-${each.dataset.name}`);
    each.querySelector(".no").textContent = message;
    if (message) {
      input.setAttribute("aria-invalid", "true");
      for (let up = each.parentElement; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    } else input.removeAttribute("aria-invalid");
  }
  byId("refusal").replaceChildren(...bind.refusals.slice(0, 1).map((each) => element("p", {}, each.message)));
  byId("result").hidden = !answer && bind.refusals.length > 0;
  for (const id of ["result", "strip"]) byId(id).classList.toggle("old", bind.refusals.length > 0);
  if (!bind.refusals.length) {
    answer = { bind, found: evaluated(DATA, state.variant, bind) };
    showNumbers();
  }
  remember();
  clearTimeout(waiting);
  waiting = setTimeout(showRest, WAIT);
  document.body.dataset.milliseconds = (performance.now() - start).toFixed(2);
}

function showNumbers() {
  const { headline, parts } = DATA.variants[state.variant], { found } = answer;
  const shown = headline.filter((name) => found[name] !== undefined), within = new Set();
  const isWhole = (total, each) => each.reduce((sum, name) => sum + found[name], 0) <= found[total] * (1 + 1e-9);
  const totals = Object.entries(parts).filter(([total, each]) => [total, ...each].every((name) => shown.includes(name)) && isWhole(total, each) && Number.isFinite(found[total]));
  totals.forEach(([, each]) => each.forEach((name) => within.add(name)));
  const rows = [];
  const add = (name, total, share) => {
    const own = totals.find(([each]) => each === name);
    rows.push(row(name, total || (own && name), share));
    for (const part of own ? own[1] : []) add(part, name, found[part] / found[name]);
  };
  shown.filter((each) => !within.has(each)).forEach((name) => add(name));
  byId("numbers").replaceChildren(...rows);
  byId("numbers").classList.toggle("parted", totals.length > 0);
  const lost = headline.filter((name) => found[name] === undefined);
  byId("lost").textContent = lost.length ? `Left out for want of inputs: ${lost.map(labelOf).join(", ")}` : "";
  const { stack, error } = basis(DATA, state.variant, typedHere(), answer.bind, found);
  byId("basis").replaceChildren(element("dt", {}, "Stack"), element("dd", {}, stack), element("dt", {}, "Expected error"), element("dd", {}, ...linked(error)));
  const known = notes(DATA, state.variant, typedHere(), found);
  byId("notes").replaceChildren(...known.map((each) => element("li", {}, ...linked(each))));
  const main = found[DATA.answer] !== undefined ? DATA.answer : shown[0];
  const verdict = shown.find((name) => typeof found[name] === "boolean");
  const summary = () => [
    element("span", { class: "what" }, labelOf(main)),
    element("span", { class: "much" }, inWords(main, found[main])),
    verdict && verdict !== main ? element("span", { class: `verdict ${found[verdict] ? "yes" : "not"}` }, `${labelOf(verdict)}: ${inWords(verdict, found[verdict])}`) : "",
  ];
  byId("main").replaceChildren(...summary());
  byId("strip").replaceChildren(...summary());
}

/** A number of the answer; a total and its parts have its unit and decimals in common, and a part has a bar. */
function row(name, total, share) {
  const { found } = answer, value = found[name], isPart = share !== undefined;
  const text = total ? inUnitOf(variableOf(total), value, found[total]) : inWords(name, value);
  const name_ = element("button", { type: "button", class: "link", title: variableOf(name).about, onclick: () => explain(name) }, labelOf(name));
  const width = Number.isFinite(share) ? Math.max(0, Math.min(100, share * 100)).toFixed(2) : 0;
  const bar = isPart ? element("span", { class: "bar", style: `width:${width}%` }) : "";
  return element("tr", { class: isPart ? "part" : "" }, element("th", { scope: "row" }, name_),
    element("td", { class: "value", "data-output": name }, text), element("td", { class: "share" }, bar));
}

/** An amount in the unit of a total, with the decimals that show the total to five digits; nothing is a bare zero. */
function inUnitOf(variable, value, total) {
  const size = fromCanonical(total, variable.factor), amount = fromCanonical(value, variable.factor);
  if (!(size >= 1e-2 && size < 1e6)) return value === Infinity ? "infinite" : asText(variable, value);
  const decimals = Math.max(0, 4 - Math.floor(Math.log10(size)));
  return `${amount ? fixed(amount, decimals) : "0"} ${variable.shown || ""}`.trim();
}

function showRest() {
  if (!answer || byId("result").classList.contains("old")) return;
  showFormula();
  const ticket = ++drawing, [output, over] = [state.plot, state.over], variable = variableOf(over);
  const places = neededFor(DATA, state.variant, output), { bind, found } = answer;
  const typed = typedHere(), points = [], present = fromCanonical(found[over], variable.factor);
  const xs = swept(variable, found[over] ?? toCanonical(1, variable.factor), POINTS);
  let refused = 0, infinite = 0, next = 0;
  // A deployment takes milliseconds a point: the curve is drawn in slices, so that a key is never kept waiting.
  const slice = () => {
    if (ticket !== drawing) return;
    const end = performance.now() + BUDGET;
    while (next < xs.length && performance.now() < end) {
      const x = xs[next++], at = bound(DATA, state.variant, { ...typed, [over]: repr(x, Number.isInteger(x)) });
      const y = at.refusals.length ? NaN : Number(evaluated(DATA, state.variant, at, places)[output]);
      refused += at.refusals.length > 0;
      infinite += y === Infinity;
      if (!at.refusals.length || variable.kind !== "integer") points.push([x, fromCanonical(y, variableOf(output).factor)]);
    }
    if (next < xs.length) return void setTimeout(slice);
    const named = (name) => `${labelOf(name)}${variableOf(name).shown ? ` [${variableOf(name).shown}]` : ""}`;
    byId("curve").innerHTML = curve(points, [present, fromCanonical(Number(found[output]), variableOf(output).factor)], named(over), named(output), Math.max(300, byId("curve").clientWidth));
    const notes = [refused && `${refused} of ${xs.length} points are refused`, infinite && `${infinite} are infinite`];
    byId("left-out").textContent = notes.filter(Boolean).join("; ");
    byId("curve").dataset.drawn = `${output} ${over}`;
  };
  slice();
}

// Formulas.

/** The marks of a formula replaced: symbols, and cases by their rows. */
function typeset(text, symbol, choose) {
  let at = 0;
  const read = (ends) => {
    let out = "";
    while (at < text.length && !ends.includes(text[at])) {
      const sign = text[at];
      if (sign === "«") {
        const end = text.indexOf("»", at);
        out += symbol(NAMES[text.slice(at + 1, end)], text[end + 1] === "^");
        at = end + 1;
      } else if (sign === "§") {
        const end = text.indexOf("¶", at), place = Number(text.slice(at + 1, end)), rows = [];
        at = end;
        while (text[at] === "¶") {
          at++;
          const value = read("¬");
          at++;
          rows.push([value, read("¶¤")]);
        }
        at++;
        out += choose(place, rows);
      } else {
        out += sign;
        at++;
      }
    }
    return out;
  };
  return read("");
}

const SIGNS = { "%": "\\%", "µ": "\\mu ", "·": "\\cdot ", "²": "^2", "³": "^3", "∞": "\\infty", "$": "\\$", _: "\\_", " ": "\\ " };
const inTex = (text) => text.replace(/[%µ·²³∞$_ ]/g, (sign) => SIGNS[sign]);

/** A value as TeX: number, power of ten and unit; labels as words. */
function valueTex(name, value) {
  const variable = variableOf(name);
  if (typeof value === "boolean" || variable.kind === "choice") return `\\text{${inWords(name, value).replace(/_/g, "\\_")}}`;
  const [, number, power, unit] = /^(-?[\d.]+|-?∞|nan)(?:e(-?\d+))?(?: (.*))?$/.exec(asText(variable, value)) || [, "?"];
  return `${number.replace("∞", "\\infty ").replace("nan", "\\text{undefined}")}${power ? ` \\times 10^{${power}}` : ""}${unit ? `\\,\\mathrm{${inTex(unit)}}` : ""}`;
}

function showFormula() {
  const { found, bind } = answer, { formulas, texts } = DATA.variants[state.variant];
  const at = formulas.findIndex((place) => ROWS[place].name === state.formula);
  const name = state.formula, { needs } = ROWS[formulas[at]], [text, cases, takesNumbers] = DATA.texts[texts[at]];
  const brace = (_, rows) => `\\begin{cases} ${rows.map(([value, when]) => `${value} & ${when}`).join(" \\\\ ")} \\end{cases}`;
  const holds = (place, rows) => {
    const { compute, needs: asked } = ROWS[cases[place]];
    return `{${rows[compute(...asked.map((each) => found[each]))]?.[0] ?? "\\text{undefined}"}}`;
  };
  const put = (each, raised) => (raised ? `\\left(${valueTex(each, found[each])}\\right)` : valueTex(each, found[each]));
  const left = variableOf(name).latex, lines = [`${left} = ${typeset(text, (each) => variableOf(each).latex, brace).replaceAll("¦", " ")}`];
  const value = found[name];
  if (value !== undefined) {
    if (takesNumbers && needs.length) lines.push(`\\phantom{${left}} = ${typeset(text, put, holds).replaceAll("¦", " \\cdot ")}`);
    lines.push(`\\phantom{${left}} = ${valueTex(name, value)}`);
  }
  byId("formula-name").textContent = labelOf(name);
  byId("formula-about").textContent = variableOf(name).about;
  byId("equations").replaceChildren(...lines.map((line, place) => {
    const said = ["Formula", lines.length > 2 ? "Numbers put in" : "Value", "Value"][place];
    const made = element("div", { class: "equation", tabindex: "0", role: "group", "aria-label": said });
    katex.render(line, made, { throwOnError: false, strict: false });
    return made;
  }));
  const computed = new Set(formulas.map((place) => ROWS[place].name));
  byId("needs").replaceChildren(...needs.map((each) => element("li", {},
    computed.has(each) ? element("button", { type: "button", class: "link", onclick: () => explain(each) }, labelOf(each)) : element("span", {}, labelOf(each)),
    ` ${found[each] === undefined ? "not given" : inWords(each, found[each])}`,
    element("small", {}, computed.has(each) ? "" : ` ${bind.origins[each] || ""}`))));
  byId("equations").dataset.shown = name;
}

function explain(name) {
  state.formula = name;
  remember();
  showRest();
  byId("formula").scrollIntoView({ block: "nearest" });
}

// Links and copies.

function remember() {
  const typed = typedHere(), kept = new URLSearchParams();
  KEPT.forEach((name) => kept.set(name, state[name]));
  Object.entries(typed).forEach(([name, text]) => kept.set(name, text));
  history.replaceState(null, "", `#${kept}`);
}

function recall() {
  const kept = new URLSearchParams(location.hash.slice(1));
  if (![...kept].length) return;
  state.typed = {};
  for (const [name, text] of kept) {
    if (!KEPT.includes(name)) state.typed[name] = text;
    else if (name !== "variant" || text in DATA.variants) state[name] = text;
  }
}

/** The values that were typed, as Python and a shell write them. */
function literal(name, text) {
  const variable = variableOf(name);
  if (variable && variable.kind === "flag") return YES.test(text) ? "True" : "False";
  if (variable && variable.kind !== "choice" && (WHOLE.test(text) || DECIMAL.test(text))) return repr(Number(text.replace(/_/g, "")), WHOLE.test(text));
  return `'${text.replace(/[\\']/g, "\\$&")}'`;
}
const shellWord = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replace(/'/g, `'"'"'`)}'`);

function asPython() {
  const given = Object.entries(typedHere()).map(([name, text]) => `    ${name}=${literal(name, text)},\n`);
  return `from ${DATA.module} import ${DATA.model}\n\nresult = ${DATA.model}("${state.variant}").solve(\n${given.join("")})\nprint(result)\n`;
}

function asCommand() {
  const given = Object.entries(typedHere()).map(([name, text]) => ` --${name.replace(/_/g, "-")} ${shellWord(text)}`);
  return `mlsysim ${DATA.command} --variant ${state.variant}${given.join("")}`;
}

async function copy(event, text) {
  const button = event.currentTarget, word = button.textContent;
  byId("copied").textContent = text;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    byId("copied").parentElement.open = true;
  }
  setTimeout(() => (button.textContent = word), 1200);
}

// The whole.

function start() {
  recall();
  const choose = (name) => (event) => {
    state[name] = event.target.value;
    if (name === "variant") build();
    update();
  };
  const variants = Object.keys(DATA.variants).map((name) => element("option", { value: name, selected: name === state.variant }, name.replace(/_/g, " ")));
  const known = Object.entries(DATA.recipes).map(([key, { name }]) => element("option", { value: key }, name));
  const recipes = known.length ? [element("div", { class: "variant" }, element("label", { for: "recipe" }, "Start from a published run"),
    element("select", { id: "recipe", onchange: follow }, element("option", { value: "" }, "none"), ...known))] : [];
  const button = (text, what) => element("button", { type: "button", onclick: (event) => copy(event, what()) }, text);
  const select = (id, text) => element("label", {}, `${text} `, element("select", { id, onchange: choose(id) }));
  const without = Object.entries(DATA.without).map(([name, reason]) => element("p", { class: "quiet" }, `${name.replace(/_/g, " ")} has no calculator: ${reason}.`));
  byId("calculator").append(
    element("div", { class: "head" }, document.querySelector("h1") ? "" : element("h1", {}, DATA.question),
      element("p", { class: "quiet" }, `${DATA.model} of mlsysim ${DATA.version}, computed in this page. A bare number is in the unit shown; text brings its own, as in 80 GB.`),
      element("div", { class: "variant" }, element("label", { for: "variant" }, "Formulas"), element("select", { id: "variant", onchange: choose("variant") }, ...variants), element("p", { id: "about", class: "quiet" })),
      ...recipes, ...without),
    element("div", { class: "columns" },
      element("div", { id: "strip", "aria-hidden": "true" }),
      element("form", { id: "inputs", "aria-label": "Inputs", onsubmit: (event) => event.preventDefault() }),
      element("div", { id: "answer" },
        element("div", { id: "refusal", role: "alert" }),
        element("div", { id: "result" },
          element("section", { "aria-label": "Answer" }, element("div", { id: "main" }), element("div", { class: "scroll" }, element("table", {}, element("tbody", { id: "numbers" }))), element("ul", { id: "notes", "aria-label": "Notes" }), element("p", { id: "lost", class: "quiet" }), element("dl", { id: "basis", class: "quiet" })),
          element("div", { class: "buttons" }, button("Copy link", () => location.href), button("Copy as Python", asPython), button("Copy as command", asCommand)),
          element("details", { class: "copies" }, element("summary", {}, "What was copied"), element("pre", { id: "copied", tabindex: "0" })),
          element("section", { "aria-labelledby": "curve-name" }, element("h2", { id: "curve-name" }, "Curve"), element("div", { class: "pick" }, select("plot", "Show"), select("over", "over")), element("div", { id: "curve" }), element("p", { id: "left-out", class: "quiet" })),
          element("section", { id: "formula", "aria-labelledby": "formula-name" }, element("h2", { id: "formula-name" }, "Formula"), element("p", { id: "formula-about", class: "quiet" }), element("div", { id: "equations" }), element("ul", { id: "needs" })))),
    ),
  );
  build();
  update();
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(showRest, WAIT);
  });
  window.addEventListener("hashchange", () => {
    recall();
    byId("variant").value = state.variant;
    build();
    update();
  });
}

start();
