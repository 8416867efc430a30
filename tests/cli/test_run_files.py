"""A recipe may be the file of a framework."""

import json

from tests.catalog.test_run_configs import GPT, TITAN, TRAINER


def test_a_recipe_may_be_a_file(run, tmp_path):
    yaml, job, arguments = tmp_path / "gpt.yaml", tmp_path / "job.toml", tmp_path / "trainer.json"
    yaml.write_text("\n".join(f"--{name}: {value}" for name, value in {**GPT, "tp-comm-overlap": "true"}.items()))
    job.write_text(TITAN)
    arguments.write_text(json.dumps(TRAINER))
    for file in (yaml, job, arguments):
        shown = run("memory", "--recipe", str(file), "--hardware", "H100")
        assert shown.exit_code == 0
        assert "total_memory" in shown.output
        assert ("tp-comm-overlap" in shown.output) == (file is yaml)


def test_other_files_are_refused(run, tmp_path):
    file = tmp_path / "run.txt"
    file.write_text("--num-layers 2")
    shown = run("memory", "--recipe", str(file), "--hardware", "H100")
    assert shown.exit_code != 0
    assert "its name does not end in .yaml or .yml or .sh or .toml or .json" in shown.output
