"""A party in a job of moments: it masks its rows, and adds up its share of the matrix."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base.arrays import Floats
from dplasso.base.wording import ParameterError
from dplasso.federated.errors import Refused
from dplasso.federated.joint_spending import label_of
from dplasso.federated.moments import messages, ring
from dplasso.federated.moments.centring import Centring
from dplasso.federated.moments.deal import Deal
from dplasso.federated.moments.entries import opened_entries
from dplasso.federated.moments.messages import KEY_BYTES, TAG_BYTES, Kind, checksum_of
from dplasso.federated.moments.noise import NoiseShare
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.ring import Ring
from dplasso.federated.moments.rows import RowMap, Units, labels_of, placed
from dplasso.federated.moments.sealing import PairSecrets, decrypted, encrypted
from dplasso.federated.moments.terms import MomentTerms
from dplasso.federated.moments.used_once import UsedOnce
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy.accountant import Accountant

_WRAPPED = KEY_BYTES + TAG_BYTES


class MomentParty:
    """Turns a deal into masked rows, and the others' masked rows into a share of the matrix.

    All messages are bytes, and functions of the inputs, of the deal and of ``secret``. A party that
    restarts with the same of these, and with its ``used`` on disk, sends the same bytes again.

    Parameters
    ----------
    terms : MomentTerms
    name : str
        The name of this party.
    X : array-like or sparse matrix
        Its rows.
    pairs : PairSecrets
        What it shares with each other party and not with the server.
    x_bound : number, or one number or pair per column, default 1
        Public bounds on its entries.
    y : array-like, optional
        The labels, at the label holder and nowhere else.
    places : sequence of int, optional
        The place of each row, below ``n_rows``, the same for a person at all parties.
    accountant : Accountant, optional
        It is charged before the share is drawn.
    used : UsedOnce, optional
        What this party used before. Without one on disk, a party that stops must not go on: all
        begin another attempt.
    secret : bytes, optional
        32 random bytes that the party keeps to itself; noise follows from them.
    random_state : int, Generator or None, default None
        Where ``secret`` is drawn from. A seed gives no privacy.

    Attributes
    ----------
    centre : array or None
        What rows are centred about, in units of their bounds. It stays with the party.

    Formal guarantees
    -----------------
    - Rows are centred about noisy means (`Centring`), which show nothing before the matrix is
      opened: the masked rows hide them, too. They are charged with the matrix.
    - Masked rows, A - U modulo 2^64, are uniform whatever A is, and U serves once: a deal is used
      for one table in one job and attempt, or refused. They are sealed for the other parties,
      since the server knows U.
    - The share holds this party's noise and, for every other party, a mask that only the two have
      and that cancels in the sum. So the shares of all parties, to anyone who lacks the pairs'
      keys, are uniform but for their sum. That sum is the release that `MomentPlan` prices.
    - Parties are assumed to follow the protocol. The server, together with any one other party,
      recovers A.
    """

    def __init__(
        self,
        terms: MomentTerms,
        name: str,
        X: Any,
        pairs: PairSecrets,
        *,
        x_bound: Any = 1.0,
        y: ArrayLike | None = None,
        places: Sequence[int] | None = None,
        accountant: Accountant | None = None,
        used: UsedOnce | None = None,
        secret: bytes | None = None,
        random_state: Any = None,
        noise_of: NoiseOf = GridGaussian,
    ) -> None:
        self._terms, self._name, self._pairs = terms, name, pairs
        self._plan, self._columns = moment_plan(terms), terms.columns(name)
        self._accountant, self._used = accountant, used or UsedOnce()
        self._noise, self._noise_of = NoiseShare(self._plan, name, noise_of), noise_of
        bits = random_bits(random_state, name="random_state")
        self._secret = bits.generator.bytes(KEY_BYTES) if secret is None else secret
        if len(self._secret) != KEY_BYTES:
            raise ParameterError(f"{{secret}} must be {KEY_BYTES} random bytes")
        self._is_secure = bits.secure or secret is not None
        if (y is not None) != (name == terms.label_holder):
            raise ParameterError(
                f"{{y}} must be given at the label holder, {terms.label_holder}, and nowhere else"
            )
        self.centre = self._centred(X, x_bound)
        rows = RowMap(terms, name, x_bound, self.centre).whole(X)
        if y is not None:
            labels = labels_of(y, terms, self._plan.label_entry)
            if len(labels) != len(rows):
                raise ParameterError("{y} must be one for each row of X")
            ones = np.full((len(rows), 1), self._plan.entry)
            rows = np.hstack([rows, ones, labels])
        self._table = placed(rows, places, terms.n_rows).view(np.uint64)
        self._digest = hashlib.sha256(ring.to_bytes(self._table)).digest()
        self._deal: Deal | None = None
        self._one_at_a_time = threading.Lock()

    def _centred(self, X: Any, x_bound: Any) -> Floats | None:
        """Draw what rows are centred about. The same rows and secret have the same noise."""
        terms = self._terms
        if not terms.centring:
            return None
        cells = Units(x_bound, terms.parties[terms.number_of(self._name)].n_features).of(X)
        content = hashlib.sha256(cells.tobytes()).digest()
        derived = ring.derived(self._secret, b"centre", terms.digest, content)
        key = NoiseKey(derived, secure=self._is_secure)
        return Centring(self._plan, self._name, self._noise_of).drawn(cells, key.generator(0))

    @property
    def _others(self) -> list[str]:
        return [other for other in self._terms.names if other != self._name]

    def masked(self, deal: bytes) -> bytes:
        """Return the masked rows, sealed for all other parties."""
        with self._one_at_a_time:
            return self._masked(deal)

    def _masked(self, deal: bytes) -> bytes:
        dealt = Deal.from_bytes(self._terms, self._name, deal)
        # One deal per attempt: keys of seals serve once. And no seed in two attempts.
        own = self._digest + ring.derived(self._secret, b"known by")
        self._used.claim(b"deal" + self._terms.digest, dealt.seed + own)
        self._used.claim(b"seed" + dealt.seed, self._terms.digest + own)
        self._deal = dealt
        about = messages.about(Kind.MASKED, self._terms, self._name)
        key = ring.derived(self._secret, b"content", about, dealt.seed, self._digest)
        wrapped = [self._pairs.seal(other, key, about) for other in self._others]
        content = ring.to_bytes(self._table - dealt.mask)
        body = b"".join(wrapped) + encrypted(key, content, about)
        return self._as_ever(Kind.MASKED, body)

    def check(self, sender: str, masked: bytes) -> None:
        """Refuse masked rows of another party that are incomplete, or do not open."""
        try:
            self._opened(sender, masked)
        except Refused as refusal:
            raise Refused(f"{self._name} refuses the masked rows of {sender}: {refusal}") from None

    def share(self, masked: Mapping[str, bytes]) -> bytes:
        """Return this party's share of the noisy matrix, from the masked rows of all others."""
        with self._one_at_a_time:
            return self._shared(masked)

    def _shared(self, masked: Mapping[str, bytes]) -> bytes:
        dealt = self._deal
        if dealt is None:
            raise Refused("a party must have masked its own rows first; send it a deal")
        if set(masked) != set(self._others):
            raise Refused("masked rows of every other party are needed, and of no one else")
        opened = {other: self._opened(other, masked[other]) for other in self._others}
        inputs = hashlib.sha256(dealt.seed + self._digest)
        for other in self._others:
            inputs.update(hashlib.sha256(masked[other]).digest())
        name, content = b"share" + self._terms.digest, inputs.digest()
        self._charge_once(name)
        self._used.claim(name, content)
        total = self._products(dealt, opened)[opened_entries(self._terms)]
        key = NoiseKey(ring.derived(self._secret, name, content), secure=self._is_secure)
        total += self._noise.drawn(key.generator(0)).view(np.uint64)
        for other in self._others:
            pair = ring.expanded(self._pairs.mask_key(other, name), total.shape)
            total += pair if self._comes_before(other) else -pair
        return self._as_ever(Kind.SHARE, ring.to_bytes(total))

    def _as_ever(self, kind: Kind, body: bytes) -> bytes:
        """Return a message, if it is the one that was made before, should there be one.

        Another version of this code, or of a library that it uses, could make another one of the
        same inputs: with other noise, beside the one that was sent.
        """
        message = messages.packed(kind, self._terms, self._name, body)
        self._used.claim(b"sent" + bytes([kind]) + self._terms.digest, checksum_of(message))
        return message

    def _products(self, dealt: Deal, opened: Mapping[str, Ring]) -> Ring:
        """This party's part of the exact matrix: parts of all parties add up to M'M."""
        own, size = self._columns, self._terms.n_columns
        total = np.zeros((size, size), np.uint64)
        total[own, own] = ring.product(self._table, self._table)
        before = [opened[other] for other in self._others if not self._comes_before(other)]
        after = [opened[other] for other in self._others if self._comes_before(other)]
        # A_j'A_k = E_j'A_k + U_j'E_k + U_j'U_k, for j before k: k computes the first term, j the
        # second, and the deal has shares of the third.
        if before:
            total[: own.start, own] = ring.product(np.hstack(before), self._table) + dealt.before
        if after:
            total[own, own.stop :] = ring.product(dealt.mask, np.hstack(after)) + dealt.after
        return total

    def _opened(self, sender: str, message: bytes) -> Ring:
        """The masked rows of another party."""
        terms = self._terms
        shape = (terms.n_rows, terms.width(sender))
        wraps = [other for other in terms.names if other != sender]
        head, length = _WRAPPED * len(wraps), 8 * shape[0] * shape[1] + TAG_BYTES
        body = messages.unpacked(Kind.MASKED, terms, sender, message, head + length)
        about, place = messages.about(Kind.MASKED, terms, sender), wraps.index(self._name)
        wrapped = body[_WRAPPED * place : _WRAPPED * (place + 1)]
        key = self._pairs.open(sender, wrapped, about)
        return ring.from_bytes(decrypted(key, body[head:], about), shape)

    def _comes_before(self, other: str) -> bool:
        return self._terms.number_of(self._name) < self._terms.number_of(other)

    def _charge_once(self, name: bytes) -> None:
        """Charge the job before its noise is drawn; not again after a restart."""
        attempt = self._terms.attempt
        if self._accountant is not None and not self._used.is_claimed(name):
            self._accountant.charge(
                self._plan.event,
                delta=self._terms.delta,
                neighboring=self._terms.neighboring,
                label=label_of(f"{self._terms.job}, attempt {attempt}", self._terms.digest),
            )
