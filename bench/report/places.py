# SPDX-License-Identifier: MIT
"""Places labels so that they do not overlap."""


def spread(wanted: list[float], gap: float, least: float, most: float) -> list[float]:
    """Returns places near the wanted ones (ascending), at least `gap` apart, and within limits if there is room."""
    groups: list[tuple[float, int]] = [] # the sum of the wanted first places, and their number
    for index, place in enumerate(wanted):
        groups.append((place - index * gap, 1))
        while len(groups) > 1 and groups[-2][0] / groups[-2][1] > groups[-1][0] / groups[-1][1]:
            last, before = groups.pop(), groups.pop()
            groups.append((last[0] + before[0], last[1] + before[1]))
    first = [total / count for total, count in groups for _ in range(count)]
    highest = most - gap * (len(wanted) - 1)
    return [max(least, min(place, highest)) + index * gap for index, place in enumerate(first)]
