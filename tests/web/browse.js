// Opens calculators in Chromium, types into them and writes what it saw as JSON.
const fs = require("fs");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");

const SEEN = () => ({
  width: document.documentElement.scrollWidth,
  numbers: Object.fromEntries([...document.querySelectorAll("td[data-output]")].map((each) => [each.dataset.output, each.textContent])),
  refusal: document.getElementById("refusal").textContent,
  old: document.getElementById("result").classList.contains("old"),
  raw: document.querySelectorAll(".katex-error").length,
  equations: [...document.querySelectorAll(".equation")].map((each) => each.querySelectorAll(".katex-html").length),
  curve: document.querySelectorAll("#curve svg path").length,
  unlabelled: [...document.querySelectorAll("input, select")].filter((each) => !each.labels.length).map((each) => each.id),
  milliseconds: Number(document.body.dataset.milliseconds),
  hash: location.hash,
});
const settled = (page) => page.waitForTimeout(250).then(() => page.waitForFunction(
  () => document.getElementById("result").classList.contains("old") || document.getElementById("curve").dataset.drawn, null, { timeout: 20000 }));

async function visit(browser, { file, width, scheme, steps, check, hash = "" }) {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: scheme });
  page.setDefaultTimeout(180_000);
  const wrong = [], asked = [];
  page.on("console", (message) => { if (["error", "warning"].includes(message.type())) wrong.push(message.text()); });
  page.on("pageerror", (error) => wrong.push(error.stack));
  page.on("request", (request) => { if (/^https?:/.test(request.url())) asked.push(request.url()); });
  await page.goto(`file://${file}${hash}`);
  await settled(page);
  const seen = [await page.evaluate(SEEN)];
  const found = { seen, wrong, asked, barriers: [], copies: [] };
  if (check) {
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run(document));
    found.barriers = violations.map(({ id, impact, nodes }) => `${impact}: ${id} (${nodes.length}): ${nodes[0].html.slice(0, 160)}`);
  }
  for (const [name, text] of steps) {
    await page.evaluate(() => document.querySelectorAll("#inputs details").forEach((each) => (each.open = true)));
    const field = page.locator(`#${name}`), tag = await field.evaluate((each) => each.tagName);
    if (tag === "SELECT") await field.selectOption(text);
    else {
      await field.focus();
      await page.keyboard.press("Control+A");
      await page.keyboard.type(text);
    }
    await settled(page);
    seen.push(await page.evaluate(SEEN));
  }
  if (check) {
    for (const button of ["Copy as Python", "Copy as command"]) {
      await page.getByText(button).click();
      found.copies.push(await page.locator("#copied").textContent());
    }
  }
  await page.close();
  return found;
}

(async () => {
  const [, , chosen, jobs] = process.argv;
  const browser = await chromium.launch({ executablePath: chosen, args: ["--no-sandbox"] }).catch(() => process.exit(3));
  const found = [];
  for (const job of JSON.parse(fs.readFileSync(jobs))) found.push(await visit(browser, job));
  await browser.close();
  console.log(JSON.stringify(found));
})();
