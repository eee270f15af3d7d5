# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Instructions per connection, from the blocks that tests/perf/count/counter.c has counted in a guest.

A profile is the difference of a long and a short run, divided by the difference of their numbers of connections, so that
the start and the end of a process cancel out.
"""

from __future__ import annotations

import bisect
import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

KERNEL = "vmlinux"
# The program that makes the connections: its own cost belongs to neither stack.
DRIVER = "drive"
# Calls that are shown: executions of the first block of a function.
CALLS = {"context switches": "__schedule", "wake-ups": "try_to_wake_up", "work items": "__queue_work",
         "timers set": "__mod_timer", "system calls": "do_syscall_64", "allocations": "kmem_cache_alloc kmem_cache_alloc_noprof "
         "__kmalloc __kmalloc_noprof kmalloc_trace __kmalloc_cache_noprof kmem_cache_alloc_node kmem_cache_alloc_node_noprof",
         "irq-saving locks": "_raw_spin_lock_irqsave", "mutexes": "mutex_lock"}


class Symbols:
    """Functions of one address space, by address."""

    def __init__(self, found: Iterable[tuple[int, str, str]]) -> None:
        self._all = sorted(found)
        self._addresses = [address for address, _, _ in self._all]

    def at(self, address: int) -> tuple[str, str, bool]:
        """Returns function and module of an address, and whether it is the first one of the function."""
        number = bisect.bisect_right(self._addresses, address) - 1
        if number < 0:
            return "?", "?", False
        start, name, module = self._all[number]
        return name, module, start == address


def kernel_symbols(kallsyms: str) -> Iterable[tuple[int, str, str]]:
    """Yields the functions of a kernel and its modules."""
    for line in kallsyms.splitlines():
        address, kind, name, *module = line.split()
        if kind in "tTwW":
            yield int(address, 16), name, module[0].strip("[]") if module else KERNEL


@cache
def _functions(path: str) -> list[tuple[int, str]]:
    """Functions of an ELF file, relative to its first byte; a stripped one has only those that it exports."""
    found = []
    for words in (["nm"], ["nm", "-D"]):
        done = subprocess.run([*words, "--defined-only", path], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        found = [(int(line.split()[0], 16), line.split()[2].partition("@")[0])
                 for line in done.stdout.splitlines() if line.split()[1] in "tTwWi"]
        if found:
            break
    return found


def user_symbols(maps: str) -> Iterable[tuple[int, str, str]]:
    """Yields the functions of a program and its libraries, from its memory map."""
    first: dict[str, int] = {}
    for line in maps.splitlines():
        words = line.split(maxsplit=5)
        if len(words) < 6:
            continue
        start = int(words[0].partition("-")[0], 16)
        base = first.setdefault(words[5], start)
        name = Path(words[5]).name
        if "x" in words[1]:
            # What has no symbol, as the stubs of calls into other libraries.
            yield start, "(stubs)", name
        if base == start and words[5].startswith("/"):
            yield from ((base + offset, function, name) for offset, function in _functions(words[5]))


@dataclass
class Profile:
    """Counts for one more connection, both ends."""

    functions: Counter = field(default_factory=Counter)
    entries: Counter = field(default_factory=Counter)
    copied: float = 0
    cleared: float = 0
    iterations: float = 0

    def modules(self) -> Counter:
        """Returns the instructions of each module, library and program."""
        found: Counter = Counter()
        for (_, module), count in self.functions.items():
            found[module] += count
        return found

    def total(self) -> float:
        """Returns the instructions of all but the driver."""
        return sum(count for (_, module), count in self.functions.items() if module != DRIVER)

    def calls(self) -> dict[str, float]:
        """Returns the numbers of the calls in CALLS."""
        return {what: sum(self.entries[name, KERNEL] for name in names.split())
                for what, names in CALLS.items()}

    def summary(self) -> dict:
        """Returns what a record keeps."""
        return {"total": round(self.total()),
                "modules": {name: round(count) for name, count in self.modules().most_common()
                            if count >= 50},
                "calls": {name: round(count, 1) for name, count in self.calls().items()},
                "copied": round(self.copied), "cleared": round(self.cleared),
                "iterations": round(self.iterations)}


def _add(profile: Profile, blocks: str, symbols: Symbols, factor: float) -> None:
    for line in blocks.splitlines():
        at, *numbers = line.split()
        size, executions, copied, cleared = map(int, numbers)
        name, module, is_first = symbols.at(int(at, 16))
        times = executions * factor
        profile.functions[name, module] += size * times
        profile.copied += copied * times
        profile.cleared += cleared * times
        if copied or cleared:
            profile.iterations += times
        if is_first:
            profile.entries[name, module] += times


def difference(few: str, more: str, symbols: Symbols, connections: int) -> Profile:
    """Returns the profile of two runs, the second of which had so many connections more."""
    profile = Profile()
    _add(profile, more, symbols, 1 / connections)
    _add(profile, few, symbols, -1 / connections)
    return profile


def load(folder: Path, records: Iterable[dict]) -> dict[tuple[str, str], list[Profile]]:
    """Returns the profiles of all rounds by case and stack; `records` are those of tests/perf/count.py."""
    kernel = list(kernel_symbols((folder / "kallsyms").read_text()))
    runs: dict[tuple[str, str, int], list[dict]] = {}
    for record in records:
        if "part" in record:
            runs.setdefault((record["variant"], record["stack"], record["round"]), []).append(record)
    found: dict[tuple[str, str], list[Profile]] = {}
    for (case, stack, _), (few, more) in ((key, run) for key, run in runs.items() if len(run) == 2):
        symbols = Symbols([*kernel, *user_symbols((folder / f"{more['part']}.maps").read_text())])
        texts = [(folder / f"{run['part']}.blocks").read_text() for run in (few, more)]
        found.setdefault((case, stack), []).append(
            difference(*texts, symbols, more["count"] - few["count"]))
    return found


def middle(profiles: list[Profile]) -> Profile:
    """Returns the profile whose total is the median."""
    return sorted(profiles, key=Profile.total)[len(profiles) // 2]


def _line(name: str, cells: Iterable[str]) -> str:
    return f"  {name:44}" + "".join(f"{cell:>12}" for cell in cells)


def text(case: str, profiles: dict[str, Profile], top: int) -> str:
    """Formats the profiles of one case: by module, calls, and function by function with the difference of two stacks."""
    lines = [f"{case}: per connection, both ends", _line("", profiles),
             _line("instructions, without the driver",
                   (f"{profile.total():.0f}" for profile in profiles.values()))]
    sums = {name: profile.modules() for name, profile in profiles.items()}
    modules = {module for found in sums.values() for module, count in found.items() if abs(count) >= 50}
    for module in sorted(modules, key=lambda name: -max(found[name] for found in sums.values())):
        lines.append(_line(f"  {module}", (f"{found[module]:.0f}" for found in sums.values())))
    for what in CALLS:
        lines.append(_line(what, (f"{profile.calls()[what]:.1f}" for profile in profiles.values())))
    for what in ("copied", "cleared"):
        lines.append(_line(f"bytes {what} by string instructions",
                           (f"{getattr(profile, what):.0f}" for profile in profiles.values())))
    lines.append(_line("  their iterations, which count as instructions",
                       (f"{profile.iterations:.0f}" for profile in profiles.values())))
    first, *others = profiles.values()
    if not others:
        lines += ["", "  instructions   calls  function"]
        for (name, module), count in first.functions.most_common(top):
            lines.append(f"  {count:12.0f}{first.entries[name, module]:8.1f}  {name} ({module})")
        return "\n".join(lines)
    names = list(profiles)
    lines += ["", "".join(f"{name:>12}   calls" for name in names[:2]) + "  difference  function"]
    every = set(first.functions) | set(others[0].functions)
    gap = {key: first.functions[key] - others[0].functions[key] for key in every}
    for key in sorted(every, key=lambda key: -abs(gap[key]))[:top]:
        lines.append("".join(f"{profile.functions[key]:12.0f}{profile.entries[key]:8.1f}"
                             for profile in (first, others[0]))
                     + f"{gap[key]:12.0f}  {key[0]} ({key[1]})")
    return "\n".join(lines)


def functions(case: str, profiles: dict[str, Profile], module: str, top: int) -> str:
    """Formats the functions of one module, the most expensive first."""
    lines = [f"{case}: {module}, per connection, both ends"]
    for stack, profile in profiles.items():
        cost = {name: count for (name, where), count in profile.functions.items() if where == module}
        if not cost:
            continue
        lines += [f"{stack}: {sum(cost.values()):.0f} instructions", "  instructions   calls  function"]
        for name in sorted(cost, key=lambda name: -cost[name])[:top]:
            lines.append(f"  {cost[name]:12.0f}{profile.entries[name, module]:8.1f}  {name}")
    return "\n".join(lines)
