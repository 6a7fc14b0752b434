"""Excel workbooks: the one sheet that is not empty."""

import zipfile
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from dplasso.base import memory
from dplasso.base.extras import require
from dplasso.base.silence import raise_alone
from dplasso.reading.table_files.base import TableFile
from dplasso.schema.cells import text_of

pa = require("pyarrow", extra="tables", purpose="reading tables")

_BATCH = 1 << 13  # rows
_TIMES = 4  # memory per byte of a workbook that is unpacked
_SAVE = "save the sheet as CSV"


class WorkbookTable(TableFile):
    """Every cell becomes the text that a CSV file of the sheet would hold, by the rule of `Cells`.

    A cell has a type of its own, so that its text depends on it alone. Rows without any cell are
    left out: sheets have them below their data.
    """

    def _opened(self) -> list[str]:
        try:
            with zipfile.ZipFile(self.path) as packed:
                size = sum(part.file_size for part in packed.infolist())
        except zipfile.BadZipFile:
            raise ValueError(
                f"{self.path} is no Excel workbook, or needs a password; {_SAVE}"
            ) from None
        memory.check_private_size(_TIMES * size, f"reading {self.path}", _SAVE)
        rows = self._rows()
        header = next(rows, None)
        if header is None:
            raise ValueError(f"{self.path} is empty; give a sheet with names of columns and rows")
        while not header[-1]:
            header.pop()
        return header

    def _rows(self) -> Iterator[list[str]]:
        """The texts of all rows that are not empty."""
        library = require(
            "python_calamine", extra="excel", purpose="reading .xlsx files (or save them as CSV)"
        )
        try:
            book = library.load_workbook(self.path)
            sheets = [book.get_sheet_by_name(name) for name in book.sheet_names]
        except library.CalamineError:
            raise_alone(
                ValueError(f"{self.path} cannot be read: it is damaged, or not a workbook; {_SAVE}")
            )
        full = [sheet for sheet in sheets if sheet.height]
        if len(full) > 1:
            raise ValueError(
                f"{self.path} has several sheets that are not empty; keep one, or {_SAVE}"
            )
        for sheet in full:
            for row in sheet.to_python():
                texts = [text_of(cell) for cell in row]  # that of an empty cell is empty
                if any(texts):
                    yield texts

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        places, width = [self.names.index(name) for name in names], len(self.names)
        rows = islice(self._rows(), 1, None)
        done = 0
        while some := list(islice(rows, _BATCH)):
            for k, row in enumerate(some):
                if any(row[width:]):
                    self.refuse(done + k + 1, "has a cell to the right of the header; name it")
            columns = [pa.array([row[at] for row in some], pa.string()) for at in places]
            yield pa.record_batch(columns, names=list(names))
            done += len(some)
