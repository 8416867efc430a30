// One curve over one input, as SVG: lines break where a point is refused or has no finite number.

const HEIGHT = 280, LEFT = 58, RIGHT = 16, TOP = 30, BOTTOM = 46;

/** Values to try around the present one: whole numbers as whole numbers, the rest evenly by factors. */
function swept(variable, value, count) {
  const { lower = -Infinity, upper = Infinity, factor = 1 } = variable, at = fromCanonical(value, factor);
  const share = lower === 0 && upper === 1;
  const ends = share ? [0, 1] : at > 0 ? [Math.max(lower, at / 16), Math.min(upper, at * 16)] : [Math.max(lower, 0), Math.min(upper, 64)];
  const found = [];
  for (let step = 0; step <= count; step++) {
    const along = step / count;
    const each = !share && ends[0] > 0 ? ends[0] * Math.pow(ends[1] / ends[0], along) : ends[0] + (ends[1] - ends[0]) * along;
    found.push(variable.kind === "integer" ? Math.round(each) : each);
  }
  if (variable.kind === "integer") {
    for (let power = 1; power <= 1024; power *= 2) found.push(power, at / power, at * power);
    for (let times = 3; times < 16; times += 2) found.push(at * times);
  }
  const inside = found.filter((each) => each >= Math.max(lower, ends[0]) && each <= Math.min(upper, ends[1])
    && !(variable.open && each === lower) && (variable.kind !== "integer" || Number.isInteger(each)));
  return [...new Set([...inside, at])].sort((a, b) => a - b);
}

/** Round numbers along an axis, and a scale from numbers to places on it. */
function axisOf(low, high, from, to) {
  if (low === high) [low, high] = low ? [low - Math.abs(low) / 2, high + Math.abs(high) / 2] : [-1, 1];
  if (low > 0 && high / low > 30) {
    const first = Math.floor(Math.log10(low)), last = Math.ceil(Math.log10(high)), ticks = [];
    const every = Math.ceil((last - first) / 6);
    for (let power = first; power <= last; power += every) ticks.push(Math.pow(10, power));
    const place = (x) => from + ((Math.log10(x) - Math.log10(low)) / (Math.log10(high) - Math.log10(low))) * (to - from);
    return { ticks: ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001), place };
  }
  const rough = (high - low) / 5, size = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((each) => each * size).find((each) => each >= rough), ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-9; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return { ticks, place: (x) => from + ((x - low) / (high - low)) * (to - from) };
}

/** The curve of points [x, y] with the present one marked; labels are words with units, the width is that of the page. */
function curve(points, present, xLabel, yLabel, width) {
  const shown = points.filter(([, y]) => Number.isFinite(y));
  if (!shown.length) return "";
  const xs = shown.map(([x]) => x), ys = shown.map(([, y]) => y);
  const low = Math.min(...ys), high = Math.max(...ys);
  const x = axisOf(Math.min(...xs), Math.max(...xs), LEFT, width - RIGHT);
  const y = axisOf(low > 0 && high / low > 30 ? low : Math.min(low, 0), high, HEIGHT - BOTTOM, TOP);
  let path = "", drawing = false;
  for (const [at, value] of points) {
    const isShown = Number.isFinite(value);
    if (isShown) path += `${drawing ? "L" : "M"}${x.place(at).toFixed(1)} ${y.place(value).toFixed(1)}`;
    drawing = isShown;
  }
  const xTicks = x.ticks.map((tick) => `<g transform="translate(${x.place(tick).toFixed(1)} ${HEIGHT - BOTTOM})"><line y2="4"/><text y="17" text-anchor="middle">${tickText(tick)}</text></g>`);
  const yTicks = y.ticks.map((tick) => `<g transform="translate(${LEFT} ${y.place(tick).toFixed(1)})"><line class="rule" x2="${width - LEFT - RIGHT}"/><text x="-7" dy="0.32em" text-anchor="end">${tickText(tick)}</text></g>`);
  const dot = Number.isFinite(present[1]) && present[0] >= Math.min(...xs) && present[0] <= Math.max(...xs)
    ? `<circle r="4.5" cx="${x.place(present[0]).toFixed(1)}" cy="${y.place(present[1]).toFixed(1)}"/>` : "";
  const said = `${yLabel} over ${xLabel}: from ${readable(ys[0])} at ${readable(xs[0])} to ${readable(ys[ys.length - 1])} at ${readable(xs[xs.length - 1])}`;
  const few = shown.length > 40 ? [] : shown.map(([at, value]) => `<circle class="point" r="2.5" cx="${x.place(at).toFixed(1)}" cy="${y.place(value).toFixed(1)}"/>`);
  return `<svg viewBox="0 0 ${width} ${HEIGHT}" role="img" aria-label="${escaped(said)}">${yTicks.join("")}${xTicks.join("")}
<text x="${(LEFT + width - RIGHT) / 2}" y="${HEIGHT - 6}" text-anchor="middle" class="axis">${escaped(xLabel)}</text><text y="14" class="axis">${escaped(yLabel)}</text>
<path d="${path}"/>${few.join("")}${dot}</svg>`;
}

/** A number of an axis, short. */
function tickText(value) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3 ? general(value, 3).replace(/e\+?(-?)0?/, "e$1") : String(Number(value.toPrecision(6)));
}

const escaped = (text) => String(text).replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);
