"""A federation over NVFlare: the only room that knows it.

See docs/how_to/federated_deployment.md.
"""
