// Sorts and filters a table of entries by keyboard alone, and writes what a reader sees after each step as JSON.
const { chromium } = require("playwright-core");

const SEEN = () => ({
  names: [...document.querySelectorAll("tbody tr:not([hidden]) th")].map((each) => each.textContent),
  sorted: [...document.querySelectorAll("th[aria-sort]:not([aria-sort=none])")].map((each) => [each.dataset.key, each.getAttribute("aria-sort")]),
  status: document.querySelector("[role=status]").textContent,
  focused: document.activeElement.closest("[data-key]")?.dataset.key ?? document.activeElement.tagName,
});

(async () => {
  const [, , chosen, path] = process.argv, found = [];
  const browser = await chromium.launch({ executablePath: chosen, args: ["--no-sandbox"] }).catch(() => process.exit(3));
  const page = await browser.newPage();
  await page.goto(`file://${path}`);
  found.push(await page.evaluate(SEEN));
  await page.keyboard.press("Tab");
  await page.keyboard.type("nvidia memory >= 90");
  found.push(await page.evaluate(SEEN));
  for (const _ of ["name", "group", "memory"]) await page.keyboard.press("Tab");
  for (const key of ["Enter", "Space"]) {
    await page.keyboard.press(key);
    found.push(await page.evaluate(SEEN));
  }
  await page.locator("input").fill("price>1");
  found.push(await page.evaluate(SEEN));
  await browser.close();
  process.stdout.write(JSON.stringify(found));
})();
