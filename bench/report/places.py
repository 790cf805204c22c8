# SPDX-License-Identifier: MIT
"""Where labels go that would lie on each other."""


def spread(wanted: list[float], gap: float, least: float, most: float) -> list[float]:
    """Places as near as possible to what is wanted (ascending) with gaps between them, within limits if there is room."""
    groups: list[tuple[float, int]] = [] # sum of the first places that they want, how many
    for index, place in enumerate(wanted):
        groups.append((place - index * gap, 1))
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            last, before = groups.pop(), groups.pop()
            groups.append((last[0] + before[0], last[1] + before[1]))
    first = [total / count for total, count in groups for _ in range(count)]
    highest = most - gap * (len(wanted) - 1)
    return [max(least, min(place, highest)) + index * gap for index, place in enumerate(first)]
