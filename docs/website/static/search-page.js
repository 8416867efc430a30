// The page of results: what is typed is looked for at once, and the address keeps it.
const SHOWN = 20, BESIDE = 3;
const field = document.getElementById("search-field"), list = document.getElementById("search-results"), said = document.getElementById("search-said");
const element = (tag, text, attributes = {}) => Object.assign(document.createElement(tag), { textContent: text }, attributes);
const find = finder(INDEX);

function link([, anchor, heading], path, text) {
  return element("a", text ?? heading, { href: `${path}${anchor ? `#${anchor}` : ""}` });
}

function shown({ path, title, kind, terms, sections: [best, ...others] }) {
  const item = element("li", ""), head = element("h2", ""), said = element("p", "");
  const top = best[2] === title;
  head.append(link(top ? [0, ""] : best, path, top ? title : `${title} › ${best[2]}`));
  excerpt(best[4], terms).forEach(([text, marked]) => said.append(marked ? element("mark", text) : text));
  item.append(head, element("span", kind, { className: "kind" }), said);
  const named = others.filter((each) => each[2] && each[2] !== title).slice(0, BESIDE);
  if (named.length) {
    const more = element("p", "Also: ", { className: "also" });
    named.forEach((each, place) => more.append(place ? ", " : "", link(each, path)));
    item.append(more);
  }
  return item;
}

function answerQuery() {
  const query = field.value.trim(), results = query ? find(query) : [];
  list.replaceChildren(...results.slice(0, SHOWN).map(shown));
  const count = results.length > SHOWN ? `the first ${SHOWN} of ${results.length} pages` : `${results.length} ${results.length === 1 ? "page" : "pages"}`;
  said.textContent = !query ? "" : results.length ? `${count[0].toUpperCase()}${count.slice(1)} for “${query}”.` : `No page has “${query}”. Try fewer or other words.`;
  document.title = document.title.replace(/^.*?(Search - )/, query ? `${query} - $1` : "$1");
}

field.value = new URLSearchParams(location.search).get("q") ?? "";
field.addEventListener("input", () => {
  history.replaceState(null, "", field.value ? `?q=${encodeURIComponent(field.value)}` : location.pathname);
  answerQuery();
});
field.form.addEventListener("submit", (event) => event.preventDefault());
answerQuery();
if (!field.value) field.focus();
