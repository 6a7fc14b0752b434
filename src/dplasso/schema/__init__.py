"""The schema of a table: roles of columns, their features, and cells turned into entries."""

from dplasso.schema.feature_space import FeatureNames, FeatureSpace
from dplasso.schema.roles import (
    ROLES,
    Category,
    Date,
    Hashed,
    Identifier,
    Ignore,
    Number,
    Person,
    Role,
    Target,
    Text,
)
from dplasso.schema.schema import Schema
from dplasso.schema.toml import SchemaError

__all__ = [
    "ROLES",
    "Category",
    "Date",
    "FeatureNames",
    "FeatureSpace",
    "Hashed",
    "Identifier",
    "Ignore",
    "Number",
    "Person",
    "Role",
    "Schema",
    "SchemaError",
    "Target",
    "Text",
]
