// Sorts and filters tables of entries: headings become buttons, and a line above takes words and bounds.
document.querySelectorAll(".entry-table").forEach((box, number) => {
  const table = box.querySelector("table"), body = table.tBodies[0], rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells], keys = heads.map((head) => head.dataset.key);
  const bound = /^([a-z]\w*)(<=|>=|=|<|>)(-?[\d.]+)$/;
  const holds = { "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b, "=": (a, b) => a === b };
  const words = new Map(rows.map((row) => [row, [...row.cells].slice(0, -1).map((cell) => `${cell.textContent} ${cell.dataset.words ?? ""}`).join(" ").toLowerCase()]));
  const value = (row, place) => (heads[place].dataset.kind === "number" ? parseFloat(row.cells[place].dataset.value) : row.cells[place].textContent.trim());
  const missing = (one) => one === "–" || Number.isNaN(one);

  const sort = (place) => {
    const numeric = heads[place].dataset.kind === "number", was = heads[place].getAttribute("aria-sort");
    const order = was === "none" ? (numeric ? "descending" : "ascending") : was === "ascending" ? "descending" : "ascending";
    heads.forEach((head) => head.dataset.key && head.setAttribute("aria-sort", head === heads[place] ? order : "none"));
    const sign = order === "ascending" ? 1 : -1;
    const compare = (one, other) => (numeric ? one - other : one.localeCompare(other, "en", { numeric: true }));
    rows.sort((one, other) => {
      const [a, b] = [value(one, place), value(other, place)];
      // What an entry does not have stands last, whichever way.
      return missing(a) || missing(b) ? missing(a) - missing(b) : sign * compare(a, b);
    });
    body.append(...rows);
  };
  heads.forEach((head, place) => {
    if (!head.dataset.key) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    button.addEventListener("click", () => sort(place));
    head.append(button);
    head.setAttribute("aria-sort", "none");
  });

  const line = document.createElement("div"), label = document.createElement("label"), input = document.createElement("input"), status = document.createElement("span");
  line.className = "filter";
  label.textContent = "Filter";
  input.type = "search";
  input.id = label.htmlFor = `entries-${number}`;
  input.placeholder = box.dataset.example;
  status.setAttribute("role", "status");
  const filter = () => {
    const asked = input.value.toLowerCase().replace(/\s*([<>=]+)\s*/g, "$1").split(/\s+/).filter(Boolean);
    const tests = asked.map((word) => [word, bound.exec(word)]);
    const unknown = tests.filter(([, found]) => found && !keys.includes(found[1])).map(([, found]) => found[1]);
    const passes = (row) => tests.every(([word, found]) => (found ? holds[found[2]](value(row, keys.indexOf(found[1])), +found[3]) : words.get(row).includes(word)));
    const shown = unknown.length ? rows : rows.filter(passes);
    rows.forEach((row) => { row.hidden = !shown.includes(row); });
    input.classList.toggle("wrong", unknown.length > 0);
    status.textContent = unknown.length ? `no column ${unknown[0]}: ${keys.filter((key, place) => heads[place].dataset.kind === "number").join(", ")}` : `${shown.length} of ${rows.length}`;
  };
  input.addEventListener("input", filter);
  line.append(label, input, status);
  box.prepend(line);
  filter();
});
