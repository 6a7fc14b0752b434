"""The audit of the table solver."""
