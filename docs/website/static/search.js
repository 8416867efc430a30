// Finds sections of the site: words of a query or their synonyms, by their stems, in titles, headings and text.
const FIELDS = { title: 6, heading: 4, name: 8, text: 1, code: 0.7 }, SYNONYM = 0.7, PREFIX = 0.4, FUZZY = 0.2, SPREAD = 0.1, MET = 1.6, NAMED = 3;
const COMMON = new Set("a an and are as at be by can do does for from how i if in is it its much my of on or that the this to what when where which with you your".split(" "));
// A size such as 24GB adds to the score of a page that has it, and no page must have it.
const QUANTITY = /^\d+([kmgt]i?b|k|ms|s)$/;
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
  engine.addAll(sections.map(([page, , heading, name, text, code], id) => ({ id, title: pages[page][1], heading, name, text, code })));
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

  // A section scores the best phrase of each concept; a page its best section, a little of others, and what of the query it meets.
  return function find(text) {
    const query = asked(text), name = text.trim().toLowerCase();
    if (!query.length) return [];
    const meant = concepts(query), found = new Map();
    meant.forEach((phrases, concept) => {
      const best = new Map();
      const { length } = phrases[0];
      for (const phrase of [...phrases.map((each, at) => exactly(each, at ? (SYNONYM * length) / each.length : 1)), loosely(phrases[0])])
        for (const hit of engine.search(phrase, { boost: FIELDS })) if (!(best.get(hit.id)?.score > hit.score)) best.set(hit.id, hit);
      for (const { id, score, match } of best.values()) {
        const page = sections[id][0];
        if (!found.has(page)) found.set(page, { page, scores: new Map(), met: new Set(), terms: new Set() });
        const hit = found.get(page);
        hit.scores.set(id, (hit.scores.get(id) ?? 0) + score);
        if (!QUANTITY.test(phrases[0][0])) hit.met.add(concept);
        Object.keys(match).forEach((word) => hit.terms.add(word));
      }
    });
    const needed = meant.filter(([[word]]) => !QUANTITY.test(word));
    const meets = (line) => {
      const said = new Set(tokens(line).map(term));
      return needed.length && needed.every((phrases) => phrases.some((phrase) => phrase.every((word) => said.has(word))));
    };
    const bonus = ([, , heading, each]) => (each.split(".").at(-1).toLowerCase() === name ? NAMED : meets(heading) ? MET : 1);
    const results = [...found.values()].map(({ page, scores, met, terms }) => {
      const [path, title, kind, weight] = pages[page];
      const ranked = [...scores].map(([id, score]) => [id, score * bonus(sections[id])]).sort((one, other) => other[1] - one[1]);
      const rest = ranked.slice(1, 4).reduce((sum, [, score]) => sum + score, 0);
      const score = (ranked[0][1] + SPREAD * rest) * weight * (met.size / Math.max(1, needed.length)) ** 2 * (meets(title) ? MET : 1);
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
