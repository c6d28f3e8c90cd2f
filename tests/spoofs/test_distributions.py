"""`importlib.metadata` lists the machine's packages, and answers everything else as for any distribution."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from spoofs.profiles import CANARIES, PROFILES, HardwareProfile
from tests.spoofs.machines import STARTUP, run

every_machine = pytest.mark.parametrize("profile", PROFILES + CANARIES, ids=lambda profile: profile.name)
BOUND = ("mlx", "mlx-lm", "mlx-vlm", "nvidia-ml-py", "amdsmi", "torch", "torch-npu", "intel-extension-for-pytorch")


def asked(machine: object, code: str, **options: Any) -> Any:
    child = run(machine, f"import json, importlib.metadata as metadata\n{code}\nprint(json.dumps(answer))", **options)
    assert (0, "") == (child.returncode, child.stderr)
    return json.loads(child.stdout)


@every_machine
def test_listing_and_asking_by_name_agree(profile: HardwareProfile) -> None:
    code = f"""
names = {BOUND!r}
listed = {{each.metadata["Name"]: each.version for each in metadata.distributions() if each.metadata["Name"] in names}}
asked = {{}}
for name in names:
    try: asked[name] = metadata.version(name)
    except metadata.PackageNotFoundError: pass
answer = [listed, asked]
"""
    listed, by_name = asked(profile, code)
    assert listed == by_name
    assert set(profile.packages) | {"torch"} <= set(listed)


@pytest.mark.parametrize("spelling", ["mlx-lm", "mlx_lm", "MLX.LM"])
def test_a_name_is_found_in_every_spelling(spelling: str) -> None:
    assert "0.32.2" == asked("apple_silicon_mlx", f"answer = metadata.version({spelling!r})")


def test_a_stand_in_answers_all_that_a_distribution_is_asked() -> None:
    code = """
found = metadata.distribution("mlx-lm")
answer = [found.metadata["Name"], found.version, metadata.requires("mlx-lm"), metadata.files("mlx-lm"),
          list(found.entry_points), metadata.packages_distributions()["mlx_lm"], len(metadata.entry_points()) >= 0]
"""
    assert ["mlx-lm", "0.32.2", None, None, [], ["mlx-lm"], True] == asked("apple_silicon_mlx", code)


def test_asked_about_a_folder_it_says_what_lies_there(tmp_path: Path) -> None:
    """Less what the machine lacks: a stand-in lies in no folder."""
    for name in ("mlx", "other"):
        info = tmp_path / f"{name}-9.9.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n")
    code = f"answer = sorted(each.metadata['Name'] for each in metadata.distributions(path=[{str(tmp_path)!r}]))"
    assert ["other"] == asked("cpu_only", code)
    assert ["mlx", "other"] == asked("apple_silicon_mlx", code)


BACKPORT = '''
"""What the backport does on import, and no more: it has a finder of its own, and disables the standard one."""
import sys, importlib.metadata as standard

class MetadataPathFinder(standard.MetadataPathFinder):
    @classmethod
    def find_spec(cls, *args, **kwargs): return None
    @classmethod
    def find_distributions(cls, context=standard.DistributionFinder.Context()):
        return super().find_distributions(context)

for finder in sys.meta_path:
    if getattr(finder, "__module__", None) == "_frozen_importlib_external" and hasattr(finder, "find_distributions"):
        del finder.find_distributions
sys.meta_path.append(MetadataPathFinder())
'''


def test_the_backport_says_the_same(tmp_path: Path) -> None:
    """`importlib_metadata` takes the standard library's finder away, so that both go through its own."""
    (tmp_path / "importlib_metadata.py").write_text(BACKPORT)
    code = """
import importlib_metadata, sys
answer = [hasattr(sys.modules["_frozen_importlib_external"].PathFinder, "find_distributions")]
for name in ("mlx", "torch"):
    try: answer.append(metadata.version(name))
    except metadata.PackageNotFoundError: answer.append(None)
"""
    env = {"PYTHONPATH": f"{STARTUP}:{tmp_path}"}
    assert [False, "0.32.4", "2.13.0"] == asked("apple_silicon_mlx", code, env=env)
    assert [False, None, "2.13.0+cpu"] == asked("cpu_only", code, env=env)
