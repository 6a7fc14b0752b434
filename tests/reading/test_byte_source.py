"""Blocks of whole lines from files of every format, whole and damaged."""

import bz2
import gzip
import lzma
import os
import threading

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from dplasso.reading import byte_source
from dplasso.reading.byte_source import line_blocks

PACKERS = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstandard.compress,
}
packed = pytest.mark.parametrize("form", [form for form in PACKERS if form != "plain"])
every = pytest.mark.parametrize("form", PACKERS)

TEXT = b"".join(b"line %d %s\n" % (k, b"x" * (k * 37 % 91)) for k in range(2000))


@pytest.fixture
def file(tmp_path):
    """Writes bytes to a file whose name says nothing about them."""

    def write(content):
        path = tmp_path / "data"
        path.write_bytes(content)
        return path

    return write


def blocks_of(path, **options):
    """Copies: a block is valid only until the next one is asked for."""
    blocks = [block.tobytes() for block in line_blocks(path, **options)]
    assert all(block.endswith(b"\n") for block in blocks)
    return blocks


@every
@pytest.mark.parametrize("size", [1, 7, 64, 4096, 1 << 20])
def test_the_blocks_make_up_the_file(file, form, size):
    blocks = blocks_of(file(PACKERS[form](TEXT)), size=size)
    assert b"".join(blocks) == TEXT
    assert len(blocks) > 1 or size > len(TEXT)


@every
def test_a_missing_last_line_end_is_added(file, form):
    assert b"".join(blocks_of(file(PACKERS[form](b"a\nb")), size=3)) == b"a\nb\n"


@every
def test_an_empty_file_has_no_blocks(file, form):
    assert blocks_of(file(PACKERS[form](b""))) == []


@settings(max_examples=200, deadline=None)
@given(
    text=st.binary(max_size=60).map(lambda raw: raw.replace(b"a", b"\n")), size=st.integers(1, 9)
)
def test_any_text_is_cut_at_line_ends_only(tmp_path_factory, text, size):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(b"1" + text)  # no format begins like this
    expected = b"1" + text if text.endswith(b"\n") else b"1" + text + b"\n"
    assert b"".join(blocks_of(path, size=size)) == expected


def test_a_line_longer_than_many_blocks_comes_whole(file):
    long = b"y" * 10_000 + b"\n"
    blocks = blocks_of(file(b"a\n" + long + b"b\n"), size=16)
    assert b"".join(blocks) == b"a\n" + long + b"b\n"
    assert any(long in block for block in blocks)


@packed
@pytest.mark.parametrize("piece", [1, 3, 1000])
def test_streams_one_after_the_other_are_read_on(file, form, piece, monkeypatch):
    monkeypatch.setattr(byte_source, "PIECE", piece)
    pack = PACKERS[form]
    path = file(pack(b"a\nb") + pack(b"") + pack(b"c\n") + pack(b"d"))
    assert b"".join(blocks_of(path)) == b"a\nbc\nd\n"


@pytest.mark.parametrize("form", ["gzip", "xz"])
def test_padding_between_streams_is_skipped(file, form):
    pack = PACKERS[form]
    path = file(pack(b"a\n") + bytes(8) + pack(b"b\n") + bytes(512))
    assert b"".join(blocks_of(path)) == b"a\nb\n"


@packed
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_file_that_ends_early_is_refused(file, form, kept):
    content = PACKERS[form](TEXT)
    path = file(content[: max(int(kept * len(content)), 8)])
    with pytest.raises(ValueError, match=rf"{path}.*fetch the file again"):
        blocks_of(path)


@pytest.mark.parametrize("form", ["gzip", "bzip2", "xz"])
def test_damage_is_noticed_wherever_it_is(file, form):
    """These formats carry a checksum; what stands in no checksum is caught by the format."""
    content = bytearray(PACKERS[form](TEXT))
    for place in range(12, len(content), max(len(content) // 50, 1)):
        content[place] ^= 0x55
        with pytest.raises(ValueError, match="fetch the file again"):
            blocks_of(file(bytes(content)))
        content[place] ^= 0x55


def test_damage_to_zstd_is_noticed_by_its_checksum(file):
    content = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(TEXT))
    content[len(content) // 2] ^= 0x55
    with pytest.raises(ValueError, match="fetch the file again"):
        blocks_of(file(bytes(content)))


@packed
def test_something_after_the_last_stream_is_refused(file, form):
    with pytest.raises(ValueError, match="fetch the file again"):
        blocks_of(file(PACKERS[form](TEXT) + b"more than nothing"))


@every
def test_progress_ends_at_the_size_of_the_file(file, form):
    path = file(PACKERS[form](TEXT))
    calls = []
    caller = threading.get_ident()

    def progress(done, total):
        assert threading.get_ident() == caller
        calls.append((done, total))

    blocks_of(path, size=1024, progress=progress)
    size = path.stat().st_size
    assert calls[-1] == (size, size)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert {total for _, total in calls} == {size}


def test_a_pipe_has_no_known_size(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(TEXT,))
    writer.start()
    calls = []
    blocks = blocks_of(path, size=4096, progress=lambda *call: calls.append(call))
    writer.join()
    assert b"".join(blocks) == TEXT
    assert calls[-1] == (len(TEXT), None)


def test_a_reader_that_stops_early_leaves_no_thread(file):
    blocks = line_blocks(file(TEXT), size=64)
    next(blocks)
    blocks.close()
    assert not [t for t in threading.enumerate() if t.name.startswith("dplasso-reading")]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        next(line_blocks(tmp_path / "none"))
