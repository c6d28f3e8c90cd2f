"""The subject's own modules, to be run."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.studio.subject import Subject
from tests.studio.training import worker_of


@pytest.fixture(scope="package")
def worker(subject: Subject) -> Iterator[ModuleType]:
    """The subject's training worker."""
    with worker_of(subject) as module:
        yield module
