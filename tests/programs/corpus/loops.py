"""Loops: for, while, break, continue and else; accumulators; nested loops; sums of comprehensions."""

from collections import deque
from itertools import combinations, pairwise, permutations

from dualrev import math
from programs.corpus.case import case


@case(0.7, 12)
def geometric_sum(x, n):
    """The partial sum of a geometric series, term by term."""
    total, term = 0, 1
    for _ in range(n):
        total += term
        term *= x
    return total


@case(1.3, [0.5, -1.2, 0.8, 2.0])
def polynomial(x, coefficients):
    """A polynomial by powers, with enumerate."""
    return sum(c * x**k for k, c in enumerate(coefficients))


@case(0.4, 10)
def shifted_harmonic(x, n):
    """The sum of 1 / (k + x)."""
    return sum(1 / (k + x) for k in range(1, n + 1))


@case(10.0, 0.2)
def shrink_until_small(x, factor):
    """A while loop whose trip count depends on the data."""
    steps = 0
    while x > 1.0:
        x = x * factor
        steps += 1
    return x + 0.5 * steps


@case([0.9, 1.4, 1.5, 9.0, 5.0], 6.0)
def product_up_to_a_limit(xs, limit):
    """Multiply until the product passes a limit, then break."""
    product = 1.0
    for x in xs:
        product *= x
        if product > limit:
            break
    return math.log(product) * limit


@case([1.5, -2.0, 0.7, -0.4, 3.1])
def mean_log_of_the_positive(xs):
    """The mean logarithm of the positive entries; the others are skipped with continue."""
    total, count = 0.0, 0
    for x in xs:
        if x <= 0:
            continue
        total += math.log(x)
        count += 1
    return total / count


@case([(0.1, 0.9), (1.4, -0.3), (-0.8, -1.1), (2.0, 0.5)])
def sum_of_distances(points):
    """The sum of all distances between points, in nested loops."""
    total = 0.0
    for i, (x1, y1) in enumerate(points):
        for x2, y2 in points[:i]:
            total += math.sqrt((x1 - x2) ** 2 + (y1 - y2) ** 2)
    return total


@case([1.0, -0.5, 2.0, 0.3], 0.9)
def discounted_returns(rewards, gamma):
    """The returns of an episode, from the last step to the first."""
    returns, value = [], 0.0
    for reward in reversed(rewards):
        value = reward + gamma * value
        returns.append(value)
    return returns[::-1]


@case(0.8, 15)
def alternating_series(x, n):
    """The first terms of log(1 + x), with a sign that flips."""
    total, sign, power = 0.0, 1, x
    for k in range(1, n + 1):
        total += sign * power / k
        sign = -sign
        power *= x
    return total


@case([3.0, 5.0, 3.2, 3.6, 1.2, 2.6])
def maximum_drawdown(prices):
    """The largest relative fall from a peak."""
    peak, worst = prices[0], 0.0
    for price in prices[1:]:
        peak = max(peak, price)
        worst = max(worst, (peak - price) / peak)
    return worst


@case([0.2, 0.5, 0.4, 0.3], 10.0)
@case([0.2, 0.5, 1.7, 0.3], 1.0)
def first_above(xs, threshold):
    """A search with for ... else: the excess of the first entry above the threshold, or the mean."""
    for x in xs:
        if x > threshold:
            found = (x - threshold) ** 2
            break
    else:
        found = sum(xs) / len(xs) * threshold
    return found


@case([1.0, 2.0, -1.0], [0.5, 0.1, 0.9], [2.0, 3.0, 1.5])
def weighted_squared_error(predictions, targets, weights):
    """The weighted mean of squared errors, with a zip of three lists."""
    total = sum(w * (p - t) ** 2 for p, t, w in zip(predictions, targets, weights, strict=True))
    return total / sum(weights)


@case([1.0, 3.0, 2.0, 4.5, 0.8])
def largest_container(heights):
    """The largest container between two walls, by two pointers."""
    left, right, best = 0, len(heights) - 1, 0.0
    while left < right:
        best = max(best, (right - left) * min(heights[left], heights[right]))
        if heights[left] < heights[right]:
            left += 1
        else:
            right -= 1
    return best**1.5


@case([2.0, -1.0, 0.5, 3.0], 0.3)
def moving_average(xs, alpha):
    """The exponential moving average, as a list."""
    smooth = [xs[0]]
    for x in xs[1:]:
        smooth.append(alpha * x + (1 - alpha) * smooth[-1])
    return smooth


@case(0.3, 1.1, 9)
def alternating_map(x, a, steps):
    """A map with another rule at odd steps."""
    for step in range(steps):
        if step % 2:
            x = a - x**2 / 2
        else:
            x = math.sin(a * x)
    return x


@case([[2.0, -1.0, 0.3], [0.4, 1.5, -0.7], [1.1, 0.2, 3.0]])
def determinant_by_permutations(rows):
    """Leibniz's formula: a signed sum over all permutations."""
    n, total = len(rows), 0
    for p in permutations(range(n)):
        term = (-1) ** sum(p[i] > p[j] for i, j in combinations(range(n), 2))
        for i in range(n):
            term = term * rows[i][p[i]]
        total += term
    return total


@case([1.0, 2.5, -0.5, 0.7, 1.9, -1.3], 3)
def window_energies(xs, width):
    """The energy in a sliding window, held in a deque."""
    window, energies = deque(maxlen=width), []
    for x in xs:
        window.append(x)
        if len(window) == width:
            energies.append(sum(w * w for w in window) / width)
    return energies


@case([-2.0, 1.5, 3.0, -1.0, 2.5, -4.0, 1.0])
def largest_subarray_sum(xs):
    """Kadane's algorithm."""
    best = current = xs[0]
    for x in xs[1:]:
        current = max(x, current + x)
        best = max(best, current)
    return best * abs(best)


@case([(0.0, 0.1), (2.0, 0.3), (2.5, 1.9), (0.4, 1.6)])
def polygon_area_and_perimeter(corners):
    """The shoelace formula, and the length of the closed line."""
    area = perimeter = 0.0
    for (x1, y1), (x2, y2) in pairwise([*corners, corners[0]]):
        area += x1 * y2 - x2 * y1
        perimeter += math.hypot(x2 - x1, y2 - y1)
    return abs(area) / 2, perimeter


@case(3.1, 2.2)
def remainder_walk(x, step):
    """Divisions with remainder in a loop: a staircase of divmod and round."""
    total = 0.0
    for sign in (1, -1):
        quotient, rest = divmod(sign * x, step)
        total += rest**2 + 0.1 * quotient
    return total + round(x) * x


@case(1.2, 0.7, 5)
def double_sum(x, y, n):
    """A sum over a triangle of indices, in one comprehension."""
    return sum((-1) ** (i + j) * x**i * y**j / (1 + i + j) for i in range(n) for j in range(i + 1))
