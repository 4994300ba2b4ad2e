"""The version of the package, as pyproject.toml has it (a test compares).

It stands here because asking the installed package for it costs every command some 50 ms.
"""

VERSION = "0.1.0.dev0"
