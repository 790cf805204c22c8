# SPDX-License-Identifier: MIT
"""The parameters of each workload."""

Parameters = dict[str, int]


def _each(**lists: list[int]) -> list[Parameters]:
    """Returns all combinations."""
    combined: list[Parameters] = [{}]
    for name, values in lists.items():
        combined = [{**others, name: value} for others in combined for value in values]
    return combined


_TASKS = _each(loops=[1], tasks=[2, 16, 1000, 100000]) + _each(loops=[2], tasks=[1, 16, 1000, 100000])
_THREADS = _each(threads=[2, 4, 8, 16, 32])
_LATENCY = _each(pause_us=[20, 2000])

FULL: dict[str, list[Parameters]] = {
    "swap-tasks": _TASKS,
    "handoff-tasks": _TASKS,
    "swap-threads": _THREADS,
    "handoff-threads": _THREADS,
    # 100 us is the patience of the paper's figure 1; the others show the effect of more and less patience.
    "timed-threads": _each(patience_us=[100], threads=[2, 4, 8, 16, 32]) + _each(patience_us=[10, 1000], threads=[2, 8, 32]),
    "cancel-tasks": _each(tasks=[1000, 100000]),
    "timed-tasks": _each(patience_us=[1000000], tasks=[2, 16, 1000]),
    "timeout-tasks": _each(patience_us=[100], tasks=[1000]), # at most one each 100 ns
    "swap-pool": _each(tasks=[2, 16, 1000]),
    "select-tasks": _each(loops=[1], channels=[2, 4], tasks=[2, 16, 1000]) + _each(loops=[2], channels=[2, 4], tasks=[16]),
    "select-threads": _each(channels=[2, 4], threads=[2, 8]),
    "latency-tasks": _LATENCY,
    "latency-threads": _LATENCY,
    "latency-pool": _LATENCY,
    "memory-tasks": _each(tasks=[100000]),
}

SMOKE: dict[str, list[Parameters]] = {
    "swap-tasks": [{"loops": 1, "tasks": 16}, {"loops": 2, "tasks": 1}],
    "handoff-tasks": [{"loops": 1, "tasks": 16}, {"loops": 2, "tasks": 1}],
    "swap-threads": _each(threads=[2, 8]),
    "handoff-threads": _each(threads=[2, 8]),
    "timed-threads": [{"patience_us": 100, "threads": 8}],
    "cancel-tasks": _each(tasks=[100]),
    "timed-tasks": [{"patience_us": 1000000, "tasks": 16}],
    "timeout-tasks": [{"patience_us": 100, "tasks": 100}],
    "swap-pool": _each(tasks=[16]),
    "select-tasks": [{"loops": 1, "channels": 2, "tasks": 16}, {"loops": 2, "channels": 4, "tasks": 1}],
    "select-threads": [{"channels": 2, "threads": 2}, {"channels": 4, "threads": 8}],
    "latency-tasks": _each(pause_us=[20]),
    "latency-threads": _each(pause_us=[20]),
    "latency-pool": _each(pause_us=[20]),
    "memory-tasks": _each(tasks=[1000]),
}

# The names of variants that are measured on one loop only end like this.
ONE_LOOP = ("any_io_executor", "locking context")


def measured(implementation: str, parameters: Parameters) -> bool:
    """Returns whether an implementation is measured with these parameters."""
    return parameters.get("loops", 1) == 1 or not implementation.endswith(ONE_LOOP)


def longer(workload: str, parameters: Parameters) -> int:
    """Returns how many times longer a sample and its warm-up are. 100,000 tasks take a while until all have run."""
    return 3 if workload in ("swap-tasks", "handoff-tasks") and parameters["tasks"] >= 100000 else 1


def options(parameters: Parameters) -> list[str]:
    return [word for name, value in parameters.items() for word in (f"--{name.replace('_', '-')}", str(value))]
