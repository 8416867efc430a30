"""A saved certificate, verified by the model that it names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from mlsysim.catalog import Catalog, builtin
from mlsysim.errors import CertificateError, MlsysimError, UnknownNameError
from mlsysim.models.base import PerformanceModel
from mlsysim.models.registry import Registry
from mlsysim.progress import shown
from mlsysim.study.proofs.saved import read
from mlsysim.study.proofs.verification import Verification, verified
from mlsysim.tracebacks import at_the_call


@at_the_call
@shown
def verify(
    path: str | os.PathLike[str],
    model: type[PerformanceModel] | None = None,
    catalog: Catalog | None = None,
    *,
    registry: Registry | None = None,
) -> Verification:
    """Verify a certificate that ``search(certificate=...)`` or ``pareto(certificate=...)`` saved, without the search.

    The model is built afresh. The designs are solved again. The boxes that were ruled out must tile the grid, and each
    is bounded again, by NumPy and not by the programs of the search. Points that were evaluated are evaluated again.
    Of a front, no design may be as good as another one in every objective, and every other point must be equalled or
    bettered by one of them.

    Parameters
    ----------
    path : path
        Of the file.
    model : type, optional
        The model that was searched, where it is not one of ours or of an installed package.
    catalog : Catalog, optional
        Where names of entries are looked up first; that of the package by default.
    registry : Registry, optional
        The models among which the one of the question is looked up; ours and those of installed packages by default.

    Returns
    -------
    Verification
        What was shown, in words and numbers.

    Raises
    ------
    InputError
        If there is no such file, or it is no certificate.
    CertificateError
        If it does not hold: which part of it, and why.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from mlsysim import TrainingMemoryModel, verify
    >>> memory = TrainingMemoryModel("first_order")
    >>> run = dict(seq_len=2048, batch_size=range(8, 65), dp_size=[1, 2, 4, 8], zero_stage=3)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "certificate.json")
    ...     found = memory.search("Llama3_8B", "H100", **run, maximize="batch_size", method="bounds", certificate=file)
    ...     verdict = verify(file)
    >>> bool(verdict)
    True
    """
    content, shelf = read(path), catalog or builtin()
    return verified(content, Path(path), _model(content, Path(path), model, registry or Registry()), shelf.find)


def _model(
    content: dict[str, Any], path: Path, given: type[PerformanceModel] | None, registry: Registry
) -> PerformanceModel:
    question = content["question"]
    command, name, variant = (question[key] for key in ("command", "model", "variant"))
    found = given
    if found is None:
        asked = registry.commands.get(command, ())
        listed = next((each for each in asked if each.name == name), None)
        if listed is None:
            raise UnknownNameError(
                "model of the certificate",
                name,
                [each.name for each in asked],
                "give model=..., in a shell --with FILE",
            )
        found = listed.load()
    if found.__name__ != name:
        raise CertificateError(path, "question", f"it asks {name}, and not {found.__name__}")
    try:
        return found(variant)
    except MlsysimError as error:
        raise CertificateError(path, "question", str(error)) from None
