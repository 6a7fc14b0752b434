"""The protocols that a party knows: their terms, what a job costs by them, and their models."""

import json
import os

from dplasso.federated.errors import Refused
from dplasso.federated.job_plan import JobPlan
from dplasso.federated.model import PartyModel
from dplasso.federated.moments.party_model import MomentPartyModel
from dplasso.federated.moments.plan import moment_plan
from dplasso.federated.moments.terms import MomentTerms
from dplasso.federated.plan import plan_of
from dplasso.federated.terms import Terms

PartyJobTerms = Terms | MomentTerms


def terms_from_json(text: str) -> PartyJobTerms:
    """Read the terms of a job. A text that names no protocol is of sketches."""
    try:
        protocol = json.loads(text).get("protocol", "sketches")
    except (AttributeError, TypeError, ValueError, RecursionError):
        raise Refused("this text is no Terms of a job") from None
    return MomentTerms.from_json(text) if protocol == "moments" else Terms.from_json(text)


def plan_for(terms: PartyJobTerms) -> JobPlan:
    """Return the account of a job."""
    try:
        return moment_plan(terms) if isinstance(terms, MomentTerms) else plan_of(terms)
    except ValueError as error:
        raise Refused(f"the terms of job {terms.job} cannot be kept: {error}") from None


def load_model(path: str | os.PathLike[str]) -> PartyModel | MomentPartyModel:
    """Read a party's model of a job. One that names no protocol is of sketches."""
    try:
        with open(path, "rb") as file:
            protocol = json.load(file).get("protocol", "sketches")
    except (AttributeError, ValueError, RecursionError):
        raise ValueError(f"{os.fsdecode(path)} is no model of a party") from None
    return MomentPartyModel.load(path) if protocol == "moments" else PartyModel.load(path)
