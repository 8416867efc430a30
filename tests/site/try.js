// Runs every example of the page of a served site, then a cell that fails and one that is stopped, and writes what it saw as JSON.
const fs = require("fs");
const { chromium } = require("playwright-core");
const axe = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf-8");
const PATIENCE = 300_000, SERIOUS = ["serious", "critical"];
const FAILING = "from mlsysim import ServingModel\n\nServingModel().solve(modle=3)", ENDLESS = "while True:\n    pass";

(async () => {
  const [, , chosen, site, path] = process.argv;
  const { looks, pictures } = JSON.parse(fs.readFileSync(path));
  const browser = await chromium.launch({ executablePath: chosen, args: ["--no-sandbox"] }).catch(() => process.exit(3));
  const context = await browser.newContext(), page = await context.newPage();
  const asked = [], wrong = [], barriers = [], wide = [];
  let weight = 0;
  page.setDefaultTimeout(PATIENCE);
  page.on("pageerror", (error) => wrong.push(error.stack));
  page.on("console", (message) => { if (message.type() === "error") wrong.push(`${message.text()} ${message.location().url}`); });
  context.on("request", (request) => asked.push(request.url()));
  context.on("response", async (response) => { weight += +(response.headers()["content-length"] ?? 0); });
  await page.goto(`${site}/try_it/index.html`, { waitUntil: "load" });
  const before = [...asked];
  weight = 0;
  const [cell, run, stop, state, output] = ["cell", "run", "stop", "state", "output"].map((id) => page.locator(`#try-${id}`));
  const done = () => page.waitForFunction(() => !document.getElementById("try-run").disabled);
  const answer = async () => {
    const begun = Date.now();
    await run.click();
    await done();
    return { state: await state.textContent(), output: await output.textContent(), seconds: (Date.now() - begun) / 1000 };
  };
  const answers = [];
  for (const question of await page.locator("#try-example option").allTextContents()) {
    await page.selectOption("#try-example", question);
    answers.push(await answer());
  }
  const loaded = weight;
  for (const { scheme, width } of looks) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) wide.push(width);
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => axe.run(document, { preload: false, resultTypes: ["violations"] }));
    barriers.push(...violations.filter(({ impact }) => SERIOUS.includes(impact)).map(({ id, nodes }) => `${scheme} ${width}: ${id}: ${nodes[0].html.slice(0, 200)}`));
    if (pictures) await page.screenshot({ path: `${pictures}-${scheme}-${width}.png`, fullPage: true });
  }
  await cell.fill(FAILING);
  const failed = await answer();
  await cell.fill(ENDLESS);
  await run.click();
  await page.waitForFunction(() => document.getElementById("try-state").textContent.startsWith("Running"));
  await stop.click();
  const stopped = await state.textContent();
  await cell.fill("1 + 1");
  const again = await answer();
  await browser.close();
  process.stdout.write(JSON.stringify({ before, asked, wrong, barriers, wide, weight: loaded, answers, failed, stopped, again }));
})();
