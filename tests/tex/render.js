// Reads a JSON list of TeX sources, writes per source its width in em and what is wrong with it, if anything.
const fs = require("fs");
const katex = require("katex");

const BACKSLASH = /data-c="5C"/; // a glyph: MathJax shows a command that \text does not know as it is written
const LOUD = { displayMode: true, throwOnError: true, strict: "error" };

async function main() {
  const mathjax = await require("mathjax").init({
    loader: { load: ["input/tex", "output/svg"] },
    tex: { formatError: (_, error) => { throw error; } },
    svg: { fontCache: "none" },
  });
  const measured = (tex) => {
    mathjax.texReset();
    const svg = mathjax.startup.adaptor.innerHTML(mathjax.tex2svg(tex, { display: true }));
    if (BACKSLASH.test(svg)) throw new Error("MathJax shows a backslash");
    return parseFloat(/width="([\d.]+)ex"/.exec(svg)[1]);
  };
  const tenEm = measured("\\rule{10em}{1em}");
  const checked = (tex) => {
    try {
      katex.renderToString(tex, LOUD);
      return { width: (10 * measured(tex)) / tenEm, error: null };
    } catch (error) {
      return { width: null, error: error.message };
    }
  };
  process.stdout.write(JSON.stringify(JSON.parse(fs.readFileSync(0, "utf8")).map(checked)));
}

main();
