"""Scripts of calculators run by Node on arrays of points."""

import json

import numpy as np
from tex.renderers import RendererError, node

#: Reads arrays of points and writes every output of every formula, point by point.
EVALUATE = """
const fs = require("fs"), job = JSON.parse(fs.readFileSync(process.argv[2]));
for (const { formulas, names, points, inputs, outputs } of job) {
  const given = new Float64Array(Uint8Array.from(fs.readFileSync(inputs)).buffer), width = names.length;
  const found = new Float64Array(points * formulas.length);
  const chosen = formulas.map((place) => FORMULAS[place])
    .map(([name, compute, needs]) => [NAMES[name], compute, needs.map((each) => NAMES[each])]);
  const values = {};
  for (let point = 0; point < points; point++) {
    names.forEach((name, place) => (values[name] = given[point * width + place]));
    chosen.forEach(([name, compute, needs], place) => {
      const value = compute(...needs.map((each) => values[each]));
      found[point * formulas.length + place] = value;
      if (!names.includes(name)) values[name] = value;
    });
  }
  fs.writeFileSync(outputs, found);
}
"""


def has_node():
    """Why Node cannot be had; empty where it can."""
    try:
        done = node("node", "--version")
    except RendererError as reason:
        return str(reason)
    return "" if done.returncode == 0 else done.stderr


def run(script, folder, *args):
    """What a script writes to its output."""
    path = folder / "script.js"
    path.write_text(script, encoding="utf-8")
    done = node("node", str(path), *map(str, args))
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def evaluated(script, cases, folder):
    """Outputs of formulas at points: for each case, of formulas and arrays by input, an array of points by formula."""
    job, found = [], []
    for place, (formulas, points) in enumerate(cases):
        names, count = sorted(points), len(next(iter(points.values())))
        inputs, outputs = folder / f"inputs_{place}", folder / f"outputs_{place}"
        inputs.write_bytes(np.column_stack([points[name] for name in names]).astype("<f8").tobytes())
        job.append(
            {"formulas": formulas, "names": names, "points": count, "inputs": str(inputs), "outputs": str(outputs)}
        )
        found.append((outputs, count, len(formulas)))
    (folder / "job.json").write_text(json.dumps(job))
    run(script + EVALUATE, folder, folder / "job.json")
    return [np.frombuffer(path.read_bytes(), "<f8").reshape(count, width) for path, count, width in found]
