"""Built-in functions, the standard library, and what numba itself adds to the language."""

FEATURES = {
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
x if isinstance(k, int) else y
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
# len of a range
x * len(range(2, 9))
# repr
x * len(repr(k))
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
s = math.exp(x) + math.expm1(x) + math.log(x) + math.log1p(x) + math.log2(x)
s + math.log10(x) + math.sqrt(x) + math.pow(x, y)
# math: trigonometric
s = math.sin(x) + math.cos(x) + math.tan(x) + math.asin(x) + math.acos(x) + math.atan(x)
s + math.atan2(x, y) + math.hypot(x, y)
# math: hyperbolic
math.sinh(x) + math.cosh(x) + math.tanh(x) + math.asinh(x) + math.acosh(y) + math.atanh(x)
# math: special
math.erf(x) + math.erfc(x) + math.gamma(x) + math.lgamma(x)
# math: floor, ceil, trunc
math.floor(y) * x + math.ceil(y) * x + math.trunc(y) * x
# math: frexp
p1, p2 = math.frexp(y)
p1 * p2
# math: ldexp
math.ldexp(x, k)
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
# enum as argument
x if colour == Colour.GREEN else y
# enum member
x if Colour.RED != Colour.GREEN else y
# IntEnum
x if k == Level.HIGH else y
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
# math: fabs
math.fabs(x) * y
# math: copysign
math.copysign(x, y) * x
# math: fmod
math.fmod(y, x)
""",
    "Random numbers": """
# np.random.seed, rand, randn, random
np.random.seed(3)
x * np.random.rand() + y * np.random.randn() + x * np.random.random()
# np.random.rand of a shape
np.random.seed(3)
np.sum(np.random.rand(2, 3) * w)
# np.random.normal, uniform
np.random.seed(3)
np.random.normal(x, y) + np.random.uniform(x, y)
# np.random.normal with a size
np.random.seed(3)
np.sum(np.random.normal(x, y, 4) ** 2)
# np.random.exponential, lognormal
np.random.seed(3)
np.random.exponential(x) + np.random.lognormal(x, y)
# np.random.randint, random_integers
np.random.seed(3)
x * np.random.randint(1, 9)
# np.random.choice
np.random.seed(3)
np.random.choice(a) * x
# np.random.permutation, shuffle
np.random.seed(3)
np.random.shuffle(a)
np.sum(a * np.random.permutation(c))
# np.random.gamma, beta, of active parameters
np.random.seed(3)
np.random.gamma(x, y)
# np.random.gamma, beta, chisquare
np.random.seed(3)
x * (np.random.gamma(2.0, 1.0) + np.random.beta(2.0, 3.0) + np.random.chisquare(3.0))
# np.random.poisson, binomial
np.random.seed(3)
x * (np.random.poisson(2.0) + np.random.binomial(5, 0.4))
# np.random.geometric, hypergeometric, negative_binomial
np.random.seed(3)
x * np.random.geometric(0.4)
# np.random.laplace, logistic, gumbel
np.random.seed(3)
np.random.laplace(x, y) + np.random.logistic(x, y) + np.random.gumbel(x, y)
# np.random.weibull, rayleigh, pareto
np.random.seed(3)
np.random.rayleigh(x) + y * np.random.weibull(2.0) + y * np.random.pareto(2.0)
# np.random.triangular, vonmises, wald, f, power
np.random.seed(3)
s = np.random.triangular(0.0, 0.5, 1.0) + np.random.vonmises(0.0, 1.0) + np.random.wald(1.0, 1.0)
x * (s + np.random.f(2.0, 3.0) + np.random.power(2.0))
# np.random.standard_normal, standard_exponential
np.random.seed(3)
x * (np.random.standard_normal() + np.random.standard_exponential())
# np.random.multinomial
np.random.seed(3)
x * np.random.multinomial(5, np.array([0.4, 0.6]))[0]
# np.random.dirichlet
np.random.seed(3)
x * np.random.dirichlet(np.array([1.0, 2.0]))[0]
# np.random.Generator as argument
x * generator.random()
# np.random.standard_gamma, standard_cauchy, standard_t
np.random.seed(3)
x * (np.random.standard_gamma(2.0) + np.random.standard_cauchy() + np.random.standard_t(3.0))
""",
    "numba itself": """
# prange
s = 0.0
for q in prange(k): s += x * q
s
# vectorize
clamped(x, y) * x
# guvectorize
made = np.zeros(5)
cumulative(a, made)
np.sum(made * made)
# guvectorize over rows
made = np.zeros((3, 3))
cumulative(m, made)
np.sum(made * made)
# guvectorize of more than one argument
made = np.zeros(3)
spread(m, x, made)
np.sum(made * made)
# cfunc
area(x, y) * x
# stencil
np.sum(smoothed(a) ** 2)
# register_jitable
registered(x) * y
# overload
cubed(x) * y
# overload_method
x.overloaded() * y
# intrinsic
many(x) * y
# jitclass as argument: a float field
box.value * x
# jitclass as argument: an array field
np.sum(box.places) * x
# jitclass as argument: a method
box.total() * x
# jitclass as argument: a discrete field
box.count * x
# jitclass that is made inside
s = Box(x, a)
s.value * y
# structref as argument
pull.force * x
# typed function of ints
x * triangle(k)
# numba.types as a conversion
x * numba.float64(k) + numba.int32(y)
# numba.typeof
x * numba.float64(y)
# objmode with a float
with objmode(q="float64"): q = 5.0
x * q
# numba.get_num_threads
x * numba.get_num_threads()
# numba.pndindex
s = 0.0
for q in numba.pndindex(m.shape): s += m[q] * x
s
""",
}
