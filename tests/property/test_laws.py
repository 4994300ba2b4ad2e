"""Section 8 of the design as a Hypothesis state machine; `checks.py` has one check for each law."""

import pytest
from hypothesis import settings

from tests.conftest import SOAK
from tests.property.machine import DurableLaws, Laws
from tests.property.ready import MISSING, REASON

pytestmark = pytest.mark.skipif(bool(MISSING), reason=REASON)

_EXAMPLES = {"": (25, 8), "short": (200, 60), "long": (3000, 600)}[SOAK]

TestLaws = Laws.TestCase
TestLaws.settings = settings(max_examples=_EXAMPLES[0], stateful_step_count=25)
TestDurableLaws = DurableLaws.TestCase
TestDurableLaws.settings = settings(max_examples=_EXAMPLES[1], stateful_step_count=25)
