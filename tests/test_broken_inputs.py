"""Malformed model files and options get clear errors, and harm nothing (more in benchmarks)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import broken_inputs


@pytest.fixture(scope="module")
def playground(tmp_path_factory):
    folder = tmp_path_factory.mktemp("playground")
    return folder, broken_inputs.playground(folder)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**64))
def test_altered_models_are_sound_or_refused(playground, seed):
    folder, content = playground
    assert broken_inputs.check_model(folder / "x.dpl", content, seed) is None


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**64))
def test_odd_options_end_well(playground, seed):
    folder, _ = playground
    broken_inputs.playground(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert broken_inputs.check_command(folder, seed) is None
