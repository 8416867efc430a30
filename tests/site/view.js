// Opens a long page at its head and at an anchor, and a notebook, and writes which equations are typeset as JSON.
const fs = require("fs");
const { chromium } = require("playwright-core");
const TYPESET = ".math:has(.katex-html)";

(async () => {
  const [, , chosen, site, path] = process.argv;
  const { page: name, anchor, width, printed } = JSON.parse(fs.readFileSync(path));
  const browser = await chromium.launch({ executablePath: chosen, args: ["--no-sandbox"] }).catch(() => process.exit(3));
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  const count = (selector) => page.locator(selector).count();
  const print = () => page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.goto(`file://${site}/${name}`);
  await page.waitForSelector(TYPESET);
  const equations = await count(".math"), first = await count(TYPESET);
  await page.goto("about:blank");
  await page.goto(`file://${site}/${name}#${anchor}`);
  await page.waitForSelector(`#${anchor} .math.display:has(.katex-html)`);
  await page.waitForTimeout(1500);
  const { top } = await page.evaluate((id) => document.getElementById(id).getBoundingClientRect().toJSON(), anchor);
  const here = await count(`#${anchor} .math.display:has(.katex-html)`);
  await print();
  const printing = await count(TYPESET);
  await page.goto(`file://${site}/${printed}`);
  await print();
  const tutorial = await page.evaluate(() => document.querySelector("article").innerText), outputs = await count(`.output ${TYPESET}`);
  await browser.close();
  process.stdout.write(JSON.stringify({ equations, first, top, here, printing, tutorial, outputs }));
})();
