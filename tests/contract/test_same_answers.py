"""Both logs under the same random load give the same answers, bit for bit."""

import random
from pathlib import Path

import pytest

from rewound.eventlog.bodies import Place
from rewound.eventlog.ids import ContainerId, EventId
from rewound.eventlog.log import Answered, Audit, Draft, Log, Reader, Writer
from rewound.eventlog.verify import heads_digest, verify
from tests.contract.given import InMemory, OnDisk, container, fact, fact_ref, message, write
from tests.contract.test_log import Oops, everything

OWNERS = [container(number) for number in (1, 2, 3)]
STEPS = 12


class Load:
    """Random groups; the same from the same seed."""

    def __init__(self, log: Log, seed: int) -> None:
        self.log = log
        self.choices = random.Random(seed)

    def group(self, writer: Writer) -> None:
        for _ in range(self.choices.randrange(1, 5)):
            owner = self.choices.choice(OWNERS)
            self.choices.choice((self.append, self.append, self.file, self.erase))(writer, owner)
            if self.choices.random() < 0.3:
                self.look(writer)
        if self.choices.random() < 0.2:
            raise Oops

    def append(self, writer: Writer, owner: ContainerId) -> None:
        causes = tuple(EventId(b"cause-%010d" % self.choices.randrange(3)) for _ in range(2))
        drafts: list[Draft] = []
        for _ in range(self.choices.randrange(1, 6)):
            if self.choices.random() < 0.5:
                drafts.append(message(self.log, "x" * self.choices.randrange(3000), causes=causes))
            else:
                drafts.append(fact(self.log, "a fact", self.choices.randrange(4)))
        writer.append(owner, drafts)

    def file(self, writer: Writer, owner: ContainerId) -> None:
        number, item = self.choices.randrange(4), fact_ref(self.choices.randrange(4))
        first = self.choices.randrange(1, 10)
        writer.file(owner, b"%d" % number * 16, item)
        writer.put_memo(owner, b"m%d" % number, self.choices.randbytes(9), item)
        writer.answer(owner, b"k%d" % number, Answered(b"r", b"", (first, first + 1)))

    def erase(self, writer: Writer, owner: ContainerId) -> None:
        places = [Place(self.choices.randrange(12), self.choices.randrange(2)) for _ in range(3)]
        writer.erase(owner, places, [fact_ref(self.choices.randrange(4))])

    def look(self, reader: Reader) -> None:
        assert isinstance(reader, Audit)
        assert reader.tally().events == reader.sequence()


@pytest.mark.parametrize("seed", range(12))
def test_the_same_load_is_the_same_log(tmp_path: Path, seed: int) -> None:
    memory, disk = InMemory(), OnDisk(tmp_path / "log", map_bytes=16 << 20)
    told: list[list[object]] = []
    for given in (memory, disk):
        load = Load(given.log, seed)
        given.ids.skip_to(1000)  # a store on disk has drawn its own id
        for step in range(STEPS):
            given.clock.at += load.choices.randrange(-50, 100)
            before = everything(given.log)
            try:
                write(given.log, load.group)
            except Oops:
                assert everything(given.log) == before
            if step % 5 == 4:
                given.log.compact()
                load.log = given.reopen()
        with given.log.reading() as reader:
            told.append([everything(given.log), heads_digest(reader), verify(reader)])
    disk.log.close()
    assert told[0] == told[1]
