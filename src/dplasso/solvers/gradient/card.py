"""A descent on a card: its rows, its noise and its iterate are in the card's memory."""

from collections.abc import Callable

import numpy as np

from dplasso.base.arrays import Floats, Ints
from dplasso.kernels.cuda.device import Device
from dplasso.mechanisms.card_noise import CardNoise
from dplasso.mechanisms.grid_gaussian import AddsNoise, GridGaussian
from dplasso.solvers.gradient.card_conditioning import CardConditioning
from dplasso.solvers.gradient.card_iterate import CardIterate, CardSums
from dplasso.solvers.gradient.card_rows import CardRows
from dplasso.solvers.gradient.conditioning import Conditioning
from dplasso.solvers.gradient.plan import GradientPlan

_KEY_WORDS = 4  # of 64 bits
_NEWS = 2  # numbers that the noise reports


class CardBackend:
    """Rows, noise and iterate on a card (`dplasso.solvers.gradient.backend.Backend`).

    A step sends the intercepts and a key to the card, and reads the released sums of the constants
    and the number of close calls. Nothing as long as a row or a column is copied, unless columns
    are re-weighted or the matrix does not fit.

    Formal guarantees
    -----------------
    Sums are those of `PrivateRows` and noise is that of `GridGaussian`, to the last bit, so all
    guarantees of a descent on threads hold.
    """

    def __init__(self, device: Device, rows: CardRows, plan: GradientPlan) -> None:
        self._device, self._rows, self._plan = device, rows, plan
        shape = (plan.outputs, plan.n_columns + 1)
        self._sums, self._released = (device.zeros(shape, np.int64) for _ in range(2))
        # What a step sends, a key and the intercepts, and what it reads.
        self._letter = device.mailbox(_KEY_WORDS + plan.outputs, np.uint64)
        self._news = device.mailbox(_NEWS + plan.outputs, np.uint64)
        self._noise: tuple[AddsNoise | None, CardNoise | None] = (None, None)
        self._conditioning: Conditioning | None = None
        self._place: CardConditioning | None = None
        # The launches of a step with this conditioning, recorded.
        self._step: Callable[[], None] | None = None
        self._seen = False  # whether a step with this conditioning and a move was made

    def release_mass(self, noise: AddsNoise, generator: np.random.Generator) -> Ints:
        out = self._device.empty(self._plan.n_columns, np.int64)
        self._rows.mass(out)
        drawn = self._drawn_on_card(noise, out.size)
        if drawn is None:
            held: Ints = self._device.get(out)
            noise.add_to(held, generator)
            return held
        secret = self._write(np.zeros(self._plan.outputs), generator)
        self._letter.send()
        self._device.clear(self._news.buffer)
        drawn.draw(out.size, self._letter.buffer, self._news.buffer)
        drawn.add_to(out, out, self._news.buffer)
        news = self._device.get(self._news.buffer)
        drawn.settle(out, out, self._letter.buffer, secret, news)
        return self._device.get(out)

    def start(self) -> CardIterate:
        return CardIterate(self._device, self._plan.outputs, self._plan.n_columns)

    def release_sums(
        self,
        conditioning: Conditioning,
        iterate: CardIterate,
        intercepts: Floats,
        noise: AddsNoise,
        generator: np.random.Generator,
    ) -> CardSums:
        place = self._at(conditioning)
        drawn = self._drawn_on_card(noise, self._sums.size)
        secret = self._write(intercepts, None if drawn is None else generator)
        self._run(place, iterate, drawn)
        news = self._news.host
        if drawn is None or news[:_NEWS].any():
            places = None if place.places is None else self._device.get(place.places)
            if drawn is None:
                self._add_in_memory(places, noise, generator)
            else:
                flat = (self._sums.reshape(-1), self._released.reshape(-1))
                drawn.settle(*flat, self._letter.buffer, secret, news, places)
                self._step = None  # the list of close calls may have moved
            self._read()
        constants = news[_NEWS:].view(np.int64).copy()
        return CardSums(self._released, constants, place.buffers[0])

    def copied(self, released: CardSums) -> Ints:
        return self._device.get(released.buffer)

    def _at(self, conditioning: Conditioning) -> CardConditioning:
        """The conditioning on the card, with the rows weighed under it."""
        if self._place is None or conditioning is not self._conditioning:
            self._conditioning, self._step, self._seen = conditioning, None, False
            self._place = CardConditioning.on(self._device, conditioning, self._plan.outputs)
            self._rows.weigh(self._place)
            self._device.clear(self._released)  # sums of dropped columns are not released
        return self._place

    def _run(self, place: CardConditioning, iterate: CardIterate, drawn: CardNoise | None) -> None:
        """Make the last move, form the sums, add noise and read the news."""
        moves = iterate.moves
        flat, released = self._sums.reshape(-1), self._released.reshape(-1)
        letter, news = self._letter.buffer, self._news.buffer

        def launches() -> None:
            self._letter.send()
            self._device.clear(news)
            if drawn is not None:
                size = len(flat if place.places is None else place.places)
                noise = self._device.beside(lambda: drawn.draw(size, letter, news))
            if moves:
                iterate.launch_move()
            centres = self._rows.centres(place, iterate.on_card)
            self._rows.sums(place, iterate.on_card, letter[_KEY_WORDS:], centres, self._sums)
            if drawn is not None:
                self._device.join(noise)
                drawn.add_to(flat, released, news, place.places)
            self._read_constants()
            self._news.fetch()

        if moves and self._step is not None:
            self._step()
        elif moves and self._rows.resident and self._seen:
            self._step = self._device.recorded(launches)
            self._step()
        else:
            launches()
        self._seen = moves
        self._device.wait()
        iterate.moved()

    def _add_in_memory(
        self, places: Ints | None, noise: AddsNoise, generator: np.random.Generator
    ) -> None:
        """Add the noise of a mechanism that is not on the card, such as an audit's."""
        held: Ints = self._device.get(self._sums).reshape(-1)
        own = held if places is None else held[places]
        noise.add_to(own, generator)
        released = own if places is None else np.zeros_like(held)
        if places is not None:
            released[places] = own
        self._device.set(self._released, released.reshape(self._released.shape))

    def _write(self, intercepts: Floats, generator: np.random.Generator | None) -> bytes:
        """Write intercepts, and a key for the noise, which is drawn now, into the letter."""
        secret = bytes(8 * _KEY_WORDS) if generator is None else generator.bytes(8 * _KEY_WORDS)
        self._letter.host[:_KEY_WORDS] = np.frombuffer(secret, "<u8")
        self._letter.host[_KEY_WORDS:] = intercepts.view(np.uint64)
        return secret

    def _read_constants(self) -> None:
        outputs, apart = self._released.shape
        facts = (outputs, apart, self._released, self._news.buffer[_NEWS:])
        self._device.launch("read_constants", outputs, *facts)

    def _read(self) -> None:
        """Read the constants again, after noise was added in another way."""
        self._read_constants()
        self._news.fetch()
        self._device.wait()

    def _drawn_on_card(self, noise: AddsNoise, size: int) -> CardNoise | None:
        """The noise of a mechanism on the card; None if it is none, or not drawn there.

        An audit passes mechanisms of its own, which record the noise.
        """
        if type(noise) is not GridGaussian or noise.cells is None:
            return None
        known, drawn = self._noise
        if drawn is None or known is not noise:
            drawn = CardNoise(self._device, noise.cells, size)
            self._noise, self._step = (noise, drawn), None
        return drawn
