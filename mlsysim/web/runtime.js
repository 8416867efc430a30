// The functions that printed formulas call and JavaScript has not: those of graph/operations at one point.
// The numbers that say when a sum or a search ends are the ones that stand there.

const { abs, exp, log, max, min, sqrt } = Math;
const PRECISION = Number.EPSILON, LARGEST = 1e300, NEGLIGIBLE = 1e-17, TERMS = 4, ROUNDINGS = 2;
const NEAR = 256, FAR = 8, TOWARDS_ZERO = 1e-6;

const lawful = (a, b) => (Number.isNaN(a * b) && !Number.isNaN(a) && !Number.isNaN(b) ? 0 : a * b);

/** The remainder, with the sign of the divisor. */
function mod(whole, by) {
  const rest = whole % by;
  return rest !== 0 && rest < 0 !== by < 0 ? rest + by : rest;
}

/** The ceiling; a quotient within rounding of a whole number is that number. */
function ceil(x) {
  const nearest = Math.round(x);
  return nearest + (x - nearest > ROUNDINGS * PRECISION * abs(x) ? 1 : 0);
}

/** The floor; a quotient within rounding of a whole number is that number. */
function floor(x) {
  const nearest = Math.round(x);
  return nearest - (nearest - x > ROUNDINGS * PRECISION * abs(x) ? 1 : 0);
}

/** Probability of waiting in an M/M/c queue; one where it is not stable, NaN without a load. */
function erlang_c(servers, load) {
  if (!(load > 0 && load < servers)) return load >= servers ? 1 : NaN;
  let left = servers, term = 1, total = 1, going = true;
  while (going) {
    for (let each = 0; each < TERMS; each++) {
      term = min((term * left) / load, LARGEST);
      total += term;
      left = left > 1 ? left - 1 : 0;
    }
    going = left > 0 && total < LARGEST && (left >= load || term >= NEGLIGIBLE * total);
  }
  const blocking = 1 / total;
  return max((servers * blocking) / (servers - load * (1 - blocking)), 1 / LARGEST);
}

/** Probability that all slots are taken, in a queue whose servers slow down as they fill. */
function slots_busy(slots, a, b, e, tail) {
  if (!(a + b > 0 && a >= 0 && b >= 0)) return 0;
  let term = 1, total = 0, going = slots >= 1;
  for (let i = slots; going; i--) {
    const rate = (a + b * i) / i;
    term *= Math.pow(rate, -e);
    total += term;
    going = i >= 2 && total < LARGEST && (rate <= 1 || term >= NEGLIGIBLE * total);
  }
  if (!(total < Infinity)) return 0;
  return total + tail > 0 ? tail / (total + tail) : NaN;
}

/** Smallest whole number from 1 to a limit that meets a condition which stays met; Infinity if none does. */
function least_integer(condition, limit, beyond = 0) {
  let start = Math.floor(min(beyond * (1 - 4 * PRECISION), limit - 1));
  start = start > 0 ? start : 0;
  let below = start, above = Infinity, tried = min(start + 1, limit), going = limit === limit;
  while (going) {
    if (condition(tried)) above = tried;
    else below = tried;
    const middle = Math.floor((below + above) / 2);
    let farther = 2 * below - start;
    farther = farther > below ? min(farther, middle) : middle;
    const bounded = above < Infinity;
    going = bounded ? below < middle && middle < above : below < limit;
    tried = !going ? 0 : bounded || limit === Infinity ? farther : limit;
  }
  return above;
}

/** Number between two ends at which a rising function is zero; an end where it does not cross. */
function root(residual, lower, upper) {
  if (lower !== lower || upper !== upper) return NaN;
  let below = lower, atBelow = -Infinity, above = lower, atAbove = Infinity;
  let tried = lower, jump = max(abs(lower), 1), factor = 4, short = true;
  while (short) {
    const found = residual(tried);
    above = tried;
    atAbove = found;
    short = (found < 0 || (found !== found && tried === lower)) && tried < upper && tried < LARGEST;
    if (!short) break;
    below = tried;
    if (found < 0) atBelow = found;
    tried = upper === Infinity ? min(tried + jump, LARGEST) : upper;
    jump *= factor;
    factor = min(factor * factor, 1e16);
  }
  const ended = above === lower && atAbove >= 0;
  if (atAbove < 0) below = above = max(lower, upper);
  if (atAbove !== atAbove) atAbove = Infinity;
  if (ended) atBelow = atAbove;
  const straight = below + (atBelow / (atBelow - atAbove)) * (above - below);
  let x = below, atX = atBelow, other = above, atOther = atAbove;
  tried = straight > below && straight < above ? straight : middleOf(below, above);
  let going = tried > below && tried < above;
  while (going) {
    const found = residual(tried);
    let last = other, atLast = atOther;
    if (found < 0 === atX < 0) [last, atLast] = [x, atX];
    else [last, atLast, other, atOther] = [other, atOther, x, atX];
    const [following, apart] = between(tried, found, other, atOther, last, atLast);
    [x, atX] = [tried, found];
    going = abs(found) > 0 && apart && following !== tried && following !== other;
    tried = following;
  }
  if (atX !== atX) return NaN;
  const [low, atLow, high, atHigh] = atX < 0 ? [x, atX, other, atOther] : [other, atOther, x, atX];
  return abs(atLow) < abs(atHigh) ? low : high;
}

/** The number to try next between two on both sides of a root, and whether they are far enough apart for one. */
function between(x, atX, other, atOther, last, atLast) {
  const width = other - x, low = min(x, other), high = max(x, other);
  const least = NEAR * PRECISION * max(abs(x), abs(other));
  const first = atOther - atX, second = atLast - atOther, third = atLast - atX;
  const along = -width / (last - other), across = -first / second, bent = 1 - across;
  const straight = across * across < along && bent * bent < 1 - along;
  const share = (atX / second) * (((last - x) * atOther) / (width * third) - atLast / first);
  const interpolated = min(max(x + share * width, low + least), high - least);
  const following = straight && share === share ? interpolated : middleOf(low, high);
  return [following, abs(width) > 2 * least];
}

/** Half way between two numbers, by their logarithms where they are far from each other. */
function middleOf(low, high) {
  const middle = sqrt(max(low, TOWARDS_ZERO * high)) * sqrt(high);
  return low >= 0 && high > FAR * low ? middle : low + 0.5 * (high - low);
}

/** The share of a standard normal variable below a number. */
function normal_cdf(x) {
  const upper = complement(abs(x) / Math.SQRT2) / 2;
  return x > 0 ? 1 - upper : upper;
}

/** The complementary error function of a number that is not negative: a series of positive terms, or a fraction. */
function complement(x) {
  if (x < 2) {
    let term = x, sum = x;
    for (let n = 1; term > PRECISION * 1e-2 * sum; n++) sum += term *= (2 * x * x) / (2 * n + 1);
    return 1 - (2 / sqrt(Math.PI)) * exp(-x * x) * sum;
  }
  if (!(x < 27)) return x === x ? 0 : NaN;
  let fraction = x;
  for (let n = 120; n > 0; n--) fraction = x + n / 2 / fraction;
  return exp(-x * x) / fraction / sqrt(Math.PI);
}

/** The number with a given share of a standard normal variable below it. */
function normal_quantile(p) {
  if (!(p > 0 && p < 1)) return p === 0 ? -Infinity : p === 1 ? Infinity : NaN;
  const tail = p < 0.5 ? p : 1 - p;
  const t = sqrt(-2 * log(tail));
  let x = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (let step = 0; step < 4; step++) {
    const off = (complement(x / Math.SQRT2) / 2 - tail) * sqrt(2 * Math.PI) * exp((x * x) / 2);
    x += off / (1 - (x * off) / 2);
  }
  return p < 0.5 ? -x : x;
}
