// The cell of the page: Run sends it to a worker, which is made at the first click; Stop ends the worker.
{
  const [cell, run, stop, example, state, output] = ["cell", "run", "stop", "example", "state", "output"].map((id) => document.getElementById(`try-${id}`));
  const CODE = JSON.parse(document.getElementById("try-examples").textContent);
  const URL_OF_WORKER = document.getElementById("try-it").dataset.worker;
  let worker, clock;

  const idle = (said) => {
    clearInterval(clock);
    run.disabled = false;
    stop.disabled = true;
    state.textContent = said;
  };
  const write = (text) => { output.textContent += `${text}\n`; };

  const made = () => {
    const found = new Worker(URL_OF_WORKER, { type: "module" });
    found.onerror = () => {
      worker = undefined;
      write("Python does not load here.");
      idle("Failed");
    };
    return found;
  };

  const start = () => {
    if (run.disabled) return;
    run.disabled = true;
    stop.disabled = false;
    output.textContent = "";
    const begun = performance.now(), seconds = () => (performance.now() - begun) / 1000;
    let doing = "Loading Python";
    const tell = () => { state.textContent = `${doing} … ${seconds().toFixed(0)} s`; };
    clock = setInterval(tell, 1000);
    worker ??= made();
    worker.onmessage = ({ data }) => {
      if ("cleared" in data) output.textContent = "";
      if ("output" in data) write(data.output);
      if ("state" in data) { doing = data.state; tell(); }
      if ("done" in data) idle(`${data.done ? "Done" : "Failed"} after ${seconds().toFixed(1)} s`);
    };
    worker.postMessage(cell.value);
  };

  const fit = () => { cell.rows = cell.value.split("\n").length; };
  const show = () => { cell.value = CODE[example.value]; fit(); };
  run.addEventListener("click", start);
  stop.addEventListener("click", () => {
    worker.terminate();
    worker = undefined;
    idle("Stopped");
  });
  example.addEventListener("change", show);
  cell.addEventListener("input", fit);
  cell.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    start();
  });
  show();
  if (location.protocol === "file:") {
    run.disabled = true;
    state.textContent = "A browser runs this only from a web server: python -m http.server --directory build/site/html";
  }
}
