"""Features of the language, by the headings of numba's page "Supported Python features"."""

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
# dict comprehension
s = {q: x * q for q in range(3)}
s[2]
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
""",
    "Language: functions": """
# call of a numba function
doubled(x) * y
# keyword and default arguments
with_default(x) + with_default(x, w=y) + with_default(v=y, u=x)
# *args in a numba function
add_rest(x, y, 0.5)
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
try: q = TABLE[k - 2]
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
}
