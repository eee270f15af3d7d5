# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
"""A guest on the host's root, in QEMU or as a program: start, output, and end."""

from __future__ import annotations

import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from . import accel, paths, usage

# Exit statuses of a run that the guest itself did not end.
LOST = 125
TIMED_OUT = 124

# Kernel arguments: STALLS for an emulated processor, MACHINE for QEMU's devices, APPEND for every guest.
# norandmaps: QEMU translates a page again for each address at which it is executed. Where libraries have the same
# address in every process, a small program starts in less than half the time.
STALLS = ("rcupdate.rcu_cpu_stall_timeout=300 workqueue.watchdog_thresh=300 "
          "watchdog_thresh=60 sysctl.kernel.hung_task_timeout_secs=240")
MACHINE = "console=ttyS0 mitigations=off nokaslr norandmaps no_timer_check"
APPEND = ("panic_on_warn=1 oops=panic panic=-1 audit=0 apparmor=0 cryptomgr.notests loglevel=5 "
          "log_buf_len=4M printk.devkmsg=on")
EXIT = re.compile(rb"EXIT (\d+)\r?")
# From the start to the first command.
BOOT_SECONDS = 240
# A guest writes a heartbeat four times a minute. Without one for this time it counts as hung.
STILL_SECONDS = 240
# After a guest has reported its status, it gets this time to exit.
GRACE = 10


class Guest:
    """A guest named `spec.name`; all files of the run are kept in the directory `run`."""

    def __init__(self, name: str, run: Path, *, memory: int = 0, append: str = "",
                 qemu: list[str] | None = None, parallel: bool = False) -> None:
        specs = paths.guests()
        if name not in specs:
            raise paths.BenchError(f"no guest is called '{name}'; there are: {' '.join(specs)}")
        self.spec = specs[name]
        self.run = run
        self.out = run / "out"
        self.console = run / "console.log"
        self._alive = self.out / "alive"
        self.status: int | None = None
        self.timed_out = False
        self.stands_still = False
        self._exit: int | None = None
        self.deadline = 0.0
        self._memory = memory or self.spec.memory
        self._append = append
        self._qemu = qemu or []
        self._parallel = parallel
        self._process: subprocess.Popen[bytes] | None = None
        self._spent = 0.0

    def command_line(self, terminal: bool = False) -> list[str]:
        """Returns the full command line; with `terminal`, a user is connected to the second serial line."""
        kernel = paths.kernel_dir(self.spec.name)
        image = subprocess.run([str(paths.ROOT / "scripts/guest-image"), self.spec.name],
                               check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
        append = f"{APPEND} {self.spec.append} {self._append}".split()
        if paths.is_program(kernel):
            return self._program_line(kernel, image, append, terminal)
        return self._qemu_line(kernel, image, append)

    def _program_line(self, kernel: Path, image: str, append: list[str],
                      terminal: bool) -> list[str]:
        """Command line of User-mode Linux, whose console is stderr."""
        return [str(kernel / "vmlinuz"), f"mem={self._memory}M", f"initrd={image}", "quiet",
                "noreboot", "stderr=1", "con=null", "con0=null,fd:2", "console=tty0", "ssl=null",
                f"ssl1={'fd:0' if terminal else 'null'},fd:1", f"uml_dir={self.run}",
                f"umid={self.spec.name}", f"rca_out={self.out}", *append]

    def _qemu_line(self, kernel: Path, image: str, append: list[str]) -> list[str]:
        nine = "local,security_model=none,multidevs=remap"
        return [
            "qemu-system-x86_64", "-machine", "pc", *accel.arguments(kernel, self._parallel),
            "-smp", "2,sockets=2", "-m", str(self._memory), "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot",
            "-kernel", str(kernel / "vmlinuz"), "-initrd", image,
            "-append", " ".join([*MACHINE.split(), *STALLS.split(), *append]),
            "-fsdev", f"{nine},id=hostroot,path=/,readonly=on",
            "-device", "virtio-9p-pci,fsdev=hostroot,mount_tag=hostroot",
            "-fsdev", f"{nine},id=out,path={self.out}",
            "-device", "virtio-9p-pci,fsdev=out,mount_tag=out",
            "-device", "virtio-rng-pci",
            "-serial", f"file:{self.console}",
            "-chardev", "stdio,id=results,signal=off", "-serial", "chardev:results",
            *self._qemu,
        ]

    def _prepare(self, command: str | None) -> list[str]:
        """Writes the files of the run, and returns a command line that ends the guest if this process ends."""
        self.out.mkdir(parents=True, exist_ok=True)
        for stale in (self.console, self._alive, self.out / "command"):
            stale.unlink(missing_ok=True)
        size = shutil.get_terminal_size()
        env = {"GUEST": self.spec.name, "RCA_ROOT": paths.ROOT, "RCA_CACHE": paths.cache(),
               "RCA_KERNEL": paths.kernel_dir(self.spec.name).resolve(),
               "RCA_MODULES": f"{os.environ.get('RCA_MODULES', 'build/module')}/{self.spec.name}",
               "COLUMNS": size.columns, "LINES": size.lines,
               "TERM": os.environ.get("TERM", "dumb")}
        lines = [f"{key}={shlex.quote(str(value))}\n" for key, value in env.items()]
        (self.out / "env").write_text("".join(lines))
        if command is not None:
            (self.out / "command").write_text(command + "\n")
        line = self.command_line(terminal=command is None)
        (self.run / "qemu.cmd").write_text(shlex.join(line) + "\n")
        return ["setpriv", "--pdeathsig", "KILL", *line]

    def interactive(self) -> int:
        """Runs a shell in the guest on the present terminal."""
        return subprocess.run(self._prepare(None), check=False).returncode

    def lines(self, command: str, timeout: float) -> Iterator[bytes]:
        """Runs `command` in the guest; yields its output, line by line, without the newline.

        Afterwards `status` is the command's exit status, or None if the guest was lost. The caller may change
        `deadline` while it reads.
        """
        self.deadline = time.monotonic() + timeout
        line = self._prepare(command)
        errors_to = self.console if self._is_program() else self.run / "qemu.err"
        with open(errors_to, "wb") as errors:
            self._process = subprocess.Popen(line, stdin=subprocess.DEVNULL,
                                             stdout=subprocess.PIPE, stderr=errors,
                                             env=self._environment())
        try:
            yield from self._read()
        finally:
            self.stop()

    def _is_program(self) -> bool:
        return paths.is_program(paths.kernel_dir(self.spec.name))

    def _environment(self) -> dict[str, str]:
        """User-mode Linux keeps its memory in a file: in /dev/shm if there is enough space."""
        shm = Path("/dev/shm")
        if shm.is_dir() and shutil.disk_usage(shm).free > (self._memory + 64) << 20:
            return dict(os.environ)
        return {**os.environ, "TMPDIR": str(self.run)}

    def works_here(self) -> bool:
        """Whether a kernel that is a program runs on this machine; not all machines allow ptrace."""
        if not self._is_program():
            return True
        for _ in self.lines("true", BOOT_SECONDS):
            pass
        return self.status == 0

    def _read(self) -> Iterator[bytes]:
        """Yields the guest's lines, except a last line "EXIT n", which has the status."""
        assert self._process is not None and self._process.stdout is not None
        stream = self._process.stdout
        buffer = b""
        held: list[bytes] = []
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            while True:
                left = self.deadline - time.monotonic()
                if left <= 0:
                    self.timed_out = True
                    break
                if not selector.select(min(left, 1.0)):
                    if self._is_still():
                        self.stands_still = True
                        break
                    continue
                data = os.read(stream.fileno(), 65536)
                if not data:
                    self._exit = self._own_end()
                    break
                buffer += data
                *complete, buffer = buffer.split(b"\n")
                for line in complete:
                    # The guest ends with an empty line and its status. Hold both back until it is known that
                    # nothing follows.
                    if held and (EXIT.fullmatch(held[-1]) or not EXIT.fullmatch(line)):
                        yield from held
                        held = []
                    if line == b"" and not held or EXIT.fullmatch(line):
                        held.append(line)
                        if EXIT.fullmatch(line):
                            self.deadline = min(self.deadline, time.monotonic() + GRACE)
                    else:
                        yield line
        match = EXIT.fullmatch(held[-1]) if held else None
        if match:
            self.status = int(match.group(1))
            self.timed_out = False
            held = held[:-2]
        yield from held
        if buffer:
            yield buffer

    def _own_end(self) -> int | None:
        """How the process ended by itself: its status, or -N after signal N."""
        assert self._process is not None
        self.processor_seconds()
        try:
            return self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            return None

    def _is_still(self) -> bool:
        """Whether heartbeats have stopped for a long time, also because of a hanging emulator."""
        try:
            return time.time() - self._alive.stat().st_mtime > STILL_SECONDS
        except FileNotFoundError:
            return False

    def processor_seconds(self) -> float:
        """The processor time that it has used so far."""
        process = self._process
        if process is not None and process.returncode is None:
            self._spent = usage.seconds(process.pid)
        return self._spent

    def kill(self) -> None:
        """Kills QEMU, if it runs, from any thread; the reader of its lines then sees the end."""
        process = self._process
        if process is not None and process.returncode is None:
            process.send_signal(signal.SIGKILL)

    def stop(self) -> None:
        """Kills QEMU and waits for it."""
        if self._process is None:
            return
        self.kill()
        self.processor_seconds()
        self._process.wait()
        if self._process.stdout:
            self._process.stdout.close()

    def verdict(self) -> str:
        """Describes how the run ended, for the user."""
        if self.status is not None:
            return f"exit status {self.status}"
        if self.stands_still:
            return f"lost (it stood still for {STILL_SECONDS} s)"
        if self.timed_out:
            return "timed out"
        if self._exit is None:
            return "lost (it ended without a status)"
        if self._exit < 0:
            return f"lost (something killed its process with signal {-self._exit})"
        return f"lost (its process exited with {self._exit}, as after a reset of the processor)"

    def consoles(self) -> list[Path]:
        """Returns the files with the console output of the kernel."""
        return [self.console]

    def heard(self) -> str:
        """Returns new console output of another kernel that takes part; a single guest has none."""
        return ""

    def console_tail(self, count: int = 40) -> str:
        """Returns the last lines of the kernel's console, and of QEMU's own messages."""
        text = ""
        for path in (self.run / "qemu.err", self.console):
            if path.exists():
                text += path.read_text(errors="replace")
        return "\n".join(text.splitlines()[-count:])
