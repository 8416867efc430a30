// What is typed, as numbers, and numbers as text: the words and digits of inputs/convert.py, units.py and formatting.py.

const DIGITS = "[+-]?(?:\\d+(?:_\\d+)*\\.?\\d*|\\.\\d+)(?:[eE][+-]?\\d+)?";
const NUMBER = `\\s*(${DIGITS}|[+-]?(?:inf|nan)(?![\\p{L}\\p{N}_]))\\s*`;
const NAME = "(?:\\p{L}[\\p{L}\\p{N}_]*|%|1)(?:\\s*(?:\\^|\\*\\*)\\s*-?\\d{1,2}(?:\\.\\d+)?)?";
const UNIT = `(?:1\\s*/\\s*)?${NAME}(?:\\s*[*/·]\\s*${NAME}|\\s+${NAME})*`;
const QUANTITY = new RegExp(`^${NUMBER}(${UNIT})?\\s*$`, "u");
const COUNT = new RegExp(`^\\s*(${DIGITS})\\s*([kKMBT])(\\s+\\S.*)?\\s*$`, "u"), SMALL = new RegExp(`^${NUMBER}([mbt])\\s*$`, "u");
const WHOLE = /^\s*[+-]?\d+(_\d+)*\s*$/, DECIMAL = /^\s*[+-]?(\d+(_\d+)*\.?(\d+(_\d+)*)?|\.\d+(_\d+)*)([eE][+-]?\d+)?\s*$/;
const YES = /^(true|yes|on|1)$/i, NO = /^(false|no|off|0)$/i;
const NO_NUMBER = /^\s*[+-]?(inf|infinity|nan)\s*$/i;

/** What is not allowed, at an argument, in the words of Python. */
class Refusal extends Error {
  constructor(argument, value, allowed, hint = "") {
    super(`${argument}=${value}: ${allowed}${hint && `; ${hint}`}`);
    this.argument = argument;
  }
}

/** A text as Python quotes it, shortened where it is long. */
function quoted(text) {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  const found = mark + text.replace(/\\/g, "\\\\").replace(/\n/g, "\\n").replaceAll(mark, `\\${mark}`) + mark;
  return found.length <= 60 ? found : `${found.slice(0, 57)}...`;
}

/** A number as Python writes it; a whole one was typed without a point. */
function repr(value, whole = false) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const size = Math.abs(value);
  if (whole && size < 1e21) return String(value);
  if (size >= 1e16 || (size < 1e-4 && size > 0)) {
    const [mantissa, exponent] = value.toExponential().split("e");
    return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** A number with so many significant digits, as %g writes it. */
function general(value, digits) {
  const [mantissa, exponent] = exponential(value, digits - 1).split("e");
  const power = Number(exponent), short = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power < -4 || power >= digits) {
    return `${short(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  }
  return short(fixed(value, digits - 1 - power));
}

/** Digits after the point as Python rounds them: a tie to the even digit, where JavaScript rounds it up. */
const fixed = (value, digits) => toEven(value.toFixed(digits), value.toFixed(Math.min(100, digits + 70)), digits);
function exponential(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits).split("e");
  const [exact, power] = value.toExponential(100).split("e");
  return power === exponent ? `${toEven(mantissa, exact, digits)}e${exponent}` : `${mantissa}e${exponent}`;
}
function toEven(rounded, exact, digits) {
  const point = exact.indexOf(".") + 1, rest = point ? exact.slice(point + digits) : "";
  if (!/^50*$/.test(rest)) return rounded;
  const below = exact.slice(0, point + digits).replace(/\.$/, "");
  return /[02468]$/.test(below) ? below : rounded;
}

/** A number to read: one decimal from 100 up, two from 1 up, three below, three digits below 0.01; whole ones stay whole. */
function readable(value, whole = false) {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  value += 0;
  if (whole) return Math.abs(value) < 1e21 ? String(value) : value.toLocaleString("en", { useGrouping: false });
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 5e-4)) {
    const [mantissa, exponent] = general(value, 4).split("e");
    return exponent ? `${mantissa}e${Number(exponent)}` : mantissa;
  }
  if (size > 0 && size < 0.00995) return general(value, 3);
  return fixed(value, size >= 100 ? 1 : size >= 1 ? 2 : 3);
}

/** A canonical amount as a number of a unit, and back: no digit is lost in decimal units. */
const isWholeInverse = (factor) => factor < 1 && Number.isInteger(1 / factor);
const fromCanonical = (value, factor = 1) => (isWholeInverse(factor) ? value * (1 / factor) : value / factor);
const toCanonical = (value, factor = 1) => (isWholeInverse(factor) ? value / (1 / factor) : value * factor);

/** A canonical value as text with its unit. */
function asText(variable, value) {
  if (variable.kind === "boolean" || typeof value === "boolean") return value ? "True" : "False";
  if (variable.kind === "choice") return variable.labels[value];
  const amount = fromCanonical(value, variable.factor);
  const text = readable(amount, (variable.kind === "integer" || variable.kind === "flag") && Number.isFinite(amount));
  return `${text} ${variable.shown || ""}`.trim();
}

/** Factor and dimension of the text of a unit. */
function unitOf(text, table) {
  const powers = {};
  let factor = 1;
  const parts = text.trim().replace(/\*\*/g, "^").replace(/\s*([*/·^])\s*/g, "$1").replace(/\s+/g, "*").split(/(?=[*/·])/);
  for (const part of parts) {
    const [, sign, name, power] = /^([*/·]?)([^^]+)(?:\^(.+))?$/u.exec(part);
    if (name === "1") continue;
    const found = namedUnit(name, table);
    if (!found) throw new Error(`unknown unit ${quoted(text)}: '${name}' is not defined in the unit registry`);
    const exponent = Number(power || 1) * (sign === "/" ? -1 : 1);
    factor *= Math.pow(found[0], exponent);
    for (const each of found[1] ? found[1].split(" ") : []) {
      const [, base, own] = /^(\[\w+\])(.+)$/.exec(each);
      powers[base] = (powers[base] || 0) + Number(own) * exponent;
    }
  }
  const dimension = Object.keys(powers).filter((base) => powers[base]).sort().map((base) => base + powers[base]);
  return { factor, dimension: dimension.join(" ") };
}

/** A unit by its name, with a prefix and an s behind it where that gives one. */
function namedUnit(name, { names, prefixes }) {
  if (Object.hasOwn(names, name)) return names[name];
  for (const suffix of ["", "s"]) {
    for (const prefix of Object.keys(prefixes)) {
      if (!name.startsWith(prefix) || !name.endsWith(suffix)) continue;
      const own = name.slice(prefix.length, name.length - suffix.length);
      if ((suffix && own.length === 1) || !Object.hasOwn(names, own)) continue;
      return [names[own][0] * prefixes[prefix], names[own][1]];
    }
  }
  return null;
}

/** A value as it was typed, in canonical units; refused where Python refuses it. */
function canonicalOf(name, variable, text, data) {
  if (variable.kind === "choice" || variable.kind === "flag") {
    const code = variable.kind === "choice" ? variable.labels.indexOf(text) : YES.test(text) ? 1 : NO.test(text) ? 0 : -1;
    if (code < 0) throw new Refusal(name, quoted(text), `must be ${variable.allowed}`);
    return code;
  }
  const plain = text.replace(/_/g, ""), isWhole = WHOLE.test(text);
  let typed, shown;
  if (isWhole) [typed, shown] = [Number(plain), String(BigInt(plain.replace(/\+/, "")))];
  else if (DECIMAL.test(text)) [typed, shown] = [Number(plain), repr(Number(plain))];
  else if (NO_NUMBER.test(text)) {
    typed = /nan/i.test(text) ? NaN : /-/.test(text) ? -Infinity : Infinity;
    shown = repr(typed);
  } else [typed, shown] = [quantityOf(name, variable, text, data), quoted(text)];
  check(name, variable, typed, shown, data.limits);
  return toCanonical(typed, variable.factor);
}

/** A count such as 2T with all its digits; any other text as it is. */
function spelledOut(text, { counts, unit = "" }, thousands) {
  const match = counts && COUNT.exec(text);
  if (!match) return text;
  const [, sign, whole, fraction, power = 0] = /^([+-]?)(\d*)\.?(\d*)(?:e(.+))?$/i.exec(match[1].replace(/_/g, ""));
  const places = Number(power) + thousands[match[2]] - fraction.length;
  const digits = (whole + fraction + "0".repeat(Math.max(0, places))).padStart(1 - Math.min(0, places), "0");
  const point = digits.length + Math.min(0, places), above = digits.slice(0, point).replace(/^0+(?=\d)/, "");
  const below = digits.slice(point);
  return `${sign.replace("+", "")}${above}${below && `.${below}`}${match[3] || (unit && ` ${unit}`)}`.trimEnd();
}

function quantityOf(name, variable, typed, { units, limits }) {
  const text = spelledOut(typed, variable, limits.thousands);
  const allowed = `must be ${variable.allowed}${variable.unit ? `, in ${variable.unit}` : ""}`;
  const refuse = (hint) => new Refusal(name, quoted(text), allowed, hint);
  const small = variable.counts && SMALL.exec(text);
  if (small) throw refuse(`did you mean ${small[1]}${small[2].toUpperCase()}?`);
  const match = QUANTITY.exec(text);
  if (!match) throw refuse(`${quoted(text)} is not a number with a unit, as in '80 GB'`);
  let found;
  try {
    found = unitOf(match[2] || "1", units);
  } catch (error) {
    throw refuse(error.message);
  }
  if (variable.unit && !match[2]) throw refuse(`text needs a unit, as in '80 ${variable.unit}'`);
  if (found.dimension !== (variable.dimension || "")) {
    const given = found.dimension ? match[2].trim() : "a pure number";
    throw new Refusal(name, quoted(text), `${given} is not a unit of ${variable.unit || "a pure number"}`);
  }
  const number = match[1].replace(/_/g, "").replace(/inf/, "Infinity").replace(/nan/, "NaN");
  return fromCanonical(toCanonical(Number(number), found.factor), variable.factor);
}

/** Refuse a number outside the domain of its variable. */
function check(name, variable, typed, shown, limits, hint = "") {
  const { lower = -Infinity, upper = Infinity } = variable, below = Math.floor(typed);
  const refuse = (allowed, more = hint) => new Refusal(name, shown, allowed, more);
  if (!Number.isFinite(typed) || typed < lower || typed > upper || (variable.open && typed === lower)) {
    throw refuse(`must be ${variable.allowed}`);
  }
  if (variable.kind === "integer") {
    if (typed !== below) throw refuse(`must be ${variable.allowed}`, `nearest: ${below}, ${below + 1}`);
    if (typed >= limits.integer) throw refuse("must be below 2**53, beyond which whole numbers are not exact");
  } else if (typed !== 0 && !(Math.abs(typed) >= limits.smallest && Math.abs(typed) <= limits.largest)) {
    throw refuse(`must be between ${general(limits.smallest, 6)} and ${general(limits.largest, 6)} in size`);
  }
}
