// Typesets equations when they come near the view, all of them before a page is printed.
const NEAR = "600px", known = new Map();
const typeset = (each) => {
  if (each.classList.contains("set")) return;
  const source = each.textContent, displayMode = each.classList.contains("display"), key = `${displayMode} ${source}`;
  // KaTeX 0.19 writes a letter twice in the path of tall ceilings and floors, which browsers report.
  if (!known.has(key)) known.set(key, katex.renderToString(source, { displayMode, throwOnError: false, strict: false }).replaceAll("\nMM", "\nM"));
  each.innerHTML = known.get(key);
  each.classList.add("set");
};
const within = (block) => block.matches(".math") ? [block] : block.querySelectorAll(".math");
// Rows, items and paragraphs are watched, not the symbols in them, of which a page may have thousands.
const blocks = new Set(Array.from(document.querySelectorAll(".math"), (each) => each.closest("tr, li, p, dd, h1, h2, h3, h4, .math.display") ?? each));
const watch = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!isIntersecting) continue;
    watch.unobserve(target);
    within(target).forEach(typeset);
  }
}, { rootMargin: NEAR });
blocks.forEach((each) => watch.observe(each));
addEventListener("beforeprint", () => blocks.forEach((each) => within(each).forEach(typeset)));
// What is typeset on the way to an anchor moves it: it is gone to again until it rests, or the reader scrolls.
const FRAMES = 40;
const settle = () => {
  const anchor = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!anchor) return;
  const target = anchor.closest("tr") ?? anchor;
  const left = new AbortController();
  ["wheel", "touchstart", "keydown", "pointerdown"].forEach((each) => addEventListener(each, () => left.abort(), { signal: left.signal, passive: true }));
  let frame = 0;
  const again = () => {
    if (left.signal.aborted) return;
    target.scrollIntoView({ behavior: "instant" });
    if (frame++ < FRAMES) requestAnimationFrame(again);
    else left.abort();
  };
  again();
};
settle();
addEventListener("hashchange", settle);
