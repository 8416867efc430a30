// Runs cells in Python, of this site alone: loads it at the first message and answers {output}, {state}, {done}. What few
// cells import is loaded when one does, and the cell runs again.
const ON_DEMAND = "scipy";
const PYTHON = `
import sys, traceback
from pyodide.code import eval_code
def run(code, on_demand=None):
    try:
        value = eval_code(code, {"__name__": "__main__"}, filename="<cell>")
        if value is not None:
            print(value)
    except BaseException as error:
        if isinstance(error, ModuleNotFoundError) and error.name == on_demand:
            return on_demand
        told = traceback.TracebackException.from_exception(error)
        told.stack = traceback.StackSummary.from_list([frame for frame in told.stack if frame.filename == "<cell>"])
        print("".join(told.format(chain=False)), file=sys.stderr)
        return False
    return True
run
`;
const say = (output) => postMessage({ output });

const load = async () => {
  postMessage({ state: "Loading Python" });
  const { loadPyodide } = await import("./python/pyodide.mjs");
  const python = await loadPyodide({ stdout: say, stderr: say });
  await python.loadPackage("mlsysim", { messageCallback: () => {} });
  return { python, run: python.runPython(PYTHON) };
};
let loaded;

onmessage = async ({ data }) => {
  try {
    const { python, run } = await (loaded ??= load());
    postMessage({ state: "Running" });
    let done = run(data, ON_DEMAND);
    if (done === ON_DEMAND) {
      postMessage({ state: `Loading ${ON_DEMAND}`, cleared: true });
      await python.loadPackage(ON_DEMAND, { messageCallback: () => {} });
      done = run(data);
    }
    postMessage({ done });
  } catch (error) {
    loaded = undefined;
    say(String(error));
    postMessage({ done: false });
  }
};
