"""Random inputs are the same in every run of a test, so a failure comes back."""

import random

import pytest


@pytest.fixture(autouse=True)
def _seeded(request):
    random.seed(request.node.nodeid)
