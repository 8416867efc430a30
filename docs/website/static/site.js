// Typesets equations, and lets a keyboard scroll what is wider than the page.
const known = new Map();
const typeset = (each) => {
  const source = each.textContent, displayMode = each.classList.contains("display"), key = `${displayMode} ${source}`;
  // KaTeX 0.19 writes a letter twice in the path of tall ceilings and floors, which browsers report.
  if (!known.has(key)) known.set(key, katex.renderToString(source, { displayMode, throwOnError: false, strict: false }).replaceAll("\nMM", "\nM"));
  each.innerHTML = known.get(key);
};
document.querySelectorAll(".math").forEach(typeset);
// The theme calls captions of its tree headings, and does not say of which level.
document.querySelectorAll(".caption[role=heading]").forEach((each) => each.setAttribute("aria-level", "2"));

const reach = () => document.querySelectorAll(".math.display, .table-wrapper, .highlight pre, .output").forEach((each) => {
  if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
  else each.removeAttribute("tabindex");
});
reach();
addEventListener("resize", reach);
