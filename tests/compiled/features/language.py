"""Features of the language and its library, by the headings of numba's page "Supported Python features"."""

FEATURES = {
    "Language: constructs": """
# if, elif, else
s = x
if k > 5: s = x * x
elif k > 2: s = x * y
else: s = y
s
# conditional expression
x * y if k > 2 else x
# while
s = x
while s < 9.0: s *= 1.5 + y
s
# while, else
while k > 0: k -= 1
else: x = x * y
x
# for, over a range
s = 0.0
for q in range(1, 9, 2): s += x**q
s
# for, else
for q in range(k):
    if q > 5: break
else: x = x * y
x
# break
s = x
for q in range(9):
    if s > 3.0: break
    s *= 1.5 + y
s
# continue
s = x
for q in range(5):
    if q % 2: continue
    s += x * q
s
# pass
if k > 1: pass
x * x
# early return
if x < 2.0: return x * x
x
# return in a loop
for q in range(9):
    if q == k: return x * q
y
# return without a value, of a function that changes an array
def fill(u):
    if len(u) > 100: return
    u[0] = x * x
fill(a)
np.sum(a)
# match on numbers
match k:
    case 1 | 2: return x
    case 3: return x * x
    case _: return y
# match on a tuple
match (k, n):
    case (3, q): return x * q
    case _: return y
# assignment to several names
p1 = p2 = x * y
p1 * p2
# swap
x, y = y * y, x
x - y
# augmented assignment
x += y; x *= y; x -= 0.5; x /= y; x **= 2; x //= 0.1; x %= 3.0
x * y
# annotated assignment
s: float = x * x
s
# unpacking of a tuple
p1, p2 = t
p1 * p2
# unpacking of a nested tuple
(p1, p2), p3 = t, x
p1 * p2 * p3
# starred unpacking
p1, *rest = (x, y, x)
p1 * rest[0]
# chained comparison
x if 0.1 < x < y <= 2.0 else y
# and, or, not
x if (k > 1 and not flag) or n == 2 else y
# or of numbers
(x or y) * x
# is, is not
s = None
x * x if s is None else x
# in, of a tuple
x if k in (1, 3) else y
# in, of a string
x if "tw" in word else y
# in, of an array
x if 3 in places else y
# del
s = x * y
q = s * s
del s
q
# assert
assert x > 0.0, "positive"
x * x
# raise
if x < 0.0: raise ValueError("negative")
x * x
# raise with values that are computed
if x < 0.0: raise ValueError("negative", k)
x * x
# list comprehension
s = [x * q for q in range(3)]
s[2]
# list comprehension with a condition
s = [x * q for q in range(5) if q % 2]
s[1]
# list comprehension of two loops
s = [x * q * r for q in range(3) for r in range(2)]
s[3]
# set comprehension
s = {q % 2 for q in range(5)}
x * len(s)
# dict comprehension
s = {q: x * q for q in range(3)}
s[2]
# generator expression
sum(x * q for q in np.arange(3))
# f-string
s = f"value {k}"
x * len(s)
# global constant
x * NUMBER
# global array
x * TABLE[1]
# global tuple
x if FLAGS[0] else y
# global tuple of strings
x if COLOURS[0] == "red" else y
# global dict
x * NAMES["green"]
# global set
x if k in LIMITS else y
""",
    "Language: functions": """
# call of a numba function
doubled(x) * y
# keyword and default arguments
with_default(x) + with_default(x, w=y) + with_default(v=y, u=x)
# *args in a numba function
add_rest(x, y, 0.5)
# *args in a numba function, none given
add_rest(x) * y
# call with *tuple
with_default(*t)
# call with *tuple of a function with *args
add_rest(x, *t)
# recursion
factorial(x, 3)
# function as argument
g(x) * y
# functions in a tuple
s = 0.0
for f in literal_unroll((doubled, doubled)): s += f(x)
s
# inner function
def square(u): return u * u * y
square(x)
# inner function that calls another
def square(u): return u * u
def fourth(u): return square(square(u))
fourth(x)
# inner function with a loop that returns
def root(u):
    for q in range(9):
        if q * q > u: return q * u
    return u
root(y)
# lambda
f = lambda u: u * u + y
f(x)
# lambda that is passed on
def twice(f, u): return f(f(u))
twice(lambda u: u * u, x)
# map with a lambda
s = 0.0
for q in map(lambda u: u * u, a): s += q
s
# filter
s = 0.0
for q in filter(lambda u: u > 0.4, a): s += q * q
s
# closure of numba functions
made_adder(2.0) * x
# value of a function that may be None
s = first_or_none(x, places)
0.0 if s is None else s * y
# value that is None on some paths
s = None
for q in range(k):
    if q == 2: s = x * q
0.0 if s is None else s * y
# argument that is None
with_default(x, w=nothing)
# argument that is a string
by_name(x, word) * by_name(y, "once")
# tuple as result
p1, p2 = swapped(t)
p1 * p1 + p2
# print
print(k)
x * x
# generator that is called
s = 0.0
for q in rise(x, 3): s += q * q
s
# next of a generator
s = rise(x, 3)
next(s) + next(s)
# try, except around what is discrete
try: q = TABLE[k]
except Exception: q = 0.5
x * q
# try, except around what is differentiated
try:
    s = x * x
    if s > 9.0: raise ValueError
except Exception: s = y
s
# try, finally
try: s = x * x
finally: k += 1
s * k
# try, else
try: q = k * 2
except Exception: q = 1
else: q += 1
x * q
# objmode around what is discrete
with objmode(q="int64"): q = 5
x * q
# objmode around what is printed
with objmode(): str(k)
x * x
# literally
s = literally(k)
x * s
""",
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
(x + y) * x / y - x**y + x % y + x // 0.1
# float: -x, +x
-x * +y
# power with an int
x**k + x**-1 + x**2 + k**x
# float.is_integer
x if (x * 2.0).is_integer() else y
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
# Ellipsis
a[...][1] * x
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
# int of a str
x * int("12")
# loop over a str
s = 0.0
for q in word: s += x
s
# hash of a str
x if hash(word) == hash("twice") else y
# bytes
x * b"ab"[1]
# bytearray
x * bytearray(b"ab")[1]
# memoryview
x * memoryview(raw)[1]
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
# tuple.index, count
s = (1, 3)
x * s.count(3)
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
# namedtuple with a default
s = Defaulted(x)
s.u * s.scale
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
# list of tuples
s = [(x, y), (y, x)]
s[1][1] * s[0][1]
# list of lists
s = [[x, y], [y, x]]
s[1][1] * s[0][1]
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
# reversed of a list
r = 0.0
for q in reversed([x, y]): r += q * x
r
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
# typed.Dict as argument
table[4] * x
# dict of arrays
s = {1: a, 3: c}
s[k][1] * x
""",
    "Built-in functions": """
# abs
abs(x - y) * x
# bool
x if bool(k) else y
# chr, ord
x * ord(chr(65))
# divmod
p1, p2 = divmod(y, 0.5)
p1 * p2
# divmod of ints
p1, p2 = divmod(k, n)
x * p1 + p2
# enumerate
s = 0.0
for q, v in enumerate(a): s += q * v * v
s
# enumerate with a start
s = 0.0
for q, v in enumerate(a, 2): s += q * v * v
s
# float
float(k) * float(x)
# getattr
getattr(p, "u") * x
# hasattr
x if hasattr(p, "u") else y
# hash
x if hash(k) == hash(3) else y
# int
int(y) * x
# isinstance
x if isinstance(x, float) else y
# iter, next
s = iter((x, y))
next(s) * next(s)
# len
len(a) * x
# list of a range
x * list(range(3))[2]
# max, min
max(x, y) * min(x, y, 2.0)
# max, min of a tuple
max(t) * min(t)
# pow
pow(x, 3) + pow(x, y)
# range
x * range(2, 9)[1]
# len of a range
x * len(range(2, 9))
# repr
x * len(repr(k))
# reversed
s = x
for q in reversed(range(3)): s = s * y + q
s
# round
x * round(y)
# round to places
x * round(y, 2)
# slice
a[slice(1, 3)][0] * x
# sorted of an array
s = sorted(a)
s[0] * x
# sum of a tuple
sum(t) * x
# sum of an array
sum(a) * x
# sum with a start
sum(t, x)
# type
type(x)(k) * x
# zip
s = 0.0
for v, q in zip(a, c): s += v * q * q
s
# zip of three
s = 0.0
for v, q, r in zip(a, c, range(9)): s += v * q * r
s
# zip and enumerate
s = 0.0
for q, (v, r) in enumerate(zip(a, c)): s += v * q * r
s
""",
    "Standard library": """
# math: powers and logarithms
math.exp(x) + math.expm1(x) + math.log(x) + math.log1p(x) + math.log2(x) + math.log10(x) + math.sqrt(x) + math.pow(x, y)
# math: trigonometric
math.sin(x) + math.cos(x) + math.tan(x) + math.asin(x) + math.acos(x) + math.atan(x) + math.atan2(x, y) + math.hypot(x, y)
# math: hyperbolic
math.sinh(x) + math.cosh(x) + math.tanh(x) + math.asinh(x) + math.acosh(y) + math.atanh(x)
# math: special
math.erf(x) + math.erfc(x) + math.gamma(x) + math.lgamma(x)
# math: parts
math.floor(y) * x + math.ceil(y) * x + math.trunc(y) * x + math.fabs(x) + math.copysign(x, y) + math.fmod(y, x)
# math: frexp
p1, p2 = math.frexp(y)
p1 * p2
# math: ldexp
math.ldexp(x, k)
# math: modf
p1, p2 = math.modf(y)
p1 * p2
# math: gcd
x * math.gcd(k, n)
# math: degrees, radians
math.degrees(x) + math.radians(y)
# math: isinf, isnan, isfinite
x if math.isfinite(x) and not math.isinf(x) and not math.isnan(x) else y
# math: constants
x * math.pi + math.e + math.tau
# cmath
abs(cmath.exp(complex(x, y)))
# operator module
operator.mul(x, y) + operator.add(x, y)
# functools.reduce
functools.reduce(lambda u, v: u * v, t)
# enum as argument
x if colour == Colour.GREEN else y
# enum member
x if Colour.RED != Colour.GREEN else y
# IntEnum
x * Level.HIGH
# enum value
x * Colour.GREEN.value
# random.random
random.seed(3)
x * random.random()
# random.gauss
random.seed(3)
random.gauss(x, y)
# random.shuffle
random.seed(3)
s = np.array([1, 2, 3])
random.shuffle(s)
x * s.sum()
# random.betavariate
random.seed(3)
x * random.betavariate(2.0, 3.0)
# heapq of ints
s = [3, 1, 2]
heapq.heapify(s)
x * heapq.heappop(s)
# heapq of what is differentiated
s = [y, x]
heapq.heapify(s)
heapq.heappop(s) * y
""",
}
