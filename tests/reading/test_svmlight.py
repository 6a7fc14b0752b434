"""Files in svmlight format: what scikit-learn reads, to the last bit, or a refused line."""

import bz2
import gzip
import io
import lzma
import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from dplasso.privacy import leaks
from dplasso.reading import RowChunk, assemble, byte_source, read_rows, svmlight, svmlight_chunks
from dplasso.reading.svmlight import number_at

PACKERS = [bytes, gzip.compress, bz2.compress, lzma.compress, zstandard.compress]
BLOCKS = st.sampled_from([1, 2, 3, 5, 8, 13, 40, 200, byte_source.BLOCK])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("svmlight")


class Counted:
    """A text that counts the bytes taken from it."""

    def __init__(self, text):
        self.text, self.taken = np.frombuffer(text, np.uint8), 0

    def __getitem__(self, place):
        found = self.text[place]
        self.taken += len(found)
        return found


@pytest.mark.parametrize("end", [b" ", b"\t", b"#", b"\n", b"\r\n", b""])
@pytest.mark.parametrize("digits", [1, 63, 64, 65, 5000])
def test_a_number_is_cut_out_without_the_rest_of_its_line(end, digits):
    number = b"3" * digits
    rest = b"" if not end else end + b" 7:1" * 10**6 + b"\n"
    text = Counted(b"1 5:" + number + rest)
    assert number_at(text, 4) == number
    assert text.taken <= 4 * digits + 64


def write(folder, text, pack=bytes):
    path = folder / "data"
    path.write_bytes(pack(text))
    return path


def read(path, block=byte_source.BLOCK, threads=None, zero_based=True, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_source, "BLOCK", block)
        if threads is not None:
            patch.setattr(svmlight.pool, "available", lambda: threads)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", leaks.PrivacyLeakWarning)
            rows = read_rows(path, zero_based=zero_based, **options)
    return rows.X, rows.y


def test_a_number_of_columns_that_was_read_is_reported_and_refused_in_strict_mode(tmp_path):
    path = write(tmp_path, b"1 1:1 9:1\n")
    with pytest.warns(leaks.PrivacyLeakWarning, match="number of columns was read"):
        read_rows(path)
    read_rows(path, n_features=9)  # no warning
    leaks.set_strict(True)
    try:
        with pytest.raises(leaks.PrivacyLeakError, match="columns"):
            read_rows(path)
    finally:
        leaks.set_strict(None)


def assert_same(ours, theirs):
    (X, y), (A, b) = ours, theirs
    assert X.shape == A.shape
    for mine, other in ((X.indptr, A.indptr), (X.indices, A.indices)):
        np.testing.assert_array_equal(mine, other)
    for mine, other in ((X.data, A.data), (y, b)):
        assert mine.dtype == np.float64
        assert mine.tobytes() == np.asarray(other).tobytes()  # tells 0 from -0


def refused_line(path, **options):
    """The number of the line at which reading stops."""
    with pytest.raises(ValueError, match=f"^{re.escape(str(path))}, line ") as raised:
        read(path, **options)
    return int(re.search(r", line (\d+): ", str(raised.value))[1])


# Printed with 16 digits, the very largest numbers may be rounded to infinity.
NUMBERS = st.floats(-1e308, 1e308)


@st.composite
def matrices(draw):
    rows, columns = draw(st.integers(1, 8)), draw(st.integers(1, 12))
    density = draw(st.floats(0, 1))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = sp.random_array((rows, columns), density=density, rng=rng, format="csr")
    X.data = np.array(draw(st.lists(NUMBERS, min_size=X.nnz, max_size=X.nnz)), float)
    return X, np.array(draw(st.lists(NUMBERS, min_size=rows, max_size=rows)))


@settings(max_examples=150, deadline=None)
@given(data=matrices(), one=st.booleans(), comment=st.booleans(), block=BLOCKS)
def test_dumped_matrices_are_read_as_scikit_learn_reads_them(folder, data, one, comment, block):
    X, y = data
    path = folder / "dumped"
    dump_svmlight_file(X, y, str(path), zero_based=not one, comment="a: b" if comment else None)
    theirs = load_svmlight_file(str(path), zero_based=not one)
    assert_same(read(path, block, zero_based=not one), theirs)


BLANKS = st.text(" \t", min_size=1, max_size=3)
WORDS = st.one_of(
    NUMBERS.map(repr),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, max_value=10**6).map(str),
    st.sampled_from(["1", "-1", "+1", "0", "-0", ".5", "5.", "1E3", "2e-400", "0" * 30 + "7"]),
).filter(lambda word: abs(float(word)) < np.inf)


@st.composite
def lines(draw):
    kind = draw(st.sampled_from(["row", "row", "row", "blank", "comment"]))
    tail = draw(st.sampled_from(["", " ", "\t", "#", " # 3:4 qid:1", "\r", " \r"]))
    if kind == "blank":
        return draw(st.sampled_from(["", " ", "\t\t", "\r"]))
    if kind == "comment":
        return "# 1 1:1"
    words = [draw(WORDS)]
    if draw(st.booleans()):
        words.append(f"qid:{draw(st.integers(-5, 10**6))}")
    for index in sorted(draw(st.sets(st.integers(0, 10**6), max_size=6))):
        words.append(f"{index:0{draw(st.integers(1, 9))}}:{draw(WORDS)}")
    lead = draw(st.sampled_from(["", "", " ", "\t"]))
    return lead + "".join(word + draw(BLANKS) for word in words[:-1]) + words[-1] + tail


@settings(max_examples=150, deadline=None)
@given(
    text=st.lists(lines(), max_size=10),
    ended=st.booleans(),
    block=BLOCKS,
    pack=st.sampled_from(PACKERS),
    threads=st.integers(1, 3),
)
def test_untidy_text_is_read_as_scikit_learn_reads_it(folder, text, ended, block, pack, threads):
    content = ("\n".join(text) + ("\n" if ended else "")).encode()
    ours = read(write(folder, content, pack), block, threads=threads)
    assert_same(ours, load_svmlight_file(io.BytesIO(content), zero_based=True))


@pytest.mark.parametrize("text", [b"", b"\n", b"# nothing\n", b"1\n-1\n", b"1 0:2\n", b"1 1:2"])
def test_little_or_nothing_in_the_file(folder, text):
    theirs = load_svmlight_file(io.BytesIO(text), zero_based=True)
    assert_same(read(write(folder, text)), theirs)


def test_a_line_far_longer_than_a_block(folder):
    rng = np.random.default_rng(0)
    values = rng.normal(size=5000)
    row = b"1 " + b" ".join(b"%d:%r" % (k + 1, float(v)) for k, v in enumerate(values))
    text = b"1 1:2\n" + row + b"\n-1 3:4\n"
    assert_same(
        read(write(folder, text), 64), load_svmlight_file(io.BytesIO(text), zero_based=True)
    )


@pytest.mark.parametrize("block", [1, 10, 100, byte_source.BLOCK])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_refused_line_is_named(folder, block, threads):
    tidy = [b"1 1:2 3:4" + b" 5:6" * (k % 3 == 0) for k in range(40)]
    for place in (0, 1, 19, 20, 21, 39):
        text = b"\n".join([*tidy[:place], b"1 1:x", *tidy[place + 1 :]])
        assert refused_line(write(folder, text), block=block, threads=threads) == place + 1


def test_blank_lines_and_comments_count_as_lines(folder):
    assert refused_line(write(folder, b"# a\n\n1 1:2\r\n\r\n1 1:2 1:3\n")) == 5


@pytest.mark.parametrize(
    "line", [b"777 1:x", b"777 1:1e999", b"777,778 1:1", b"777:1 2:2", b"1 777:1 777:2", b"777x"]
)
def test_a_refusal_never_shows_the_data(folder, line):
    with pytest.raises(ValueError) as raised:
        read(write(folder, b"1 1:1\n" + line + b"\n"))
    assert "777" not in str(raised.value)
    assert "line 2" in str(raised.value)


def test_numbers_left_to_float_are_put_in_place(folder):
    tie = "9007199254740993." + "0" * 30
    text = f"{tie}1 1:{tie}2#x\n1 2:3\n-{tie}1\t3:-{tie}3\r\n".encode()
    for threads in (1, 2):
        ours = read(write(folder, text), threads=threads)
        assert_same(ours, load_svmlight_file(io.BytesIO(text), zero_based=True))


def test_a_long_number_that_turns_out_infinite_is_refused(folder):
    over = str(2**1024 - 2**970)  # the least number that is rounded to infinity
    under = str(2**1024 - 2**970 - 1)
    assert read(write(folder, f"1 1:{under}\n".encode()))[0].data.tolist() == [
        1.7976931348623157e308
    ]
    for text in (f"1\n1 1:{over}\n", f"1\n{over} 1:1\n1 x"):
        assert refused_line(write(folder, text.encode()), threads=1) == 2


def test_the_number_of_columns_may_be_given(folder):
    path = write(folder, b"1 1:2 5:3\n")
    for zero_based, least in ((True, 6), (False, 5)):
        for columns in (least, least + 7):
            theirs = load_svmlight_file(str(path), n_features=columns, zero_based=zero_based)
            assert_same(read(path, n_features=columns, zero_based=zero_based), theirs)
        assert refused_line(path, n_features=least - 1, zero_based=zero_based) == 1
    with pytest.raises(ValueError, match="raise n_features"):
        read(write(folder, b"1 0:2 5:3\n"), n_features=5)


def test_index_0_is_refused_where_indices_start_at_1(folder):
    assert refused_line(write(folder, b"1 1:1\n1 0:2\n"), zero_based=False) == 2


def test_the_largest_index(folder):
    path = write(folder, b"1 2147483647:1\n")
    X, _ = read(path, zero_based=False)
    assert (X.shape, X.indices.dtype, X.indices.tolist()) == ((1, 2**31 - 1), np.int32, [2**31 - 2])
    X, _ = read(path, zero_based=True)
    assert (X.shape, X.indices.dtype, X.indices.tolist()) == ((1, 2**31), np.int64, [2**31 - 1])
    assert refused_line(write(folder, b"1 2147483648:1\n"), zero_based=False) == 1


def test_a_number_of_columns_that_makes_no_sense(folder):
    with pytest.raises(ValueError, match="n_features"):
        read(write(folder, b"1 1:1\n"), n_features=0)


def test_chunks_make_up_the_file(folder):
    text = b"".join(b"%d %d:1 %d:2\n" % (k, k, k + 5) for k in range(1, 200))
    path = write(folder, text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_source, "BLOCK", 64)
        chunks = list(svmlight_chunks(path, zero_based=False))
    assert len(chunks) > 20
    assert all(chunk.indptr[0] == 0 and chunk.indptr[-1] == chunk.entries for chunk in chunks)
    assert sum(chunk.rows for chunk in chunks) == 199
    assert_same(assemble(chunks), load_svmlight_file(str(path), zero_based=False))


def test_progress_is_passed_on(folder):
    path = write(folder, b"1 1:1\n" * 100, gzip.compress)
    calls = []
    read(path, 16, progress=lambda *call: calls.append(call))
    assert calls[-1] == (path.stat().st_size,) * 2


def chunk_of(X, kind=np.int32):
    X = sp.csr_array(X)
    labels = np.arange(X.shape[0], dtype=float)
    return RowChunk(labels, X.indptr.astype(np.int64), X.indices.astype(kind), X.data)


def test_assembled_arrays_outgrow_their_first_room(monkeypatch):
    monkeypatch.setattr("dplasso.data.row_chunks._FIRST_BYTES", 64)
    parts = [sp.random_array((7, 30), density=0.4, rng=k, format="csr") for k in range(40)]
    X, y = assemble(map(chunk_of, parts), 30)
    assert_same((X, y), (sp.csr_array(sp.vstack(parts)), np.tile(np.arange(7.0), 40)))


def test_chunks_of_wide_and_narrow_indices_go_together():
    X = np.array([[1.0, 0.0, 2.0]])
    wide = chunk_of(X, np.int64)
    wide.indices[1] = 2**40
    joined, _ = assemble([chunk_of(X), wide, chunk_of(X)])
    assert joined.indices.tolist() == [0, 2, 0, 2**40, 0, 2]
    assert joined.shape == (3, 2**40 + 1)
    assert assemble([chunk_of(X, np.int64)])[0].indices.dtype == np.int32


def test_too_few_columns_are_refused():
    with pytest.raises(ValueError, match="columns"):
        assemble([chunk_of([[1.0, 2.0]])], 1)


def mutated(rng, line):
    """The line with a few bytes replaced, inserted, deleted or repeated."""
    line = bytearray(line)
    for _ in range(rng.integers(1, 4)):
        place = int(rng.integers(len(line) + 1))
        new = b"0123456789:+-.eE# \t\r,qidnaf_x\x00\xff"[int(rng.integers(30))]
        size = int(rng.integers(3))
        line[place : place + size] = [b"", bytes([new]), line[place : place + 5]][rng.integers(3)]
    return bytes(line).replace(b"\n", b" ")


def scikit_learn_reads(text):
    try:
        return load_svmlight_file(io.BytesIO(text), zero_based=True)
    except (ValueError, OverflowError):
        return None


def test_mutated_lines_mean_what_scikit_learn_takes_them_to_mean_or_are_refused(folder):
    rng = np.random.default_rng(0)
    seeds = [b"1 1:0.5 20:-3e-7 300:1", b"-1 qid:3 2:12345.678 7:1e10 # why", b"0.25 1:.5\t2:5.\r"]
    accepted = refused = 0
    for k in range(1500):  # benchmarks/fuzz_reader.py makes more of them
        line = mutated(rng, seeds[k % 3])
        path = write(folder, b"1 1:1\n" + line + b"\n2 2:2\n")
        try:
            ours = read(path, zero_based=True, threads=1)
        except ValueError as error:
            assert f"{path}, line 2: " in str(error)
            refused += 1
        else:
            theirs = scikit_learn_reads(path.read_bytes())
            assert theirs is not None, line
            assert_same(ours, theirs)
            accepted += 1
    assert min(accepted, refused) > 180
