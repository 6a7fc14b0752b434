"""A canary in a stream of weights: told as the account says, and planted leaks are found."""

import pytest

from dplasso.audit.stream_canary import told_of_a_row
from dplasso.streams import account, constructions, covers


@pytest.mark.parametrize("construction", ["buffered", "band", "tree"])
@pytest.mark.parametrize("row", [0, 8, 11])
def test_a_row_is_told_as_well_as_the_account_says_and_no_better(construction, row):
    told = told_of_a_row(row, construction=construction)
    assert not told.alarming
    assert told.measured == pytest.approx(told.by_matrix, abs=5.0 * told.error)
    if construction != "tree" or row == 8:
        assert told.by_matrix > 0.999


def test_too_little_noise_is_found(monkeypatch):
    """Noise for a row of half the length."""
    honest = account.deviation
    monkeypatch.setattr(
        constructions.account, "deviation", lambda settings, moved: honest(settings, moved / 2.0)
    )
    told = told_of_a_row(8, construction="buffered")
    assert told.alarming and told.measured == pytest.approx(2.0, abs=5.0 * told.error)


def test_a_block_added_clean_is_found(monkeypatch):
    def forgetful(block):
        def cover(step):
            start = (step - 1) // block * block
            return covers.prefix(start, step - start)

        return cover

    monkeypatch.setattr(covers, "root_kept", forgetful)
    assert any(told_of_a_row(row, construction="tree").alarming for row in (10, 11, 12))


def test_rows_that_are_not_clipped_are_found(monkeypatch):
    """A learner whose gradients are twice as long as it says, which the noise matrix cannot see."""
    from dplasso.estimators import online_base

    class Careless(online_base.StreamLearner):
        def __init__(self, *parts, clip, **more):
            super().__init__(*parts, clip=clip, **more)
            self._total = _Doubled(self._total)

    class _Doubled:
        """Counts 2^bits as half the sensitivity."""

        def __init__(self, total):
            self._real, self.bits, self.unit = total, total.bits, 2.0 * total.unit
            self.total = total.total

        def stretch(self, steps):
            noise = self._real.stretch(steps)
            return type(noise)(noise.values // 2, noise.floors)

    monkeypatch.setattr(online_base, "StreamLearner", Careless)
    told = told_of_a_row(8)
    assert told.by_matrix < 1.0 + 1e-6 and told.alarming
