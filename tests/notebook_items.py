"""Notebooks as tests: each is executed in a process of its own and prints what is stored in it."""

import pytest
from printed import NOTEBOOKS, executed, old_lines


def pytest_collect_file(file_path, parent):
    return NotebookFile.from_parent(parent, path=file_path) if file_path in NOTEBOOKS else None


class NotebookFile(pytest.File):
    def collect(self):
        yield NotebookItem.from_parent(self, name=self.path.name)


class NotebookItem(pytest.Item):
    def runtest(self):
        import nbformat

        stored = nbformat.read(self.path, as_version=4)
        for cell, fresh in zip(stored.cells, executed(stored).cells, strict=True):
            if old := old_lines(cell, fresh):
                told = "\n".join(line[:400] for line in old[:20])
                raise AssertionError(f"{cell.id} is old: python tests/printed.py --write {self.path}\n{told}")

    def repr_failure(self, excinfo):
        return str(excinfo.value)

    def reportinfo(self):
        return self.path, None, self.name
