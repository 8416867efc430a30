// Opens pages of the site in Chromium, a few at once, and writes what it saw as JSON.
const fs = require("fs");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const TABS = 4, PATIENCE = 180_000, SERIOUS = ["serious", "critical"];

const SEEN = () => ({
  width: document.documentElement.scrollWidth,
  wide: document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("article *")].filter((each) => each.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map((each) => each.outerHTML.slice(0, 120)),
  raw: [...document.querySelectorAll(".math")].filter((each) => !each.querySelector(".katex-html")).map((each) => `raw: ${each.textContent.slice(0, 80)}`)
    .concat([...document.querySelectorAll(".katex-error")].map((each) => `error: ${each.title}`)),
  hidden: [...document.querySelectorAll(".values .table-wrapper")].filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.textContent.slice(0, 80)),
  widest: [...document.querySelectorAll(":is(.answers, .inputs) tr:first-child")].filter((each) => each.querySelector("th")).map((each) => [...each.children].reduce((one, other) => other.offsetWidth > one.offsetWidth ? other : one).textContent),
  named: [...document.querySelectorAll("#about a")].map((each) => each.getAttribute("href")),
  text: document.querySelector("article").textContent,
});

async function open(browser) {
  const page = await browser.newPage(), tab = { page };
  page.setDefaultTimeout(PATIENCE);
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) tab.wrong.push(message.text()); });
  page.on("pageerror", (error) => tab.wrong.push(error.stack));
  page.on("request", (request) => { if (/^https?:/.test(request.url())) tab.asked.push(request.url()); });
  return tab;
}

async function visit(tab, site, { page: name, width, scheme, check }) {
  const { page } = tab, wrong = (tab.wrong = []), asked = (tab.asked = []);
  await page.setViewportSize({ width, height: 900 });
  await page.emulateMedia({ colorScheme: scheme });
  await page.goto(`file://${site}/${name}`);
  if (name.startsWith("calculators/") && await page.locator("#calculator").count()) await page.waitForSelector("#curve svg path", { state: "attached" });
  if (name.includes("?")) await page.waitForSelector("#search-results li");
  // As before printing: equations that are out of view are typeset too.
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const found = { ...(await page.evaluate(SEEN)), wrong, asked, barriers: [] };
  if (check) {
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run(document, { preload: false, resultTypes: ["violations"] }));
    found.barriers = violations.filter(({ impact }) => SERIOUS.includes(impact)).map(({ id, impact, nodes }) => `${impact}: ${id} (${nodes.length}): ${nodes[0].html.slice(0, 200)}`);
  }
  return found;
}

(async () => {
  const [, , chosen, site, path] = process.argv;
  const browser = await chromium.launch({ executablePath: chosen, args: ["--no-sandbox"] }).catch(() => process.exit(3));
  const jobs = JSON.parse(fs.readFileSync(path)), found = [];
  let next = 0;
  const work = async () => {
    const tab = await open(browser);
    while (next < jobs.length) {
      const place = next++;
      found[place] = await visit(tab, site, jobs[place]);
    }
  };
  await Promise.all(Array.from({ length: TABS }, work));
  await browser.close();
  process.stdout.write(JSON.stringify(found));
})();
