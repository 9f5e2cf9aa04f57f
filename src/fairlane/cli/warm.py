"""``fairlane warm``: compile the kernels now, so that no later command waits for it."""

from __future__ import annotations

import time


def command() -> None:
    """Compile every kernel of solver, checker and simulator once, and say where the machine code is kept."""
    from fairlane.cli import output
    from fairlane.cli.warm_up import FOLDERS, STEPS
    from fairlane.compiling.cache import place_to_write
    from fairlane.compiling.notice import Compiling, told

    compiled: list[str] = []

    def count(what: Compiling) -> None:
        if what.begins:
            compiled.append(what.kernel)

    begun = time.perf_counter()
    with output.progress("compiling", unit="groups of kernels") as shown, told(count):
        for k, step in enumerate(STEPS):
            shown(k, len(STEPS))
            step()
    terminal = output.console()
    if compiled:
        terminal.print(f"{len(compiled)} kernels compiled in {time.perf_counter() - begun:.0f} s")
    else:
        terminal.print("every kernel had been compiled before")
    for folder in FOLDERS:
        place = place_to_write(folder)
        kept = "nowhere: no place can be written, so every process compiles anew" if place is None else str(place)
        terminal.print(f"machine code of {folder.parent.name}/{folder.name} is kept in {kept}", soft_wrap=True)
