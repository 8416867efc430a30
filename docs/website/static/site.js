// The theme calls captions of its tree headings, and does not say of which level.
document.querySelectorAll(".caption[role=heading]").forEach((each) => each.setAttribute("aria-level", "2"));

// A keyboard scrolls what is wider than the page. Widths are asked of what is in view: the rest has no layout yet.
const WIDE = document.querySelectorAll(".math.display, .table-wrapper, .highlight pre, .output");
const reach = (each) => {
  if (each.scrollWidth > each.clientWidth) each.tabIndex = 0;
  else each.removeAttribute("tabindex");
};
const inView = new IntersectionObserver((seen) => seen.filter((each) => each.isIntersecting).forEach((each) => reach(each.target)));
const look = () => {
  inView.disconnect();
  WIDE.forEach((each) => inView.observe(each));
};
look();
addEventListener("resize", look);
addEventListener("beforeprint", () => WIDE.forEach(reach));
