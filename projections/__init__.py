"""Views folded from the log, and the queries over them."""
