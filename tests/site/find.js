// Asks the search of a built site, as its page does, and writes the paths, titles and anchors found with milliseconds of processor time.
const fs = require("fs"), path = require("path"), vm = require("vm");
const [, , site, queries, count] = process.argv;
const load = (name) => vm.runInThisContext(fs.readFileSync(path.join(site, "_static", name), "utf-8"), name);
const clock = (work) => {
  const from = process.cpuUsage(), value = work(), { user, system } = process.cpuUsage(from);
  return [value, (user + system) / 1000];
};
for (const name of ["base-stemmer.js", "english-stemmer.js", "minisearch.js", "search.js"]) load(name);
const [find, opening] = clock(() => {
  load("search-index.js");
  return vm.runInThisContext("finder(INDEX)");
});
const answers = JSON.parse(fs.readFileSync(queries, "utf-8")).map((query) => {
  const [found, took] = clock(() => find(query));
  return { took, found: found.slice(0, +count).map(({ path, title, sections, score }) => ({ path, title, anchor: sections[0][1], heading: sections[0][2], score })) };
});
process.stdout.write(JSON.stringify({ opening, answers }));
