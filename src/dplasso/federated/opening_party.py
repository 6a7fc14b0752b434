"""How a job opens at a party: it agrees to terms only if all parties have the same, and can pay."""

import logging
import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from dplasso.federated.agreed_terms import AgreedTerms
from dplasso.federated.caps import Caps
from dplasso.federated.errors import Refused
from dplasso.federated.framing import framed, unframed
from dplasso.federated.job_party import JobParty, Part
from dplasso.federated.job_plan import JobPlan
from dplasso.federated.joint_spending import (
    Spent,
    check_joint,
    from_bytes,
    job_key,
    spent_on_jobs,
    to_bytes,
)
from dplasso.federated.messages import Ask, Gave, Letters, PartyRelease, PartyRequest
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.terms import MomentTerms
from dplasso.federated.pairwise_keys import KEY_BYTES, OtherSecret, PairwiseKeys, PartyKey
from dplasso.federated.party_outcome import PartyOutcome
from dplasso.federated.party_protocols import plan_for, terms_from_json
from dplasso.federated.terms import AmongParties, Proposal
from dplasso.ledger import Budget
from dplasso.privacy import zcdp
from dplasso.storage.atomic import replace_file
from dplasso.storage.private_files import make_folder

# Opens a party from its terms, the folder of its release log, and the keys of its pairs.
OpenParty = Callable[[Any, Path, PairwiseKeys], JobParty]

_LOG = logging.getLogger("dplasso.federated")
_PREPARING = (Ask.ALIGN, Ask.DEAL, Ask.MASK)
# The purposes of tags.
_TERMS, _PAID = "the terms of a job", "a part of a job is paid for"


@dataclass
class OpeningParty:
    """A party that first decides whether to take part.

    Before it agrees it reveals the numbers of features, columns and classes that it declares, which
    are public, and the public key that it has drawn for the job. It keeps the terms on disk before
    it agrees to them, and refuses any other terms of the job. It releases nothing before every
    other party has confirmed, under a key that only the two of them have, that it has agreed to the
    same terms, and then that it has paid for them out of the ledger that it has reported. So a
    server gets nothing that tells parties different terms, or that keeps a party from paying for
    what others release.
    """

    name: str
    job: str
    n_features: int  # the number that the party declares
    caps: Caps
    folder: Path  # of the terms, the key and the release log
    secret: bytes  # of all parties
    open_party: OpenParty
    ledger: Budget | None = None
    y_bound: float | None = None  # of a party that holds labels
    ended: Callable[[Any], None] | None = None  # called with the model at the end
    attributes: int | None = None  # columns behind the features; by default as many
    n_classes: int = 0  # of the labels

    def __post_init__(self) -> None:
        self._party: JobParty | None = None
        self._keys: PairwiseKeys | None = None
        self._path = self.folder / f"{self.job}.terms"
        make_folder(self.folder)
        self._agreed = AgreedTerms.load(self._path)
        if self._agreed is not None:
            self.caps.check(self._agreed.terms, self.name)  # the owner may have lowered them since
            try:
                self._open(self._agreed)
            except OtherSecret:
                raise Refused(
                    f"the rows, the secret or the settings of job {self.job} have changed since it "
                    "was begun; restore them, or begin a job with another name"
                ) from None

    @property
    def model(self) -> Any:
        """The party's own coefficients, once the job has ended."""
        return self._opened.model

    @property
    def outcome(self) -> PartyOutcome | None:
        """What the job has released and cost, and how it ended; None before a charge."""
        return PartyOutcome.load(self.folder)

    def answer(self, request: bytes) -> bytes:
        """Return the answer that opens the job, or the release that a request asks for."""
        asked = PartyRequest.from_bytes(request)
        self._check_open(asked.kind)
        opening = {
            Ask.INTRODUCE: self._introduce,
            Ask.AGREE: self._agree,
            Ask.CONFIRM: self._confirm,
            Ask.BEGIN: self._begin,
            Ask.START: self._start,
            Ask.COUNT: self._count,
            Ask.END: self._end,
        }
        if asked.kind in opening:
            return opening[asked.kind](asked)
        if asked.kind not in _PREPARING:
            self._check_started("model")
        before = self._opened.n_releases
        if asked.kind in _PREPARING:
            answer = self._prepared(asked, request)
        else:
            answer = self._opened.answer(request)
        if asked.kind == Ask.FINISH:
            if self.ended is not None:
                self.ended(self._opened.model)
            self._keep_outcome(asked.text)
            self._forget()
        elif self._opened.n_releases != before:
            self._keep_outcome(None)  # no end may ever be told
        return answer

    def close(self) -> None:
        """Release the log: the party may be opened again."""
        if self._party is not None:
            self._party.close()

    @property
    def _opened(self) -> JobParty:
        if self._party is None:
            raise Refused(f"{self.name} has agreed to no terms yet")
        return self._party

    def _check_open(self, kind: Ask) -> None:
        """Refuse to go on with a job that has ended; its end may be told again."""
        outcome = self.outcome
        if outcome is None or outcome.ended is None:
            return
        if kind != (Ask.FINISH if outcome.has_coefficients else Ask.END):
            raise Refused(f"job {self.job} has ended at {self.name}")

    def _introduce(self, asked: PartyRequest) -> bytes:
        proposal = Proposal.from_json(asked.text)
        self._check(proposal, asked)
        self.caps.check_cost(proposal, self.name)
        others = [name for name in proposal.names if name != self.name]
        letters = dict.fromkeys(others, self._key.introduction)
        declared = np.array([self.attributes or self.n_features, self.n_classes])
        place = proposal.digest, proposal.number_of(self.name), 0
        return PartyRelease(
            *place,
            Gave.INTRODUCED,
            feature=self.n_features,
            numbers=declared,
            width=8,
            letters=letters,
        ).to_bytes()

    def _agree(self, asked: PartyRequest) -> bytes:
        terms = terms_from_json(asked.text)
        self._check(terms, asked)
        if terms.parties[terms.number_of(self.name)].n_features != self.n_features:
            raise Refused(f"{self.name} refuses terms with another number of features")
        if isinstance(terms, MomentTerms):
            self._check_moments(terms)
        self.caps.check(terms, self.name)
        if self._agreed is None:
            self._check_letters(terms, asked.letters)
            self._key.agreed(asked.letters)  # it refuses before anything is kept
            spent = {} if self.ledger is None else spent_on_jobs(self.ledger)
            self._keep(AgreedTerms(terms, asked.letters, spent))
        agreed = self._agreed
        assert agreed is not None
        if agreed.terms != terms:
            raise Refused(f"{self.name} has agreed to other terms of job {terms.job}")
        if agreed.introductions != asked.letters:
            raise Refused(f"{self.name} has agreed to the terms with other keys of the parties")
        if self._party is None:
            self._open(agreed)
        assert self._keys is not None
        report, letters = to_bytes(agreed.spent), {}
        for name in self._keys.peers:
            tag = self._keys.tag(name, _TERMS, framed(terms.digest, report))
            letters[name] = framed(report, tag)
        return self._reply(terms, Gave.AGREED, letters)

    def _confirm(self, asked: PartyRequest) -> bytes:
        agreed = self._agreed_in(asked)
        terms = agreed.terms
        self._check_letters(terms, asked.letters)
        reports = {name: self._report(name, one, terms) for name, one in asked.letters.items()}
        if not agreed.confirmed:
            if self.ledger is not None:
                check_joint(self.name, self.ledger, reports, plan_for(terms))
            self._keep(replace(agreed, confirmed=True))
        return self._reply(terms, Gave.CONFIRMED)

    def _begin(self, asked: PartyRequest) -> bytes:
        """Charge the next part of the job: the count of common rows, if there is one, or all."""
        agreed = self._agreed_in(asked)
        if not agreed.confirmed:
            raise Refused(f"{self.name} pays for nothing before all parties have confirmed")
        part = self._part(asked)
        if not self._opened.has_paid(part):
            self._check_unchanged(agreed)
            self._opened.pay(part)
            self._keep_outcome(None)
        assert self._keys is not None
        paid = framed(agreed.terms.digest, part.encode())
        letters = {name: self._keys.tag(name, _PAID, paid) for name in self._keys.peers}
        return self._reply(agreed.terms, Gave.BEGUN, letters)

    def _start(self, asked: PartyRequest) -> bytes:
        """Note that all parties have paid for a part of the job."""
        agreed, part = self._agreed_in(asked), self._part(asked)
        self._check_letters(agreed.terms, asked.letters)
        assert self._keys is not None
        paid = framed(agreed.terms.digest, part.encode())
        for name, tag in asked.letters.items():
            if not self._keys.is_from(name, _PAID, paid, tag):
                raise Refused(f"{self.name} releases nothing: {name} has not said that it has paid")
        if part not in agreed.started:
            self._keep(replace(agreed, started=(*agreed.started, part)))
        return self._reply(agreed.terms, Gave.STARTED)

    def _part(self, asked: PartyRequest) -> Part:
        """Return the part of the job that a request names; it must be the one that is due."""
        due: Part = "model" if self._opened.first_part_done else "count"
        if asked.text != due:
            raise Refused(f"{self.name} refuses a request about a part of the job that is not due")
        return due

    def _check_unchanged(self, agreed: AgreedTerms) -> None:
        """Refuse to pay if the other parties were told of another ledger."""
        terms = agreed.terms
        if self.ledger is None:
            return
        if spent_on_jobs(self.ledger, but=job_key(terms.job, terms.digest)) != agreed.spent:
            raise Refused(
                f"{self.name} has paid for another job since it agreed to job {self.job}; submit "
                "it again, after the other one"
            )

    def _check_started(self, part: Part) -> None:
        if self._agreed is None or part not in self._agreed.started:
            raise Refused(f"{self.name} releases nothing before all parties have paid")

    def _report(self, sender: str, letter: bytes, terms: AmongParties) -> Spent:
        """Return what another party reports, if it has confirmed the same terms."""
        assert self._keys is not None
        spent, tag = (*unframed(letter), b"", b"")[:2]
        if not self._keys.is_from(sender, _TERMS, framed(terms.digest, spent), tag):
            raise Refused(
                f"{self.name} refuses job {self.job}: {sender} has not confirmed the same terms; "
                "the server may have sent them different ones"
            )
        return from_bytes(spent)

    def _count(self, asked: PartyRequest) -> bytes:
        self._agreed_in(asked)
        self._check_started("count")
        count = self._opened.counted()
        self._keep_outcome(None)
        return count

    def _prepared(self, asked: PartyRequest, request: bytes) -> bytes:
        agreed = self._agreed_in(asked)
        if not agreed.confirmed:
            raise Refused(f"{self.name} prepares nothing before all parties have confirmed")
        if plan_for(agreed.terms).has_first_part:
            self._check_started("count")
        return self._opened.prepare(request)

    def _end(self, asked: PartyRequest) -> bytes:
        """Keep why the job ends without coefficients."""
        if self._agreed is not None and self._party is not None:
            self._agreed_in(asked)
        self._keep_outcome(asked.text)
        self._forget()
        return PartyRelease(asked.digest, asked.party, 0, Gave.ENDED).to_bytes()

    def _forget(self) -> None:
        """Remove what would open sealed rows later, if somebody has recorded them."""
        if self._party is not None:
            self._party.forget()
        self._key_path.unlink(missing_ok=True)

    def _keep_outcome(self, ended: str | None) -> None:
        facts: dict[str, Any] = {"model": False, "releases": {}, "rho": 0.0}
        delta = self.caps.max_delta
        if self._party is not None and self._agreed is not None:
            rho, delta = (
                _charged(self._party, plan_for(self._agreed.terms)),
                self._agreed.terms.delta,
            )
            facts = {"model": self._party.has_model, "releases": self._party.n_releases, "rho": rho}
        before, outcome = self.outcome, PartyOutcome.of(self.job, ended, delta=delta, **facts)
        outcome.save(self.folder)
        # An end may be told again. A charge is logged when it is made: no end may ever be told.
        if outcome != before and (ended is not None or before is None or outcome.rho != before.rho):
            _LOG.info(outcome.in_words)

    def _agreed_in(self, asked: PartyRequest) -> AgreedTerms:
        """Return what was agreed to, if the request is about that."""
        if self._party is None or self._agreed is None:
            raise Refused(f"{self.name} has agreed to no terms yet")
        terms = self._agreed.terms
        if (asked.digest, asked.party) != (terms.digest, terms.number_of(self.name)):
            raise Refused(f"{self.name} refuses a request of another job or with other terms")
        return self._agreed

    def _check_moments(self, terms: MomentTerms) -> None:
        """Refuse terms that promise too little to parties, or whose account or capacity is unusual.

        Other terms (how many colluders from 1 on, row bounds, the weight of labels) are not
        compared with the proposal, since a server may show a party any proposal. They are on the
        card, every party has confirmed the same, and the promise holds for what they say.
        """
        if terms.colluders < 1 or terms.neighboring != "add_remove":
            raise Refused(f"{self.name} refuses moments that protect people from outsiders only")
        plan_for(terms)  # it refuses what cannot be computed
        if terms.account != "rho" or not moment_plan(terms).has_usual_room:
            raise Refused(f"{self.name} refuses an account or a capacity that no honest server has")
        if terms.label_holder == self.name and terms.n_classes != self.n_classes:
            raise Refused(f"{self.name} refuses terms with another number of classes")

    def _check(self, about: AmongParties, asked: PartyRequest) -> None:
        """Refuse a proposal or terms of another job, for other parties, or for other labels."""
        if (about.digest, about.job) != (asked.digest, self.job) or self.name not in about.names:
            raise Refused(f"{self.name} refuses terms of another job, or for other parties")
        if about.label_holder != self.name:
            return
        if self.y_bound is None:
            raise Refused(f"{self.name} has no labels")
        if about.y_bound != self.y_bound:
            raise Refused(
                f"{self.name} has labels within {self.y_bound:g}, the job has y_bound "
                f"{about.y_bound:g}"
            )

    def _check_letters(self, terms: AmongParties, letters: Letters) -> None:
        if set(letters) != set(terms.names) - {self.name}:
            raise Refused(f"{self.name} needs a letter from every other party of the job")

    def _reply(self, about: AmongParties, kind: Gave, letters: Letters | None = None) -> bytes:
        place = about.digest, about.number_of(self.name), 0
        return PartyRelease(*place, kind, letters=letters or {}).to_bytes()

    def _open(self, agreed: AgreedTerms) -> None:
        self._keys = self._key.agreed(agreed.introductions)
        self._party = self.open_party(agreed.terms, self.folder, self._keys)

    def _keep(self, agreed: AgreedTerms) -> None:
        agreed.save(self._path)
        self._agreed = agreed

    @property
    def _key_path(self) -> Path:
        return self.folder / f"{self.job}.key"

    @cached_property
    def _key(self) -> PartyKey:
        """The party's key in the job, which is drawn once."""
        path = self._key_path
        if not path.exists():
            replace_file(path, secrets.token_bytes(KEY_BYTES))
        private = path.read_bytes()
        if len(private) != KEY_BYTES:
            raise Refused(f"{path.name} of {self.name} is damaged; restore it from a copy")
        return PartyKey(self.job, self.name, self.secret, private)


def _charged(party: JobParty, plan: JobPlan) -> float:
    """Return what the ledger was charged for, in rho."""
    count = zcdp.rho(plan.count_event) if party.has_paid("count") else 0.0
    return count + (zcdp.rho(plan.model_event) if party.has_paid("model") else 0.0)
