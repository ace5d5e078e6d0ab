"""Solutions to chapter 1: differences."""


def forward_difference(f, x, h):
    """The slope of the line through two points, at x and at x + h."""
    return (f(x + h) - f(x)) / h


def central_difference(f, x, h):
    """The slope of the line through two points on both sides of x."""
    return (f(x + h) - f(x - h)) / (2.0 * h)


def difference_gradient(f, xs):
    """A central difference for each element, with two new lists for each: xs stays unchanged."""
    h, gradient = 1e-5, []
    for k, x in enumerate(xs):
        above = [*xs[:k], x + h, *xs[k + 1 :]]
        below = [*xs[:k], x - h, *xs[k + 1 :]]
        gradient.append((f(above) - f(below)) / (2.0 * h))
    return gradient
