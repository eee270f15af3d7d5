# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""Who is woken, and where tasks give up the processor: per connection, by task and by the functions that lead there.

The kernel's tracepoints count by stack, so the run is slower than one without them, and sees the same wake-ups.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

from count import CASES, FLOOR, Case, over, run_case
from guest import FLOOR_RUN, Records, fail, neighbour
from stacks import Stack

TRACING = Path("/sys/kernel/tracing")
# Tracepoint, the keys of its histogram, and what a line of it is.
EVENTS = (("sched_waking", "comm", "wake-ups, and their sources"),
          ("sched_switch", "prev_comm,prev_state", "context switches, and where the task was"))
STATES = {"0": "preempted", "1": "sleeps", "2": "waits", "128": "idle", "256": "preempted"}
# Every wake-up of a worker and every sleep has them.
COMMON = set("kick_pool __queue_work queue_work_on queue_delayed_work_on mod_delayed_work_on process_one_work worker_thread "
             "kthread ret_from_fork ret_from_fork_asm entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_ioctl "
             "autoremove_wake_function __wake_up_common __wake_up schedule __schedule preempt_schedule_common complete "
             "swake_up_locked schedule_timeout".split())
FRAMES = 7
LEAST = 0.1


def parse(text: str) -> Counter:
    """Returns the hits of a histogram by task and functions, the innermost first."""
    found: Counter = Counter()
    for body, hits in re.findall(r"\{ (.*?)hitcount:\s+(\d+)", text, re.DOTALL):
        task = re.sub(r"\d+", "N", re.search(r"comm: *([^,\s]+)", body)[1])
        state = re.search(r"prev_state: *(\d+)", body)
        frames = [frame for frame in re.findall(r"^\s+(\S+?)\+0x", body, re.MULTILINE) if frame not in COMMON]
        found[f"{task} {STATES.get(state[1], state[1])}" if state else task,
              " < ".join(frame.partition(".")[0] for frame in frames[:FRAMES])] += int(hits)
    return found


def _show(title: str, found: Counter, connections: int) -> None:
    print(f"\n{sum(found.values()) / connections:.1f} {title}")
    for (task, frames), hits in found.most_common():
        if hits < LEAST * connections:
            break
        print(f"{hits / connections:7.2f}  {task:24} {frames}")


def _measure(stack: Stack, case: Case, records: Records) -> None:
    run_case(stack, case, case.few, records, False)
    for event, keys, title in EVENTS:
        files = TRACING / "events/sched" / event
        trigger = f"hist:keys={keys},common_stacktrace:size=16384"
        (files / "trigger").write_text(trigger)
        found = run_case(stack, case, case.more, records, False)
        if "broken" in found:
            fail(found["broken"])
        _show(title, parse((files / "hist").read_text()), case.more)
        (files / "trigger").write_text(f"!{trigger}")


def measure(stacks: tuple[Stack, Stack], records: Records, names: list[str],
            only: list[str] | None) -> None:
    """Prints the tables of the named cases, or of all."""
    neighbour()
    for name in names or CASES:
        if name not in CASES:
            fail(f"no case is called '{name}'; there are: {' '.join(CASES)}")
        case = CASES[name]
        for stack in stacks if FLOOR not in case.stacks else stacks[:1]:
            if (FLOOR in case.stacks and FLOOR_RUN.exists()) or (
                    stack.name in case.stacks and stack.name in (only or case.stacks)):
                print(f"\n{name}, {stack.name if FLOOR not in case.stacks else FLOOR}: per connection, both ends")
                with over(case.trunks):
                    _measure(stack, case, records)
