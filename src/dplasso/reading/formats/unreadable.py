"""Files that are known by their names and not read: an error says what to do instead."""

from pathlib import Path

from dplasso.base.wording import ParameterError
from dplasso.reading.files import Files
from dplasso.reading.formats.base import Format, Pieces
from dplasso.reading.options import ReadingOptions

_CSV, _PARQUET = "save it as CSV (UTF-8)", "write it as CSV or Parquet"
_REMEDIES = {
    ".xls": f"open it in a spreadsheet program and {_CSV} or as .xlsx",
    ".xlsb": f"open it in a spreadsheet program and {_CSV} or as .xlsx",
    ".ods": f"open it in a spreadsheet program and {_CSV} or as .xlsx",
    ".numbers": f"open it in a spreadsheet program and {_CSV}",
    ".sas7bdat": _PARQUET,
    ".sav": _PARQUET,
    ".dta": _PARQUET,
    ".rds": _PARQUET,
    ".orc": _PARQUET,
    ".pkl": _PARQUET,
    ".json": _PARQUET,
    ".jsonl": f"{_PARQUET} (dplasso online reads JSON lines)",
    ".zip": "unpack it, or pack the file inside with gzip",
    ".tar": "unpack it",
    ".tgz": "unpack it",
    ".7z": "unpack it",
    ".npy": "save a sparse matrix with scipy.sparse.save_npz; a .npy file holds labels",
    ".dpl": "it is the ending of models: name the file of the rows here",
}
_PACKINGS = (".gz", ".bz2", ".xz", ".zst")


class Unreadable(Format):
    """Without this format such files would be read as svmlight text, whose errors mislead."""

    name = "in a format that is not read"

    def recognises(self, path: Path) -> bool:
        return _ending(path) in _REMEDIES

    def pieces(self, files: Files, options: ReadingOptions) -> Pieces:
        raise self.refusal(files)

    def refuse(self, files: Files, parameter: str, taken_by: str) -> ParameterError:
        return self.refusal(files)

    def refusal(self, files: Files) -> ParameterError:
        """The error for such a file, which says what to do instead."""
        path = files.paths[0]
        ending = _ending(path)
        return ParameterError(
            "{path}: {ending} files are not read; {remedy}",
            path=path,
            ending=ending,
            remedy=_REMEDIES[ending],
        )


def _ending(path: Path) -> str:
    name = path.name.lower()
    packing = next((end for end in _PACKINGS if name.endswith(end)), "")
    return Path(name.removesuffix(packing)).suffix
