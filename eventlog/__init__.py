"""The append-only log: events, bodies, the chain. Imports nothing else of Rewound."""
