"""A party in a deployed job of moments: what it keeps, so that it may stop at any moment."""

import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dplasso.base.arrays import Ints
from dplasso.base.wording import ParameterError
from dplasso.federated.errors import Refused
from dplasso.federated.framing import unframed
from dplasso.federated.job_party import JobParty
from dplasso.federated.messages import Ask, Gave, PartyRelease, PartyRequest
from dplasso.federated.moments.layout import PLACE_BYTES, Layout, sliced
from dplasso.federated.moments.messages import KEY_BYTES
from dplasso.federated.moments.party import MomentParty
from dplasso.federated.moments.party_model import MomentPartyModel
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.pseudonym_lists import PSEUDONYM_BYTES, order_of
from dplasso.federated.moments.pseudonyms import pseudonyms_of
from dplasso.federated.moments.rows import Units
from dplasso.federated.moments.sealing import SealedPairs
from dplasso.federated.moments.terms import MomentTerms
from dplasso.federated.moments.used_once import UsedOnce, lost
from dplasso.federated.overlap_count import noisy_sign_sums
from dplasso.federated.pairwise_keys import PairwiseKeys
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.mechanisms.random_bits import random_bits
from dplasso.privacy.accountant import Accountant
from dplasso.storage.atomic import replace_file
from dplasso.storage.private_files import open_own

_SENT, _MASKED, _PREPARED, _SHARED = "pseudonyms", "masked", "prepared", "share"  # steps
_PURPOSE = "secret-shared moments"


class MomentJobParty(JobParty):
    """Sends pseudonyms, masked rows and a share of the noisy matrix, and keeps its weights.

    Parameters
    ----------
    terms, name : MomentTerms, str
        The terms of the job, and the party's name in them.
    X : array-like or sparse matrix
        The party's rows.
    identifiers : sequence
        Person identifiers, one per row, unique.
    secret : bytes
        The secret that all parties share and the server does not have.
    keys : PairwiseKeys
        The keys of the party's pairs in this job.
    folder : Path
        Where all is kept that the party needs to go on after a restart.
    x_bound : number, or one number or pair per column, default 1
        Public bounds on the entries.
    y : array-like, optional
        The labels, at the label holder only: numbers, or classes from 0 on.
    classes : sequence of str, optional
        The names of the classes.
    accountant : Accountant, optional
        A ledger, charged for each part of the job before anything of it is drawn.

    Formal guarantees
    -----------------
    - Neighbouring: a person's rows are at the parties, or at none of them. Cost of all that is
      opened: `MomentPlan`, which is charged before any share is sent.
    - To the server: pseudonyms (`pseudonyms_of`), the count of common rows, sealed slices of masked
      rows, whose lengths follow from the terms, and a share that is uniform but for the sum of all.
      To other parties: masked rows, which are uniform to whoever lacks the mask.
    - One deal, one set of places and one set of masked rows of the others serve a job, or it is
      refused (`MomentParty`, `UsedOnce`). A request that comes again gets the same bytes, also
      after a restart: all of them follow from what is on disk.
    - A number that the server gives to two of the party's rows is refused. So are masked rows that
      do not open, before the model is charged.
    - Assumptions: those of `MomentParty`; the time that an answer takes is not protected.
    """

    def __init__(
        self,
        terms: MomentTerms,
        name: str,
        X: Any,
        identifiers: Sequence[object],
        secret: bytes,
        keys: PairwiseKeys,
        *,
        folder: Path,
        x_bound: Any = 1.0,
        y: ArrayLike | None = None,
        classes: Sequence[str] | None = None,
        accountant: Accountant | None = None,
        noise_of: NoiseOf = GridGaussian,
    ) -> None:
        self._terms, self._moment_plan, self._layout = terms, moment_plan(terms), Layout(terms)
        self._folder, self._noise_of = folder, noise_of
        self._X, self._identifiers, self._secret = X, identifiers, secret
        self._x_bound, self._y, self._classes = x_bound, y, classes
        names = pseudonyms_of(identifiers, secret, terms.job, terms.digest)
        self._order = order_of(names)
        self._pseudonyms = np.ascontiguousarray(names[self._order], "<u8").tobytes()
        self._pairs = SealedPairs(name, {one: keys.key(one, _PURPOSE) for one in keys.peers})
        self._sharing: MomentParty | None = None
        self._masked: bytes | None = None
        self._share: bytes | None = None
        self._used: UsedOnce | None = None
        with self._opening(self._moment_plan, name, accountant, folder):
            self._used = UsedOnce(self._path("used"))
            if self._log.has_step(_MASKED) and self._used.is_empty:
                self._used.close()
                raise lost()

    @property
    def first_part_done(self) -> bool:
        """Whether the masked rows of all other parties are here."""
        return self._log.has_step(_PREPARED)

    @property
    def n_releases(self) -> dict[str, int]:
        """How many releases of each kind were made."""
        return {
            "counts of common rows": int(self._log.count is not None),
            "lists of pseudonyms, to the server": int(self._log.has_step(_SENT)),
            "shares of the noisy matrix": int(self._log.has_step(_SHARED)),
        }

    @property
    def model(self) -> MomentPartyModel:
        """The party's own coefficients, once the job has ended."""
        return MomentPartyModel(**self._kept_model())

    def prepare(self, request: bytes) -> bytes:
        """Send pseudonyms, keep a deal, or exchange masked rows."""
        return self._answered(request, {
            Ask.ALIGN: (self._layout.aligns, self._align),
            Ask.DEAL: (self._layout.deals, self._keep_deal),
            Ask.MASK: (self._layout.masks + 1, self._exchange),
        })  # fmt: skip

    def answer(self, request: bytes) -> bytes:
        """Send the share, or keep the weights."""
        return self._answered(request, {
            Ask.SHARE: (self._layout.shares, self._send_share),
            Ask.FINISH: (1, self._store),
        })  # fmt: skip

    def forget(self) -> None:
        """Remove masks and masked rows: together with those of others they show rows."""
        self._sharing = self._masked = self._share = None
        self._X = self._y = None  # the process may outlive many jobs
        for path in (self._path("dealt"), self._path("noise"), *map(self._from, self._others)):
            path.unlink(missing_ok=True)

    def close(self) -> None:
        super().close()
        if self._used is not None:
            self._used.close()

    @property
    def _rows_digest(self) -> bytes:
        digest = hmac.new(self._secret, b"dplasso rows of moments\0", hashlib.sha256)
        # Cells in their units: what is released is a function of these, and of the terms.
        cells = Units(self._x_bound, np.shape(self._X)[1]).of(self._X)
        labels = np.empty(0) if self._y is None else np.asarray(self._y, np.float64)
        labels = labels[self._order] if len(labels) else labels
        for part in (cells[self._order].tobytes(), labels.tobytes()):
            digest.update(len(part).to_bytes(8, "little") + part)
        digest.update(self._pseudonyms)
        return digest.digest()

    def _count_sums(self) -> Ints:
        bits = random_bits(None, name="random_state")
        rows = self._identifiers, self._secret
        return noisy_sign_sums(*rows, self._moment_plan, bits, self._noise_of)

    def _answered(self, request: bytes, due: dict[Ask, Any]) -> bytes:
        asked = PartyRequest.from_bytes(request)
        with self._one_at_a_time:
            self._log.check_open()
            if (asked.digest, asked.party) != (self._terms.digest, self._number):
                raise Refused(f"{self.name} refuses a request of another job or with other terms")
            exchanges, give = due.get(asked.kind, (0, None))
            if give is None or asked.round >= exchanges:
                raise Refused(f"{self.name} refuses a request that is not on the schedule")
            self.accept()
            release: PartyRelease = give(asked)
            return release.to_bytes()

    def _reply(self, asked: PartyRequest, kind: Gave, content: bytes = b"") -> PartyRelease:
        return PartyRelease(asked.digest, self._number, asked.round, kind, content=content)

    def _slice(self, content: bytes, asked: PartyRequest) -> bytes:
        return sliced(content, asked.round, self._layout.slice)

    def _align(self, asked: PartyRequest) -> PartyRelease:
        self._log.keep_step(_SENT)
        most = self._layout.most_pseudonyms * PSEUDONYM_BYTES
        return self._reply(asked, Gave.ALIGNED, self._slice(self._pseudonyms[:most], asked))

    def _keep_deal(self, asked: PartyRequest) -> PartyRelease:
        if len(asked.content) > self._layout.slice:
            raise Refused(f"{self.name} refuses more than a slice of a deal")
        if self._sharing is None:  # else it is in use, and this is a slice that came before
            _write_at(self._path("dealt"), asked.round * self._layout.slice, asked.content)
        return self._reply(asked, Gave.DEALT)

    def _exchange(self, asked: PartyRequest) -> PartyRelease:
        """Keep the others' slices of the exchange before, and send the next of one's own."""
        size = self._layout.masked_slice
        if not set(asked.letters) <= set(self._others):
            raise Refused(f"{self.name} refuses masked rows of others than the parties of this job")
        if asked.letters and (asked.round == 0 or self.first_part_done):
            asked = self._unless_known(asked)
        for name, letter in asked.letters.items():
            if len(letter) > size:
                raise Refused(f"{self.name} refuses more than a slice of masked rows")
            _write_at(self._from(name), (asked.round - 1) * size, letter)
        if self._masked is None:
            self._masked = self._party.masked(self._deal)
            self._log.keep_step(_MASKED)
        if asked.round == self._layout.masks and not self.first_part_done:
            for name in self._others:  # who sends nonsense makes nobody pay for the model
                self._party.check(name, self._rows_of(name))
            self._log.keep_step(_PREPARED)
        return self._reply(asked, Gave.MASKED, sliced(self._masked, asked.round, size))

    def _unless_known(self, asked: PartyRequest) -> PartyRequest:
        """Masked rows are complete, or come too early: the same may come again, and no other."""
        size = self._layout.masked_slice
        for name, letter in asked.letters.items():
            kept = self._rows_of(name)
            if asked.round == 0 or sliced(kept, asked.round - 1, size) != letter:
                raise Refused(f"{self.name} has other masked rows of {name} already")
        return PartyRequest(asked.digest, asked.party, asked.round, asked.kind)

    def _send_share(self, asked: PartyRequest) -> PartyRelease:
        if not (self.first_part_done and self._log.has_paid("model")):
            raise Refused(f"{self.name} sends no share before it has masked rows and has paid")
        if self._share is None:
            if self._masked is None:
                self._masked = self._party.masked(self._deal)
            rows = {name: self._rows_of(name) for name in self._others}
            self._share = self._party.share(rows)
            self._log.keep_step(_SHARED)
        return self._reply(asked, Gave.PART, self._slice(self._share, asked))

    def _store(self, asked: PartyRequest) -> PartyRelease:
        if not self._log.has_step(_SHARED):
            raise Refused(f"{self.name} takes no weights before it has sent its share")
        terms, plan, numbers = self._terms, self._moment_plan, asked.numbers
        if self.has_model:
            return self._reply(asked, Gave.STORED)
        own, targets = terms.parties[self._number].n_features, terms.n_targets
        holds_labels = self.name == terms.label_holder
        parts = (1 + 2 * (terms.n_classes > 0)) * holds_labels
        if len(numbers) != (own + parts) * targets:
            raise Refused(f"{self.name} refuses weights of other features than its own")
        scale = 1.0 if terms.n_classes else terms.y_bound
        rest = numbers[own * targets :].reshape(-1, targets).tolist()
        odds = dict(zip(("slopes", "offsets"), rest[1:], strict=False))
        model = {
            "party": self.name,
            "job": terms.job,
            "ranges": self._ranges,
            "centre": None if self._party.centre is None else self._party.centre.tolist(),
            "entry": plan.entry,
            "row_limit": plan.row_limit(self.name),
            "coefficients": (numbers[: own * targets].reshape(own, targets) * scale).tolist(),
            "intercepts": [one * scale for one in rest[0]] if holds_labels else [0.0] * targets,
            "n_classes": terms.n_classes,
            "classes": list(self._classes) if holds_labels and self._classes else None,
            **odds,
        }
        self._log.keep_model(model)
        return self._reply(asked, Gave.STORED)

    @property
    def _ranges(self) -> list[list[float]]:
        units = Units(self._x_bound, self._terms.parties[self._number].n_features)
        return [[float(low), float(high)] for low, high in zip(units.low, units.high, strict=True)]

    @property
    def _others(self) -> list[str]:
        return [name for name in self._terms.names if name != self.name]

    @property
    def _party(self) -> MomentParty:
        """The party that masks and shares; it needs a deal, and the places of its rows."""
        if self._sharing is None:
            places = np.empty(len(self._order), np.int64)
            try:
                places[self._order] = self._dealt_places
                self._sharing = MomentParty(
                    self._terms,
                    self.name,
                    self._X,
                    self._pairs,
                    x_bound=self._x_bound,
                    y=self._y,
                    places=places.tolist(),
                    used=self._used,
                    secret=self._noise_secret,
                    noise_of=self._noise_of,
                )
            except ParameterError:
                raise Refused(
                    f"{self.name} refuses the numbers of its rows: they are not different numbers "
                    "below the capacity"
                ) from None
        return self._sharing

    @property
    def _dealt(self) -> list[bytes]:
        path = self._path("dealt")
        parts = unframed(path.read_bytes()) if path.exists() else []
        if len(parts) != 2 or len(parts[1]) != PLACE_BYTES * len(self._order):
            raise Refused(f"{self.name} has no complete deal of the server")
        return parts

    @property
    def _deal(self) -> bytes:
        return self._dealt[0]

    @property
    def _dealt_places(self) -> Ints:
        return np.frombuffer(self._dealt[1], "<u4").astype(np.int64)

    @cached_property
    def _noise_secret(self) -> bytes:
        """What the party's noise follows from: drawn once, and never sent."""
        path = self._path("noise")
        if not path.exists():
            replace_file(path, secrets.token_bytes(KEY_BYTES))
        return path.read_bytes()

    def _path(self, what: str) -> Path:
        return self._folder / f"{self._terms.job}.{what}"

    def _rows_of(self, name: str) -> bytes:
        """What has come of the masked rows of another party."""
        return self._from(name).read_bytes() if self._from(name).exists() else b""

    def _from(self, name: str) -> Path:
        return self._path(f"from-{name}")


def _write_at(path: Path, place: int, content: bytes) -> None:
    """Write a part of a file; it is on disk when this returns."""
    descriptor = open_own(path)
    try:
        while content:
            written = os.pwrite(descriptor, content, place)
            content, place = content[written:], place + written
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
