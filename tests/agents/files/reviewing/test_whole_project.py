"""Whatever happens in a project under review: some stories; `make faults` looks further."""

import pytest
from hypothesis import HealthCheck, settings
from tests.agents.files.reviewing.projectmachine import WholeProject

from soultest.luck import examples

pytestmark = pytest.mark.long

TestWholeProject = WholeProject.TestCase
TestWholeProject.settings = settings(
    max_examples=examples(8),
    stateful_step_count=8,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
