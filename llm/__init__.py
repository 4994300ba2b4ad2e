"""Models: embedder, extractors, judges and the nodes that serve them."""
