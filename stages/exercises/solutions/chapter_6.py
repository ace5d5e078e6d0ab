"""Solutions to chapter 6: mutable arrays."""


def read_pullback(n, indices, z):
    """Each element that was read passes its cotangent back to its index; several of one index are added."""
    ct = [0.0] * n
    for i, zi in zip(indices, z, strict=True):
        ct[i] += zi
    return ct


def write_pullback(i, ct):
    """The old value of x[i] is lost, so its cotangent is 0; the new one came from v."""
    return [0.0 if k == i else z for k, z in enumerate(ct)], ct[i]


def resolve(backpropagators, n, z):
    """Both arrays are allocated once, and updated in place."""
    c, m = [0.0] * n, [0.0] * len(backpropagators)
    m[-1] = z
    for i in reversed(range(len(backpropagators))):
        backpropagators[i](m[i], c, m)
    return c
