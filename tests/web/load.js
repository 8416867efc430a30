// Opens pages of the site in Chromium one after the other, each in a tab of its own, and writes what they cost as JSON.
const fs = require("fs");
const { chromium } = require("playwright-core");
const PATIENCE = 180_000, METRICS = ["Nodes", "TaskDuration", "ScriptDuration", "LayoutDuration"];

async function cost(context, site, name) {
  const page = await context.newPage(), session = await context.newCDPSession(page);
  const asked = [];
  page.setDefaultTimeout(PATIENCE);
  page.on("request", (request) => asked.push(request.url()));
  // Time of the processor, not of a clock, which counts what other programs do.
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.goto(`file://${site}/${name}`);
  await page.evaluate(() => new Promise((done) => requestIdleCallback(done, { timeout: 5000 })));
  const { metrics } = await session.send("Performance.getMetrics");
  const found = Object.fromEntries(metrics.filter((each) => METRICS.includes(each.name)).map((each) => [each.name, each.value]));
  found.weight = asked.map((address) => new URL(address)).filter((each) => each.protocol === "file:").reduce((sum, each) => sum + fs.statSync(decodeURIComponent(each.pathname)).size, 0);
  await page.close();
  return found;
}

(async () => {
  const [, , chosen, site, path] = process.argv;
  const browser = await chromium.launch({ executablePath: chosen, args: ["--no-sandbox"] }).catch(() => process.exit(3));
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } }), found = [];
  for (const name of JSON.parse(fs.readFileSync(path))) found.push(await cost(context, site, name));
  await browser.close();
  process.stdout.write(JSON.stringify(found));
})();
