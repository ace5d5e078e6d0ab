"""Solutions to chapter 10: parallel reverse mode."""


def tree_sum(xs):
    """Each iteration halves the number of terms."""
    while len(xs) > 1:
        pairs = [x + y for x, y in zip(xs[::2], xs[1::2], strict=False)]
        xs = pairs + xs[len(xs) - len(xs) % 2 :]
    return xs[0]


def span(graph):
    """One more than the longest chain that ends in an operand."""
    longest: list[int] = []
    for operands in graph:
        longest.append(1 + max(longest[j] for _, j in operands) if operands else 0)
    return max(longest)


def levels(graph):
    """From the last id down: the level of an operand is below those of all its users."""
    last = len(graph) - 1
    level = {last: 0}
    for i in reversed(range(len(graph))):
        if i in level:
            for _, j in graph[i]:
                level[j] = max(level.get(j, 0), level[i] + 1)
    found: list[list[int]] = [[] for _ in range(max(level.values()) + 1)]
    for i in sorted(level):
        found[level[i]].append(i)
    return found
