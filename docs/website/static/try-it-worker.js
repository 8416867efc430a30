// Runs cells in Python, of this site alone: loads it at the first message and answers {output}, {state}, {done}.
const PYTHON = `
import sys, traceback
from pyodide.code import eval_code
def run(code):
    try:
        value = eval_code(code, {"__name__": "__main__"}, filename="<cell>")
        if value is not None:
            print(value)
    except BaseException as error:
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
  return python.runPython(PYTHON);
};
let loaded;

onmessage = async ({ data }) => {
  try {
    const run = await (loaded ??= load());
    postMessage({ state: "Running" });
    postMessage({ done: run(data) });
  } catch (error) {
    loaded = undefined;
    say(String(error));
    postMessage({ done: false });
  }
};
