"""Who asks: the host's truth for code that would break on anything else, the machine for everyone else."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from spoofs import askers
from tests.spoofs.machines import run

HOST, MACHINE = True, False


def called_from(modules: list[str | None], probed: str) -> Any:
    """Ask a probe from within functions of these modules, the nearest first."""

    def layer(module: str | None, inner: Callable[[], Any]) -> Callable[[], Any]:
        scope = {"__name__": module, "inner": inner}
        exec("def call(): return inner()", scope)
        return scope["call"]  # type: ignore[return-value]

    probe = {"__name__": "spoofs.patching", "askers": askers, "probed": probed}
    exec("def ask(): return askers.asked_by_host(probed)", probe)
    call: Any = probe["ask"]
    for module in modules:
        call = layer(module, call)
    return call()


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        (["accelerate.utils"], MACHINE),
        (["__main__"], MACHINE),
        (["ctypes"], HOST),
        (["multiprocessing.context", "sysconfig"], HOST),
        (["platform", "accelerate"], MACHINE),
        (["platform", "ctypes.util"], HOST),
        (["functools", "accelerate"], MACHINE),
        (["concurrent.futures.thread", "threading", "accelerate"], MACHINE),
        (["_pytest.python", "accelerate"], HOST),
        (["torch._dynamo", "accelerate"], HOST),
        (["truststore._api", "huggingface_hub"], HOST),
        (["pip._internal", "__main__"], HOST),
        (["spoofs.answers.platform", "accelerate"], MACHINE),
        ([None, "accelerate"], MACHINE),
    ],
)
def test_the_platform_is_the_hosts_for_the_standard_library_and_for_tools(
    modules: list[str | None], expected: bool
) -> None:
    assert expected == called_from(modules, "platform")


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        (["accelerate.utils"], MACHINE),
        (["__main__"], MACHINE),
        (["torch._dynamo.utils", "accelerate"], HOST),
        (["torch", "accelerate"], HOST),
        (["bitsandbytes.cextension"], HOST),
        (["triton.runtime.driver"], HOST),
        (["_pytest.raises", "tests.test_devices"], MACHINE),
        (["ctypes", "accelerate"], MACHINE),
        (["ctypes", "torch.cuda"], HOST),
        (["functools", "torch"], HOST),
    ],
)
def test_devices_are_the_hosts_for_native_code_alone(modules: list[str | None], expected: bool) -> None:
    """No tool asks for a device on its own: `pytest.raises(RuntimeError, torch.cuda.init)` is the test's question."""
    assert expected == called_from(modules, "torch")


def test_a_question_that_starts_in_a_thread_is_the_machines() -> None:
    code = """
import concurrent.futures, platform, threading
with concurrent.futures.ThreadPoolExecutor() as pool: print(pool.submit(platform.system).result())
thread = threading.Thread(target=lambda: print(platform.machine())); thread.start(); thread.join()
"""
    assert "Darwin\narm64\n" == run("apple_silicon_mlx", code).stdout


def test_every_entry_has_its_reason() -> None:
    for module, reason in askers.HOST_TRUTH.items():
        assert module.isidentifier()
        assert len(reason.split()) > 2
    assert not askers.TOOLS.keys() & askers.NATIVE.keys()


def test_runners_are_modules_of_the_standard_library() -> None:
    assert askers.RUNNERS - {"_pyrepl"} <= sys.stdlib_module_names  # which came with 3.13


@pytest.mark.parametrize("first", ["host", "machine"])
def test_a_cache_is_not_poisoned_by_who_asked_first(first: str) -> None:
    """`platform` keeps what it once found; both sides get their own, whoever comes first."""
    code = f"""
import platform
host = {{"__name__": "ctypes.util", "platform": platform}}
asked = "def ask(): return platform.system(), platform.platform(), platform.uname().processor == 'arm'"
exec(asked, host); exec(asked, globals())
order = [host["ask"], ask] if {first!r} == "host" else [ask, host["ask"]]
for each in order + order: print(each())
"""
    said = run("apple_silicon_mlx", code).stdout.splitlines()
    assert said[:2] == said[2:]
    assert {"Linux", "Darwin"} == {line.split("'")[1] for line in said}
    assert ["macOS-15.6"] == [line.split("'")[3][:10] for line in said[:2] if "Darwin" in line]
    assert [False, True] == sorted("True" in line for line in said[:2])
