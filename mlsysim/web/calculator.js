// From what is typed to numbers: the binding of inputs/binding.py at one point, and the formulas of a variant.

const labelBy = (name) => name[0].toUpperCase() + name.slice(1).toLowerCase().replace(/_/g, " ");
const unrolled = (runs) => runs.flatMap(([first, count]) => Array.from({ length: count }, (_, at) => first + at));
for (const variant of Object.values(DATA.variants)) {
  Object.assign(variant, { formulas: unrolled(variant.formulas), texts: unrolled(variant.texts) });
}

DATA.variables = Object.fromEntries(NAMES.map((name, place) => [name, DATA.variables[place]]).filter(([, variable]) => variable));
for (const [name, variable] of Object.entries(DATA.variables)) {
  const { factor, dimension, shown } = DATA.amounts[variable.unit] || {};
  const isWritten = variable.named || dimension;
  Object.assign(variable, { label: variable.label || labelBy(name), factor, dimension, kind: variable.kind || "real", shown: variable.named ? variable.unit : isWritten ? shown : "" });
}

const ROWS = FORMULAS.map(([name, compute, needs]) => ({
  name: NAMES[name],
  compute,
  needs: needs.map((each) => NAMES[each]),
}));

/** The value of every input as typed, with where it comes from; and what is refused. */
function bound(data, variant, typed) {
  const chosen = data.variants[variant], values = {}, origins = {}, refusals = [];
  const isSlot = (name) => Object.hasOwn(data.slots, name);
  const attempt = (work) => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refusals.push(error);
    }
  };
  const takers = chosen.arguments.filter(isSlot);
  const format = (slot, name) => {
    const { prefix } = data.slots[slot];
    return rateFormat(data, chosen, typed, prefix && name.startsWith(prefix) ? prefix : "");
  };
  const missing = [];
  for (const name of takers) {
    const { what, entries } = data.slots[name];
    if (typed[name] === undefined || Object.hasOwn(entries, typed[name])) continue;
    const refusal = new Refusal(name, "", "");
    refusal.message = `unknown ${what} ${quoted(typed[name])}: this page has it not in its list`;
    refusals.push(refusal);
  }
  attempt(() => refuseOtherDevices(data, typed, takers));
  for (const name of chosen.arguments) {
    if (isSlot(name)) continue;
    attempt(() => {
      const variable = data.variables[name], other = data.follows[name];
      const source = typed[name] === undefined && other && chosen.arguments.includes(other) ? other : name;
      if (typed[source] !== undefined) {
        values[name] = canonicalOf(source, data.variables[source], typed[source], data);
        origins[name] = "given";
        return;
      }
      const givesWay = (slot) => (data.slots[slot].way[name] || []).some((each) => typed[each] !== undefined);
      for (const slot of takers) {
        if (givesWay(slot)) continue;
        const entry = data.slots[slot].entries[typed[slot]];
        const value = entry && valueOf(entry, name, format(slot, name));
        if (value === undefined) continue;
        const amount = fromCanonical(value, variable.factor);
        check(name, variable, amount, quoted(`${general(amount, 6)} ${variable.unit || ""}`.trim()), data.limits, `given by ${entry.name}`);
        values[name] = value;
        origins[name] = entry.name;
        return;
      }
      for (const slot of takers) {
        const { name: maker, beside } = data.slots[slot].entries[typed[slot]] || {};
        if (!beside || !(name in beside)) continue;
        values[name] = beside[name];
        origins[name] = maker;
        return;
      }
      if (name in chosen.defaults) {
        values[name] = chosen.defaults[name];
        origins[name] = "default";
        return;
      }
      for (const slot of takers) {
        const { entries, default: key } = data.slots[slot];
        if (key && givesWay(slot)) {
          values[name] = 0;
          origins[name] = "default";
          return;
        }
        const value = key ? valueOf(entries[key], name, format(slot, name)) : undefined;
        if (value === undefined) continue;
        values[name] = value;
        origins[name] = entries[key].name;
        return;
      }
      missing.push(name);
    });
  }
  const known = new Set(Object.keys(values));
  if (!refusals.length) attempt(() => refuseMissing(data, chosen, typed, missing, takers));
  for (const place of refusals.length ? [] : chosen.requirements) {
    const [argument, condition, allowed] = data.requirements[place], { compute, needs } = ROWS[condition];
    if (!needs.every((name) => known.has(name))) continue;
    const met = (at) => compute(...needs.map((name) => at[name]));
    if (!met(values)) {
      refusals.push(unmet(data, argument, allowed, needs, met, values));
      break;
    }
  }
  return { values, origins, refusals, missing: new Set(missing) };
}

/** Refuse what is of another device than the one in question. */
function refuseOtherDevices(data, typed, takers) {
  const picked = (slot) => data.slots[slot].entries[typed[slot]] || {};
  const device = takers.map((slot) => picked(slot).device).find((each) => each);
  for (const slot of takers) {
    const { of } = picked(slot);
    if (!of || !device || of === device) continue;
    const own = Object.entries(data.slots[slot].entries).filter(([, entry]) => entry.of === device).map(([key]) => key);
    const hint = own.length ? `of ${device} the catalog has ${own.join(", ")}` : `the catalog has none of ${device}`;
    throw new Refusal(slot, quoted(typed[slot]), `must be of ${device}; ${typed[slot]} is of ${of}`, hint);
  }
}

function valueOf(entry, name, format) {
  const rates = entry.rates && entry.rates[name];
  if (!rates) return entry.values[name];
  const found = rates[Object.hasOwn(rates, format) ? format : ""];
  if (Array.isArray(found)) throw new Refusal("precision", quoted(format), ...found);
  return found ?? undefined;
}

/** The number format that chooses the peak rate, of the arguments with a prefix. */
function rateFormat({ formats, variables }, { defaults, arguments: taken }, typed, prefix) {
  const label = (name, absent) =>
    typed[name] ?? (taken.includes(name) && name in defaults ? variables[name].labels[defaults[name]] : absent);
  const precision = label(`${prefix}precision`, ""), compute = label(`${prefix}compute_dtype`, "as_precision");
  const named = compute === "as_precision" && formats.presets[precision] ? formats.presets[precision] : compute;
  return named === "as_precision" ? precision : formats.rates[named] ?? named;
}

/** Refuse inputs that nothing gives, unless an entry that may be left out would. */
function refuseMissing(data, chosen, typed, missing, takers) {
  const used = new Set(chosen.formulas.flatMap((place) => ROWS[place].needs));
  const optional = new Set(takers.flatMap((slot) => (data.slots[slot].optional ? data.slots[slot].gives : data.slots[slot].extras)));
  const needed = missing.filter((name) => used.has(name) && !optional.has(name)).sort();
  if (!needed.length) return;
  const open = takers.filter((slot) => !data.slots[slot].default && !typed[slot] && !data.slots[slot].gives.some((name) => name in typed));
  const given = takers.filter((slot) => typed[slot]);
  const say = (wanted, how) => {
    const refusal = new Refusal(wanted[0], "", "");
    refusal.message = `${data.model} needs ${wanted.join(", ")}: ${how}`;
    throw refusal;
  };
  const entries = [];
  let left = needed;
  for (;;) {
    const lost = (slot) => left.filter((name) => data.slots[slot].gives.includes(name));
    const [most] = [...open].sort((a, b) => lost(b).length - lost(a).length);
    if (!most || !lost(most).length) break;
    entries.push([most, lost(most)[0]]);
    left = left.filter((name) => !lost(most).includes(name));
  }
  if (needed.length > 1) {
    const one = entries.length ? `, or what it gives one by one, as in ${entries[0][1]}=...` : "";
    const wanted = [...entries.map(([slot]) => slot), ...left];
    say(wanted, `give ${wanted.map((name) => `${name}=...`).join(", ")}${one}`);
  }
  const [name] = needed;
  const lacking = given.filter((slot) => data.slots[slot].gives.includes(name)).map((slot) => data.slots[slot].entries[typed[slot]].name);
  if (lacking.length) say([name], `${lacking.join(" and ")} has no value for it; give ${name}=...`);
  const ways = takers.filter((slot) => data.slots[slot].gives.includes(name)).map((slot) => `${slot}=...`);
  say([name], `give ${[...ways, `${name}=...`].join(" or ")}`);
}

/** The refusal of inputs that do not fit each other, with the nearest whole numbers that do. */
function unmet(data, argument, words, needs, met, values) {
  const shown = (name) => {
    const { factor = 1, unit } = data.variables[name];
    return factor === 1 ? general(Number(values[name]), 15) : `${general(fromCanonical(values[name], factor), 6)} ${unit}`;
  };
  const variable = data.variables[argument], allowed = words.map(([text, name]) => text + (name && `${name}=${shown(name)}`)).join("");
  const near = [];
  for (const step of variable.kind === "integer" ? [-1, 1] : []) {
    let candidate = values[argument] + step;
    for (let tries = 0; candidate >= (variable.lower ?? -Infinity) && candidate <= (variable.upper ?? Infinity) && tries < 4096; tries++) {
      if (met({ ...values, [argument]: candidate })) {
        near.push(general(candidate, 15));
        break;
      }
      candidate += step;
    }
  }
  const value = values[argument];
  const typed = variable.kind === "choice" ? quoted(variable.labels[value]) : variable.kind === "flag" ? (value ? "True" : "False")
    : (variable.factor ?? 1) !== 1 ? quoted(shown(argument)) : repr(value, Number.isInteger(value));
  return new Refusal(argument, typed, allowed, near.length ? `nearest: ${near.join(", ")}` : "");
}

/** Outputs of a variant at bound inputs, by name; those that need a missing input are left out. */
function evaluated(data, variant, { values, missing }, only) {
  const found = { ...values }, lost = new Set(missing);
  for (const place of only || data.variants[variant].formulas) {
    const { name, compute, needs } = ROWS[place];
    if (needs.some((each) => lost.has(each))) lost.add(name);
    else found[name] = compute(...needs.map((each) => found[each]));
  }
  return found;
}

/** Numbers of devices, which a fleet has beside the constants of its devices. */
const COUNTS = ["fleet_size", "accelerators_per_node", "accelerators_per_pod"];

/** What the answer rests on, in words: stack, efficiencies and overlaps with where they are from; its expected error. */
function basis(data, variant, typed, { values, origins }, numbers) {
  const { assumed, shares, laws, errors, used: places } = data.variants[variant].basis, taken = data.variants[variant].arguments;
  const slots = taken.filter((name) => Object.hasOwn(data.slots, name)).map((name) => [name, data.slots[name]]);
  const stacks = slots.filter(([, slot]) => slot.what === "stack"), groups = new Map();
  const entryOf = ([name, slot]) => slot.entries[typed[name] || slot.default];
  const named = stacks.find((each) => typed[each[0]]), of = named && entryOf(named);
  if (named) groups.set(typed[named[0]], []);
  const isThere = (name) => (places[name] || [name]).some((each) => numbers[each] !== 0);
  const { defaults } = data.variants[variant], isSetting = (name) =>
    name in defaults && !shares.includes(name) && ["given", "default"].includes(origins[name]);
  const replaced = Object.entries(laws).map(([share, law]) => (law.every((each) => values[each] !== 0) ? share : law[0]));
  const used = assumed.filter((name) => name in values && !isSetting(name) && !replaced.includes(name) && isThere(name)), byStack = used.filter((name) => of && origins[name] === of.name);
  const shown = new Set([...byStack, ...used.filter((name) => shares.includes(name))]), more = used.length - shown.size;
  for (const name of shown) {
    const byDefault = stacks.find(([, slot]) => slot.entries[slot.default]?.name === origins[name]);
    const from = origins[name] === "given" ? "typed" : byStack.includes(name) ? typed[named[0]] : byDefault ? `${byDefault[1].default} (default)` : origins[name];
    groups.set(from, [...(groups.get(from) || []), `${name}=${asText(data.variables[name], values[name])}`]);
  }
  const parts = [...groups].map(([from, texts]) => `${from}: ${texts.join(", ") || "no value that is used"}`);
  const isTyped = (kinds) => kinds.some(([, slot]) => slot.gives.some((name) => origins[name] === "given" && !COUNTS.includes(name)));
  const devices = slots.filter((each) => entryOf(each)?.device), [stack] = stacks.map(([name, slot]) => typed[name] || slot.default);
  const fits = (area) =>
    (!area.stacks.length || (area.stacks.includes(stack) && !isTyped(stacks))) &&
    (!of?.devices || (area.stacks.length === 1 && area.stacks[0] === stack) || devices.every((each) => of.devices.includes(entryOf(each).device))) &&
    (!area.devices.length || (devices.length > 0 && devices.every((each) => area.devices.includes(entryOf(each).device)) && !isTyped(devices))) &&
    Object.entries(area.where).every(([name, allowed]) => !(name in values) || (data.variables[name].kind === "choice"
      ? allowed.includes(values[name]) : allowed[0] <= values[name] && values[name] <= allowed[1]));
  const found = errors.map((tier) => tier.find(fits)).find(Boolean);
  return {
    stack: used.length ? [...parts, ...(more ? [`${more} more value${more > 1 ? "s" : ""}`] : [])].join("; ") : "none is used",
    error: found ? found.said : "none measured",
  };
}

/** Places of the formulas that an output needs, in order of evaluation. */
function neededFor(data, variant, output) {
  const wanted = new Set([output]), kept = [];
  for (const place of [...data.variants[variant].formulas].reverse()) {
    if (!wanted.has(ROWS[place].name)) continue;
    kept.unshift(place);
    ROWS[place].needs.forEach((name) => wanted.add(name));
  }
  return kept;
}

/** What a reader must know beside an answer, as `result.notes` says it: sequences that are too long, what the measured variant says, caveats. */
function notes(data, variant, typed, found) {
  const { lengths, caveats } = data.variants[variant], said = [];
  const written = (name) => asText(data.variables[name], found[name]), grouped = (value) => Math.round(value).toLocaleString("en");
  const model = data.slots.model && data.slots.model.entries[typed.model];
  for (const [names, each, then] of model && model.longest ? lengths : []) {
    const tokens = names.reduce((sum, name) => sum + found[name], 0);
    if (!(found[each] > 0 && tokens > model.longest)) continue;
    said.push(`${names.join(" + ")} is ${grouped(tokens)} tokens, and ${typed.model} is made for ${grouped(model.longest)} (max_position_embeddings): ${then}`);
    break;
  }
  const better = data.better;
  if (better && better.variant !== variant) {
    const bind = bound(data, better.variant, typed), other = bind.refusals.length ? {} : evaluated(data, better.variant, bind);
    const decided = other[better.decides], [shown, here] = [other, found].map((each) => each[better.shows]);
    if (decided !== undefined && (decided !== found[better.decides] || Math.abs(here - shown) > better.much * Math.abs(here))) {
      const verdict = typeof decided === "boolean" ? `, ${decided ? "fits" : "does not fit"}` : ` ${data.variables[better.shows].label.toLowerCase()}`;
      said.push(`${better.variant}, the measured variant: ${asText(data.variables[better.shows], shown)}${verdict}`);
    }
  }
  for (const [place, words] of caveats) {
    const { compute, needs } = ROWS[place], told = words.map(([, name]) => name).filter(Boolean);
    if ([...needs, ...told].some((name) => found[name] === undefined) || !compute(...needs.map((name) => found[name]))) continue;
    said.push(words.map(([text, name]) => text + (name && written(name))).join(""));
  }
  return said;
}
