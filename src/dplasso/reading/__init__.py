"""How files become rows: block by block, in bounded memory, refusing what is not understood."""

from dplasso.reading.chunks import RowChunk, assemble
from dplasso.reading.svmlight import read_svmlight, svmlight_chunks

__all__ = ["RowChunk", "assemble", "read_svmlight", "svmlight_chunks"]
