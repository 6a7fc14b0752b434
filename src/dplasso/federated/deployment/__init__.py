"""A federation over NVFlare: the only room that knows it. See docs/federated_deployment.md."""
