"""Helpers for tests of model files."""

import hashlib
import io
import re
import zipfile

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dplasso.storage import ModelFileError, read

HEADER = {"name": "ö", "list": [1, 0.1, None, True], "empty": {}}
ARRAYS = {"a": np.array([[1.5, -0.0], [np.nan, np.inf]]), "b": np.array(["x", "yz"])}

# HEADER and ARRAYS as version 1 was first written.
FIRST = """
ZHBsYXNzby1tb2RlbCAxIHNoYTI1Nj1iMDYyOGZjNTQwNDMyZGMzNjJhMzU0Nzk4YzhlMjhmMDU0NDU4MWY1Y2JiZGYxM2Y5
YjEwYjRiOGNmOWM1NTEzClBLAwQUAAAAAAAAACEADXPoHDEAAAAxAAAACwAAAGhlYWRlci5qc29ueyJuYW1lIjoiw7YiLCJs
aXN0IjpbMSwwLjEsbnVsbCx0cnVlXSwiZW1wdHkiOnt9fVBLAwQUAAAAAAAAACEAyuu00qAAAACgAAAADAAAAGFycmF5cy9h
Lm5weZNOVU1QWQEAdgB7J2Rlc2NyJzogJzxmOCcsICdmb3J0cmFuX29yZGVyJzogRmFsc2UsICdzaGFwZSc6ICgyLCAyKSwg
fSAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAKAAAAAAAA+D8AAAAA
AAAAgAAAAAAAAPh/AAAAAAAA8H9QSwMEFAAAAAAAAAAhAFhC8aGQAAAAkAAAAAwAAABhcnJheXMvYi5ucHmTTlVNUFkBAHYA
eydkZXNjcic6ICc8VTInLCAnZm9ydHJhbl9vcmRlcic6IEZhbHNlLCAnc2hhcGUnOiAoMiwpLCB9ICAgICAgICAgICAgICAg
ICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgCngAAAAAAAAAeQAAAHoAAABQSwECFAMUAAAA
AAAAACEADXPoHDEAAAAxAAAACwAAAAAAAAAAAAAApAEAAAAAaGVhZGVyLmpzb25QSwECFAMUAAAAAAAAACEAyuu00qAAAACg
AAAADAAAAAAAAAAAAAAApAFaAAAAYXJyYXlzL2EubnB5UEsBAhQDFAAAAAAAAAAhAFhC8aGQAAAAkAAAAAwAAAAAAAAAAAAA
AKQBJAEAAGFycmF5cy9iLm5weVBLBQYAAAAAAwADAK0AAADeAQAAAAA=
"""

MEGABYTE = 1 << 20


def assert_same(found, wanted):
    """Assert that arrays are equal bit for bit, including type, order and sign of zero."""
    assert repr(found[0]) == repr(wanted[0])
    assert found[1].keys() == wanted[1].keys()
    for name, array in wanted[1].items():
        assert found[1][name].dtype == array.dtype and found[1][name].shape == array.shape
        assert found[1][name].tobytes() == array.tobytes()


def assert_refused(path, because=""):
    with pytest.raises(ModelFileError) as refusal:
        read(path)
    name, reason = str(refusal.value).split(str(path))  # names of tests are part of the path
    assert name == "" and re.search(because, reason), reason


def signed(content):
    """A first line that matches the content: anyone who writes a file can compute its digest."""
    return b"dplasso-model 1 sha256=%s\n" % hashlib.sha256(content).hexdigest().encode() + content


def zipped(*members, compression=zipfile.ZIP_STORED):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as made:
        for name, data in members:
            made.writestr(name, data)
    return buffer.getvalue()


def npy(array, **options):
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def npy_saying(header, data=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
some_arrays = hnp.arrays(
    dtype=st.sampled_from(["?", "i1", "i2", "i4", "i8", "u1", "u8", "f2", "f4", "f8"])
    | st.integers(1, 5).map(lambda width: f"U{width}"),
    shape=hnp.array_shapes(min_dims=0, min_side=0, max_dims=3),
)
array_names = st.from_regex("[A-Za-z0-9_]{1,20}", fullmatch=True)
