import pytest


@pytest.mark.long
@pytest.mark.usefixtures("printed_book")
def test_book_writes_and_check_names_what_differs(run, tmp_path, book_pages):
    folder = tmp_path / "pages"
    written = run("book", "--out", str(folder))
    assert written.exit_code == 0, written.output
    assert written.stdout == f"wrote {len(book_pages)} files to {folder}\n"
    assert {path.name for path in folder.iterdir()} == set(book_pages)
    checked = run("book", "--out", str(folder), "--check")
    assert (checked.exit_code, checked.stdout) == (0, f"{folder} is up to date\n")

    (folder / "index.json").unlink()
    page = folder / "queueing.md"
    page.write_text(page.read_text(encoding="utf-8") + "stale", encoding="utf-8")
    stale = run("book", "--out", str(folder), "--check")
    assert stale.exit_code == 1
    assert stale.stdout == "index.json\nqueueing.md\n"
    assert stale.stderr == f"error: {folder} is out of date in 2 files; run mlsysim book --out {folder}\n"


@pytest.mark.long
@pytest.mark.usefixtures("printed_book")
def test_the_folder_is_formulas_by_default(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("book").exit_code == 0
    assert (tmp_path / "formulas" / "README.md").exists()


def test_a_folder_that_cannot_be_written_is_bad_input(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused = run("book", "--out", "file")
    assert (refused.exit_code, refused.stderr) == (2, "error: directory='file': must be a folder\n")
    below = run("book", "--out", "file/below")
    said = "error: directory='file/below': lies below file, which is no folder\n"
    assert (below.exit_code, below.stderr) == (2, said)


def test_an_empty_name_of_a_folder_is_refused(run):
    done = run("book", "--out", "")
    assert (done.exit_code, done.stderr) == (2, "error: --out='': must name a folder; the one that you are in is .\n")
