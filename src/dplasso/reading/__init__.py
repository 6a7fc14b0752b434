"""Files are read into rows block by block, in bounded memory; unclear input is rejected."""

from dplasso.data.row_chunks import RowChunk, assemble
from dplasso.reading.conversion import convert
from dplasso.reading.reader import read_rows
from dplasso.reading.rows import Rows
from dplasso.reading.svmlight import svmlight_chunks

__all__ = [
    "RowChunk",
    "Rows",
    "assemble",
    "convert",
    "read_rows",
    "svmlight_chunks",
]
