"""What a call to a model server raises when it brought nothing usable.

Apart from the calls themselves, since those load httpx, which a memory without a server never
needs.
"""

from rewound.eventlog.enums import Why


class ServerFailed(Exception):
    """A model server gave no usable answer; the message says why and holds no text of a memory.

    `smaller_may_help`: the same with less text may succeed. `too_long`: the server said so.
    `unfit`: it refuses whoever asks, whatever is asked; another server may not. `reply` is what it
    answered, where that could not be used.
    """

    reply: str | None = None

    def __init__(
        self,
        message: str,
        why: Why,
        *,
        smaller_may_help: bool = False,
        too_long: bool = False,
        unfit: bool = False,
    ) -> None:
        super().__init__(message)
        self.why = why
        self.smaller_may_help = smaller_may_help or too_long
        self.too_long = too_long
        self.unfit = unfit
