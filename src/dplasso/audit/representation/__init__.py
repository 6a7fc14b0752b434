"""Does how rows are stored reach a release?"""

from dplasso.audit.representation.check import Representation
from dplasso.audit.representation.parties import Parties
from dplasso.audit.representation.tables import Tables

__all__ = ["Parties", "Representation", "Tables"]
