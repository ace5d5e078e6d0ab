"""Solutions to chapter 4: staged calls and linear factoring."""


def merge(m1, m2):
    """The union of two maps; arguments of the same id are added."""
    merged = dict(m1)
    for i, (d, z) in m2.items():
        merged[i] = (d, merged[i][1] + z) if i in merged else (d, z)
    return merged


def resolve(c, m):
    """The highest id first: no call that is still to come can add to its argument."""
    while m:
        i = max(m)
        d, z = m[i]
        more, calls = d(z)
        c = c + more
        m = merge({j: call for j, call in m.items() if j != i}, calls)
    return c


def arguments(graph, z):
    """From the last id down to the first."""
    found = [0.0] * len(graph)
    found[-1] = z
    for i in reversed(range(len(graph))):
        for partial, j in graph[i]:
            found[j] += partial * found[i]
    return found
