"""Arrow IPC files, which are also called Feather, and Arrow streams."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dplasso.base.extras import require
from dplasso.reading.table_files.base import BATCH, TableFile

pa = require("pyarrow", "ipc", extra="tables", purpose="reading Arrow and Feather files")
_FILE, _FEATHER_1 = b"ARROW1", b"FEA1"  # the first bytes of a file; a stream has none


class ArrowTable(TableFile):
    """The batches of the writer are read one by one, and checked before they are used."""

    def _opened(self) -> list[str]:
        with open(self.path, "rb") as file:
            head = file.read(len(_FILE))
        if head.startswith(_FEATHER_1):
            raise ValueError(f"{self.path} is of the first version of Feather; write it as Parquet")
        self._is_file = head == _FILE
        with self._reader(None) as reader:
            schema = reader.schema
        self.kinds = dict(zip(schema.names, schema.types, strict=True))
        return list(schema.names)

    @contextmanager
    def _reader(self, names: Sequence[str] | None) -> Iterator[Any]:
        places = [] if names is None else sorted(self.names.index(name) for name in names)
        options = pa.ipc.IpcReadOptions(included_fields=places)  # [] includes all
        opened = pa.ipc.open_file if self._is_file else pa.ipc.open_stream
        with pa.memory_map(self.path) as source, opened(source, options=options) as reader:
            yield reader

    def _batches(self, names: Sequence[str]) -> Iterator[Any]:
        with self._reader(names) as reader:
            found = (
                map(reader.get_batch, range(reader.num_record_batches)) if self._is_file else reader
            )
            for batch in found:
                batch.validate(full=True)  # damaged offsets would be followed unchecked
                for start in range(0, len(batch), BATCH):
                    yield batch.slice(start, BATCH)
