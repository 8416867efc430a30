// Finds sections of the site: words of a query or their synonyms, by their stems, in titles, headings and text.
const FIELDS = { title: 6, heading: 4, text: 1 }, SYNONYM = 0.7, PREFIX = 0.4, FUZZY = 0.2, SPREAD = 0.15, PHRASE = 1.6;
const COMMON = new Set("a an and are as at be by can do does for from how i if in is it its much my of on or that the this to what when where which with you your".split(" "));
const stemmer = new EnglishStemmer(), stems = new Map();

const stem = (word) => {
  if (!stems.has(word)) stems.set(word, stemmer.stemWord(word));
  return stems.get(word);
};
// A name is found whole and by its parts: TrainingMemoryModel, kv_cache_dtype.
const parts = (word) => {
  const cut = word.split(/_|(?<=[a-z]{3})(?=[A-Z][a-z])/);
  return cut.length > 1 ? [word, ...cut.filter(Boolean)] : [word];
};
const words = (text) => text.match(/[\p{L}\p{N}_]+/gu) ?? [];
const tokens = (text) => words(text).flatMap(parts);
const term = (word) => {
  const lower = word.toLowerCase();
  return COMMON.has(lower) ? null : stem(lower);
};
const asked = (text) => words(text).map(term).filter(Boolean);

function finder({ pages, sections, synonyms }) {
  const engine = new MiniSearch({ fields: Object.keys(FIELDS), tokenize: tokens, processTerm: term });
  engine.addAll(sections.map(([page, , heading, text], id) => ({ id, title: pages[page][1], heading, text })));
  const groups = synonyms.map((group) => group.map(asked));

  // Where a phrase of a group stands in the query, its synonyms are looked for too.
  function concepts(query) {
    const found = [];
    for (let place = 0; place < query.length; ) {
      const here = groups.flatMap((group) => group.filter((phrase) => phrase.length && phrase.every((word, at) => query[place + at] === word)).map((phrase) => ({ phrase, group })));
      const longest = Math.max(1, ...here.map(({ phrase }) => phrase.length));
      const others = here.filter(({ phrase }) => phrase.length === longest).flatMap(({ phrase, group }) => group.filter((each) => each !== phrase));
      found.push([query.slice(place, place + longest), ...others]);
      place += longest;
    }
    return found;
  }

  const exactly = (phrase, boost) => ({ combineWith: "AND", queries: phrase, boostTerm: () => boost });
  const loosely = (phrase) => ({ combineWith: "AND", queries: phrase, prefix: (word) => word.length > 2, fuzzy: (word) => (word.length > 4 ? FUZZY : false), boostTerm: () => PREFIX });

  // Scores of sections become those of pages: the best section, a little of the others, and the share of the query met.
  return function find(text) {
    const query = asked(text);
    if (!query.length) return [];
    const meant = concepts(query), found = new Map();
    meant.forEach((phrases, place) => {
      const queries = [...phrases.map((phrase, at) => exactly(phrase, at ? SYNONYM : 1)), loosely(phrases[0])];
      for (const { id, score, match } of engine.search({ combineWith: "OR", queries }, { boost: FIELDS })) {
        const page = sections[id][0];
        if (!found.has(page)) found.set(page, { page, sections: new Map(), met: new Set(), terms: new Set() });
        const hit = found.get(page);
        hit.sections.set(id, (hit.sections.get(id) ?? 0) + score);
        hit.met.add(place);
        Object.keys(match).forEach((word) => hit.terms.add(word));
      }
    });
    const whole = ` ${query.join(" ")} `, says = (line) => ` ${asked(line).join(" ")} `.includes(whole);
    const results = [...found.values()].map(({ page, sections: hits, met, terms }) => {
      const [path, title, kind, weight] = pages[page];
      const ranked = [...hits].map(([id, score]) => [id, score * (says(sections[id][2]) ? PHRASE : 1)]).sort((one, other) => other[1] - one[1]);
      const rest = ranked.slice(1, 4).reduce((sum, [, score]) => sum + score, 0);
      const score = (ranked[0][1] + SPREAD * rest) * weight * (met.size / meant.length) ** 2 * (says(title) ? PHRASE : 1);
      return { path, title, kind, score, terms, sections: ranked.map(([id]) => sections[id]) };
    });
    return results.sort((one, other) => other.score - one.score);
  };
}

// The words of a text around the first of its places that have most of what was found.
function excerpt(text, terms, length = 220) {
  const spans = [...text.matchAll(/[\p{L}\p{N}_]+/gu)].filter(([word]) => parts(word).some((part) => terms.has(term(part)))).map((each) => [each.index, each.index + each[0].length]);
  let start = 0, most = 0;
  for (const [from] of spans) {
    const inside = spans.filter(([at, to]) => at >= from && to <= from + length).length;
    if (inside > most) [start, most] = [from, inside];
  }
  start = start < 60 ? 0 : text.indexOf(" ", start - 40) + 1;
  const end = start + length >= text.length ? text.length : text.lastIndexOf(" ", start + length);
  const pieces = [];
  let at = start;
  for (const [from, to] of spans.filter(([from, to]) => from >= start && to <= end)) {
    pieces.push([text.slice(at, from), false], [text.slice(from, to), true]);
    at = to;
  }
  pieces.push([text.slice(at, end), false]);
  return [...(start ? [["… ", false]] : []), ...pieces, ...(end < text.length ? [[" …", false]] : [])];
}
