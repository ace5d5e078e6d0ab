"""Features of the built-in types, by the headings of numba's page "Supported Python features"."""

FEATURES = {
    "Built-in types: numbers": """
# int arithmetic
x * (k + n * 3 - k // n + k % n + k**2 + -k)
# int division
x * (k / n)
# int bits
x * ((k & n) | (k ^ n) << 1 >> 1)
# ~
x * ~k
# int.bit_count
x * numba.int64(k) if k else y
# bool arithmetic
x * (flag + flag)
# float arithmetic
(x + y) * x / y - x**y + x % y + x // 0.13
# float: -x, +x
-x * +y
# power with an int
x**k + x**-1 + x**2 + k**x
# float32 arithmetic
x32 * x32 + np.float32(0.5)
# numbers of numpy's types
x * u8 + np.float64(y) * np.int32(k)
# np.bool_
x * np.bool_(k > 1)
# .real, .imag of a float
x.real * y + x.imag
# conjugate of a float
x.conjugate() * y
# comparison of numbers
x * (x < y) + y * (x != y)
# None
s = None
x if s is None else y
# NaN and infinity
x if x < math.inf and not math.isnan(x) else np.nan
""",
    "Built-in types: complex": """
# complex()
s = complex(x, y)
s.real * s.imag
# complex literal
s = x + 2j
(s * s).real
# complex argument
(z * x).imag
# array of complex numbers
x * za[0].real
# abs of a complex number
abs(complex(x, y))
# complex from reals, elementwise
np.sum(np.abs(a + 1j * c))
""",
    "Built-in types: text": """
# str literal, compared
x if word == "twice" else y
# len of a str
x * len(word)
# str index
x if word[0] == "t" else y
# str concatenation
x * len(word + "b")
# str methods
x if word.startswith("tw") and word.upper() == "TWICE" else y
# str()
x * len(str(k))
# str.join, split
x * len("-".join(["a", word]).split("-"))
# loop over a str
s = 0.0
for q in word: s += x
s
# hash of a str
x if hash(word) == hash("twice") else y
# bytes
x * b"ab"[1]
""",
    "Built-in types: tuples": """
# tuple of floats
s = (x, y, x * y)
s[0] * s[2]
# tuple as argument
t[0] * t[1]
# tuple with arrays and ints
mixed[0] * mixed[1] + mixed[2][1]
# tuple index that is computed
s = (x, y, x * y)
s[k - 2]
# tuple slice
s = (x, y, x * y)[1:]
s[0] * s[1]
# tuple concatenation
s = t + (x,)
s[0] * s[2]
# tuple comparison
x if (k, n) == (3, 2) else y
# tuple order
x if (k, n) < (3, 5) else y
# len of a tuple
len(t) * x
# loop over a tuple
s = 1.0
for q in t: s *= q
s
# tuple() of a list
s = tuple((x, y))
s[0] * s[1]
# numba.core's to_fixed_tuple
s = numba.np.unsafe.ndarray.to_fixed_tuple(a, 3)
s[0] * s[2]
# tuple_setitem
s = numba.cpython.unsafe.tuple.tuple_setitem(t, 0, x)
s[0] * s[1]
# namedtuple as argument
p.u * p.v[1] * p.n
# namedtuple, constructed
s = Point(x, y=y)
s.x * s.y
# namedtuple, unpacked
p1, p2 = Point(x, y)
p1 * p2
# namedtuple as result
def turn(s): return Point(s.y, s.x * s.y)
s = turn(Point(x, y))
s.x - s.y
# literal_unroll
s = 0.0
for q in literal_unroll((1, x, k)): s += q * y
s
# literal_unroll of an argument
s = 0.0
for q in literal_unroll(t): s += q * y
s
""",
    "Built-in types: lists": """
# list literal
s = [x, y]
s[0] * s[1]
# list(), append
s = []
for q in range(3): s.append(x * q)
s[2] * s[1]
# list pop
s = [x, y, x * y]
s.pop() * s[0]
# list index that is written
s = [x, y]
s[0] = x * y
s[0]
# list slice
s = [x, y, x * y][1:]
s[0] * s[1]
# list + list
s = [x] + [y]
s[0] * s[1]
# list * int
s = [x] * 3
s[0] * s[2]
# len of a list
s = [x, y]
len(s) * x
# loop over a list
r = 0.0
for q in [x, y]: r += q * q
r
# list extend
s = [x]
s.extend([y, x])
s[1] * s[2]
# list insert
s = [x, y]
s.insert(0, x * y)
s[0]
# list reverse
s = [x, y]
s.reverse()
s[0] * s[0]
# list sort
s = [y, x]
s.sort()
s[0] * s[0]
# list copy
s = [x, y].copy()
s[0] * s[1]
# list clear
s = [x, y]
s.clear()
len(s) + x
# list remove
s = [1, 2]
s.remove(1)
x * s[0]
# list count, index
s = [1, 2, 2]
x * s.count(2) + s.index(2)
# list of ints
s = [k, n]
x * s[0]
# list of arrays
s = [a, c]
s[0][1] * s[1][0]
# list of arrays that grows
s = [a]
s.append(c)
s[1][1] * s[0][0]
# list of arrays that are written to
s = [a * x]
s.append(c * y)
s[1][1] *= s[0][0]
s[1][1]
# list of tuples
s = [(x, y), (y, x)]
s[1][1] * s[0][1]
# list of lists
s = [[x, y], [y, x]]
s[1][1] * s[0][1]
# list of lists that grows
s = [[x, y]]
s.append([y])
s[1].append(x)
s[0][0] *= y
s[1][1] * s[0][0] * len(s[1])
# list of lists from a comprehension
s = [[0.0] * 2 for q in range(n)]
s[0][1] = x
s[0][1] * s[0][1] + s[0][0] * y
# list of lists of ints
s = [[0] * 2 for q in range(n)]
s[0].append(k)
x * len(s[0])
# list of strings
s = ["a", "b"]
x * len(s)
# sum of a list
sum([x, y])
# max of a list
s = [x, y]
max(s) * x
# np.array of a list
s = [x, y]
np.sum(np.array(s) ** 2)
# list as argument
reflected[0] * x
# typed.List()
s = List()
s.append(x)
s.append(y)
s[0] * s[1]
# typed.List of a list
s = List([x, y])
s[0] * s[1]
# typed.List.empty_list
s = List.empty_list(types.float64)
s.append(x)
s[0] * s[0]
# typed.List as argument
typed[0] * x
# sorted of a list
s = sorted([y, x])
s[0] * x
""",
    "Built-in types: sets and dicts": """
# set literal of ints
s = {1, 2, k}
x * len(s)
# set(), add
s = set()
s.add(k)
x * len(s)
# in, of a set
s = {1, 2, 3}
x if k in s else y
# loop over a set of ints
r = 0.0
for q in {1, 2}: r += x * q
r
# set operations
x * len({1, 2} | {2, 3})
# set of floats that are differentiated
s = {x, y}
len(s) * x
# dict literal with discrete values
s = {1: 2, 3: 4}
x * s[k]
# dict literal with values that are differentiated
s = {1: x, 3: x * y}
s[k]
# dict(), set by index
s = dict()
s[k] = x * y
s[k]
# dict get
s = {1: 2, 3: 4}
x * s.get(k, 0)
# dict: in
s = {1: 2}
x if k in s else y
# dict: len
s = {1: 2}
x * len(s)
# dict: items
r = 0.0
s = {1: 2, 3: 4}
for q, v in s.items(): r += x * q * v
r
# dict: pop
s = {1: 2, 3: 4}
x * s.pop(3)
# dict of arrays that is filled
s = {}
for q in range(n): s[q] = a * x
v = s[0]
v[1] *= y
r = 0.0
for q, v in s.items(): r += v[1] * v[0] * q
r + s[0][1]
# dict of lists
v = List()
v.append(x)
s = {k: v}
s[k].append(y)
s[k][0] * v[1]
# dict with strings as keys
s = {"a": 1, "b": 2}
x * s["b"]
# dict of mixed constants
s = {"a": 1, "b": 2.0}
x * s["b"]
# typed.Dict.empty with discrete values
s = Dict.empty(types.int64, types.int64)
s[k] = 4
x * s[k]
# typed.Dict.empty with float values
s = Dict.empty(types.int64, types.float64)
s[k] = x * y
s[k] * x
# typed.Dict.empty with arrays as values
s = Dict.empty(types.unicode_type, types.float64[:])
s["a"] = a * x
s["a"][0] *= y
s["a"][0] * s["a"][1]
# typed.Dict as argument
table[4] * x
# dict of arrays
s = {1: a, 3: c}
s[k][1] * x
""",
}
