"""Random programs of tables of pandas: a few steps each, which pandas can run on plain numbers.

A program is text, so that a failure can be read and run again. Its variables are named by their kind: s1 is a Series,
t1 a DataFrame, x1 a number, a1 an array. The first is the argument that is differentiated.
"""

import warnings

import numpy as np
import pandas as pd

from dualrev.eager.arrays import RealArray
from dualrev.eager.numbers.dual import DualNumber

NAN = float("nan")


def constants():
    """The tables that every program knows."""
    return {
        "np": np,
        "pd": pd,
        "S": pd.Series([1.5, -0.7, 2.2, 0.4], index=list("abcd"), name="v"),
        "R": pd.Series([0.3, 1.1, -0.6, 2.0], index=list("dcba")),  # the same labels in another order
        "P": pd.Series([0.9, 1.7], index=list("bd")),  # some of them
        "N": pd.Series([1.2, NAN, 0.8, -0.5], index=list("abcd")),
        "I": pd.Series([3, 1, 2, 4], index=list("abcd")),
        "O": pd.Series([0.7, 1.3, -0.2, 0.6], index=[2, 0, 3, 1]),  # labels that are places of others
        "T": pd.DataFrame({"u": [1.0, 0.2, -0.4, 0.9], "w": [0.6, 2.1, 1.4, -0.3]}, index=list("abcd")),
        "U": pd.DataFrame({"w": [0.5, NAN, 0.8], "u": [1.9, 0.1, NAN]}, index=list("dab")),
        "M": pd.DataFrame({"u": [1.0, 2.0, 0.5, 0.3], "n": [1, 2, 3, 4], "g": list("xyxy")}, index=list("abcd")),
        "D": pd.Series([0.7, NAN, 1.9, -0.4], index=pd.date_range("2026-03-01", periods=4, freq="12h")),
        "L": pd.Series([1.3, 0.4, NAN, 0.8], index=pd.MultiIndex.from_product([["p", "q"], [1, 2]], names=["k", "n"])),
        "E": pd.Series([0.6, 1.8, -0.9, 0.2], index=list("abab")),  # labels that occur twice
        "A": np.array([0.4, -1.2, 0.9, 1.6]),
        "G": ["x", "y", "x", "x"],
    }


NUMBER = [
    *("{s}.sum(min_count=3)", "{s}.max(skipna=False)", "{s}.var(ddof=0)", "{s}.kurt()", "{s}.sem(ddof=0)", "{x} + 1.0"),
    *(
        "{s}.quantile(0.4, interpolation='lower')",
        "{t}.stack().std()",
        "{t}.corr().iloc[0, 1]",
        "{t}.cov().sum().sum()",
    ),
    *(
        "np.quantile({s}, 0.3)",
        "np.nansum({s})",
        "np.nanmean({s})",
        "np.dot({s}, {s})",
        "np.ptp({s})",
        "{s}.iloc[2] * {x}",
    ),
    *("{s}.describe()['75%']", "{s}.rolling(2).std().max()", "{s}.nlargest(2).sum()", "{s}.ewm(com=1).mean().iloc[-1]"),
    *("{s}.sum()", "{s}.mean()", "{s}.std()", "{s}.var()", "{s}.max()", "{s}.min()", "{s}.median()", "{s}.prod()"),
    *("{s}.std(ddof=0)", "{s}.sum(skipna=False)", "{s}.mean(skipna=False)", "{s}.sem()", "{s}.skew()", "{s}.kurt()"),
    *("np.sum({s})", "np.mean({s})", "np.std({s})", "np.var({s})", "np.max({s})", "np.median({s})", "np.prod({s})"),
    *("{s}.iloc[1]", "{s}.iloc[-1]", "{s}['b']", "{s}.loc['d']", "{s}[0]", "{s}.iat[0]", "{s}.quantile(0.4)"),
    *("{s}.values.mean()", "{s}.to_numpy().std()", "{s}.values[1]", "{s}.values.std()", "{s}.array[0]", "sum({s})"),
    *("{s} @ {s}", "{s}.dot({s})", "{s}.corr({s})", "{s}.cov({s})", "{s}.autocorr()", "{s}.idxmax() * 1.0"),
    *("{s}.count() * {x}", "len({s}) * {x}", "({s} > {x}).sum() * {x}", "{s}.isna().sum() * {x}", "{s}.argmax() * {x}"),
    *("{t}.sum().sum()", "{t}.mean().std()", "{t}.std().sum()", "{t}.to_numpy().sum()", "{t}.values.mean()"),
    *("{t}.loc['a', 'u']", "{t}.iloc[0, 1]", "{t}.at['b', 'w']", "{t}['u'].sum()", "{t}.u.mean()", "np.sum({t}['w'])"),
    *("{t}.sum(axis=None)", "{t}.mean(axis=None)", "{t}.stack().mean()", "{t}.max().max()", "np.linalg.norm({s})"),
    *("{x} * {x}", "{x} + 0.5", "np.exp(0.1 * {x})", "{x} - {a}.sum()", "np.dot({s}, {a})", "{a}.std()", "{a} @ {s}"),
]
SERIES = [
    *(
        "{s}.rolling(3, min_periods=1).sum()",
        "{s}.rolling(2).std()",
        "{s}.rolling(3, center=True, min_periods=2).median()",
    ),
    *("{s}.rolling(2).max()", "{s}.expanding(2).mean()", "{s}.expanding().var()", "{s}.rolling(3).quantile(0.4)"),
    *("{s}.ewm(span=3, adjust=False).mean()", "{s}.ewm(com=1, ignore_na=True).std()", "{s}.rolling(2).corr({s})"),
    *("{s}.rolling(3, min_periods=2).cov({s}, ddof=0)", "{s}.rolling(2).apply(lambda v: v.prod() * {x})"),
    *("{s}.groupby(level=0).sum()", "{s}.groupby(level=0).transform('mean')", "{s}.groupby(level=0).cumsum()"),
    *("{s}.groupby(G[: len({s})]).first()", "{s}.groupby(G[: len({s})]).last()", "{s}.groupby(G[: len({s})]).sem()"),
    *("{s}.groupby(G[: len({s})]).sum(min_count=2)", "{s}.groupby(G[: len({s})]).var(ddof=0)"),
    *("{s}.groupby(G[: len({s})]).rolling(2, min_periods=1).mean()", "{s}.groupby(G[: len({s})]).shift()"),
    *("{s}.groupby(G[: len({s})]).quantile(0.3)", "{s}.groupby(G[: len({s})]).skew()", "{s}.bfill()"),
    *("{s}.groupby(level='k').mean()", "{s}.groupby(level=['k', 'n']).sum()", "{s}.xs('p')", "{s}.swaplevel()"),
    *("{s}.resample('D').sum()", "{s}.resample('D').mean()", "{s}.resample('6h').ffill()", "{s}.rolling('1D').mean()"),
    *("{s}.resample('D').std(ddof=0)", "{s}.interpolate(limit_direction='both')", "{s}.interpolate(limit=1)"),
    *(
        "D * {x}",
        "L * {x}",
        "E * {x}",
        "D - D.shift(1) * {x}",
        "L.mul({x}).fillna({x})",
        "E + {s}",
        "E.mul({x}).loc['a']",
    ),
    *(
        "{s}.drop_duplicates()",
        "{s}.sort_values(ascending=False)",
        "{s}.sort_values(na_position='first')",
        "{s}.where({s} > {s})",
    ),
    *(
        "{s}.clip({x}, 1.5)",
        "{s}.clip(upper={s})",
        "{s}.reindex(list('abz'), fill_value={x})",
        "{s}.shift(1, fill_value={x})",
    ),
    *(
        "{s}.combine({s}, lambda a, b: a * b)",
        "{s}.nsmallest(2)",
        "{s}.quantile([0.2, 0.7])",
        "{s}.describe()",
        "{s}.update({s}) or {s}",
    ),
    *(
        "{t}.sum(axis=1, skipna=False)",
        "{t}.sum(axis=1, min_count=2)",
        "{t}.std(ddof=0)",
        "{t}.sem(axis=1)",
        "{t}.corrwith({s})",
    ),
    *(
        "{t}.mean(axis=1, skipna=False)",
        "{t}.kurt()",
        "{t}.stack().groupby(level=1).mean()",
        "{t}.unstack()",
        "{t}.dot({t}.mean())",
    ),
    *(
        "{t}.apply(lambda r: r.max() - r.min(), axis=1)",
        "{t}.groupby(G[: len({t})])['u'].agg('std')",
        "{t}.agg('median')",
    ),
    *("{s} * {x}", "{x} * {s}", "{s} + {x}", "{x} - {s}", "{s} / {x}", "{x} / {s}", "{s} ** 2", "{s} - {s}.mean()"),
    *("{s} + {s}", "{s} * {s}", "{s} - {s}", "{s} / {s}", "{s} * {a}", "{a} - {s}", "{a} * {s}", "-{s}", "abs({s})"),
    *(
        "np.exp(0.3 * {s})",
        "np.sin({s})",
        "np.maximum({s}, {x})",
        "np.minimum({x}, {s})",
        "np.abs({s})",
        "np.add({a}, {s})",
    ),
    *(
        "{s}.cumsum()",
        "{s}.cumprod()",
        "{s}.cummax()",
        "{s}.diff()",
        "{s}.shift(1)",
        "{s}.pct_change()",
        "np.cumsum({s})",
    ),
    *("{s}.sort_values()", "{s}.sort_index()", "{s}[::-1]", "{s}.iloc[1:]", "{s}.iloc[[2, 0]]", "{s}.loc['b':]"),
    *("{s}[{s} > 0.5]", "{s}.loc[{s} > {x}]", "{s}.dropna()", "{s}.fillna(0.3)", "{s}.fillna({x})", "{s}.ffill()"),
    *("{s}.reindex(list('acz'))", "{s}.rename('z')", "{s}.reset_index(drop=True)", "{s}.drop('a')", "{s}.head(3)"),
    *("{s}.rolling(2).mean()", "{s}.ewm(alpha=0.4).mean()", "{s}.expanding().sum()", "{s}.interpolate()", "{s}.rank()"),
    *("{s}.groupby(G[: len({s})]).sum()", "{s}.groupby(G[: len({s})]).mean()", "{s}.groupby(G[: len({s})]).std()"),
    *("{s}.groupby(G[: len({s})]).transform('mean')", "{s}.groupby(G[: len({s})]).cumsum()", "{s}.nlargest(2)"),
    *("{s}.groupby(G[: len({s})]).max()", "{s}.groupby(G[: len({s})]).apply(lambda g: g.iloc[0] * {x})"),
    *(
        "{s}.apply(lambda v: v * {x})",
        "{s}.map(lambda v: v + {x})",
        "{s}.apply(np.exp)",
        "{s}.mul({x})",
        "{s}.add({s})",
    ),
    *(
        "{s}.add({s}, fill_value=0.0)",
        "{s}.sub({a})",
        "{s}.clip(-0.5, 1.0)",
        "{s}.clip(upper={x})",
        "np.clip({s}, {x}, 2.0)",
    ),
    *("{s}.where({s} > 0.3, 0.1)", "{s}.where({s} > 0.3, {x})", "{s}.mask({s} > 0.3)", "{s}.mask({s} < 0.1, {x})"),
    *("pd.concat([{s}, {s}])", "{s}.combine_first({s})", "{s}.astype(float)", "{s}.round(1)", "{s}.replace(1.5, 2.5)"),
    *(
        "{s} // 0.4",
        "{s} % 0.7",
        "{s} % {x}",
        "pd.Series({a})",
        "pd.Series([{x}, {x}])",
        "pd.Series([{x}, 1.0, NAN])",
        "pd.Series({{'b': {x}, 'a': 0.2}})",
        "{s}.to_frame().squeeze()",
    ),
    *("pd.Series(0.0, index={s}.index) + {x}", "{s}.agg(['sum', 'mean'])", "{s}.infer_objects()"),
    *("{t}['u']", "{t}['w']", "{t}.u", "{t}.iloc[:, 0]", "{t}.loc['a']", "{t}.iloc[0]", "{t}.sum()", "{t}.mean()"),
    *(
        "{t}.std()",
        "{t}.max()",
        "{t}.min(axis=1)",
        "{t}.sum(axis=1)",
        "{t}.mean(axis=1)",
        "{t}.var(axis=1)",
        "{t}.median()",
    ),
    *("{t}.prod(axis=1)", "{t}.sum(numeric_only=True)", "{t}.mean(numeric_only=True)", "{t}['u'] * {t}['w']"),
    *("{t} @ {t}.iloc[0]", "{t}.apply(lambda c: c.mean())", "{t}.apply(lambda r: r['u'] * {x}, axis=1)", "{t}.stack()"),
    *(
        "{t}.sum(skipna=False)",
        "{t}.idxmax()",
        "{t}.quantile(0.3)",
        "{t}.eval('u * w')",
        "{t}.T['a']",
        "{t}.melt()['value']",
    ),
    *("{t}.select_dtypes('number').sum()", "{t}.xs('b')", "{t}.pop('u')", "{t}.squeeze()", "{t}.skew()"),
]
FRAME = [
    *(
        "{t}.rolling(2).agg({{'u': 'sum', 'w': 'std'}})",
        "{t}.expanding().max()",
        "{t}.ewm(alpha=0.4).mean()",
        "{t}.rolling(3, min_periods=1).var()",
    ),
    *(
        "{t}.groupby(G[: len({t})]).agg(['sum', 'mean'])",
        "{t}.groupby(G[: len({t})]).agg(a=('u', 'max'), b=('w', 'median'))",
    ),
    *(
        "{t}.groupby(G[: len({t})]).transform('mean')",
        "{t}.groupby(G[: len({t})]).cumsum()",
        "{t}.groupby(G[: len({t})]).first()",
    ),
    *(
        "{t}.groupby(G[: len({t})]).apply(lambda g: g.mean() * {x})",
        "{t}.groupby(G[: len({t})]).rolling(2).sum()",
        "{t}.groupby(level=0).sum()",
    ),
    *(
        "{t}.merge(M[['u', 'n']], on='u', how='outer', suffixes=('', '_'))",
        "{t}.join(T, rsuffix='_t')",
        "{t}.assign(k=list('xyxy')[: len({t})]).merge(pd.DataFrame({{'k': ['x', 'y'], 'b': [0.5, 1.5]}}), on='k')",
    ),
    *(
        "{t}.ffill()",
        "{t}.bfill(axis=1)",
        "{t}.interpolate()",
        "{t}.quantile([0.2, 0.6])",
        "{t}.nlargest(2, 'u')",
        "{t}.where({t} > {x}, {x})",
        "{t}.mask({t} > 0.9, {s}, axis=0)",
    ),
    *(
        "{t}.clip(upper={x})",
        "{t}.clip(lower={s}, axis=0)",
        "{t}.fillna({x})",
        "{t}.fillna({t}.mean())",
        "{t}.diff(axis=1)",
        "{t}.cumsum(axis=1)",
        "{t}.combine_first(T)",
    ),
    *(
        "{t}.sub({t}.mean(axis=1), axis=0)",
        "{t}.unstack().unstack(0)",
        "{s}.unstack()",
        "pd.DataFrame({t}.to_numpy())",
        "{t}.sort_values(['w', 'u'])",
        "{t}.dropna(thresh=2)",
    ),
    *(
        "{t}.pipe(lambda q: (q - q.mean()) / q.std())",
        "{t}.transform(lambda c: c - c.mean())",
        "{t}.shift(1, fill_value={x})",
        "pd.concat([{s}, {s}], axis=1, keys=['u', 'w'])",
        "{t}.stack().to_frame('u')",
    ),
    *("{t} * {x}", "{x} - {t}", "{t} + {t}", "{t} * {t}", "{t} / {t}", "{t} - {t}.mean()", "{t} - {t}.iloc[0]"),
    *(
        "{t} * {t}.to_numpy()",
        "{t}.mul({s}, axis=0)",
        "{t}.sub({t}['u'], axis=0)",
        "{t} + {t}.iloc[:2]",
        "{t}.mul({x})",
    ),
    *("np.exp(0.2 * {t})", "np.maximum({t}, {x})", "-{t}", "{t} ** 2", "{t}.cumsum()", "{t}.diff()", "{t}.shift(1)"),
    *("{t}[['w']]", "{t}[['w', 'u']]", "{t}.iloc[1:]", "{t}.loc[:, ['u']]", "{t}[{t}['u'] > 0.3]", "{t}.dropna()"),
    *("{t}.fillna(0.2)", "{t}.assign(z={t}['u'] * {x})", "{t}.assign(z={x})", "{t}.assign(z={s})", "{t}.assign(z={a})"),
    *("{t}.rename(columns={{'u': 'q'}})", "{t}.T", "{t}.sort_values('u')", "{t}.sort_index(axis=1)", "{t}.corr()"),
    *("{t}.groupby(G[: len({t})]).sum()", "{t}.groupby(G[: len({t})]).mean()", "{t}.groupby(G[: len({t})]).std()"),
    *("{t}.rolling(2).mean()", "{t}.merge({t}, left_index=True, right_index=True)", "{t}.join({s}.rename('z'))"),
    *(
        "pd.concat([{t}, {t}])",
        "pd.concat([{t}, {t}], axis=1)",
        "{s}.to_frame('u')",
        "pd.DataFrame({{'u': {s}, 'w': {s}}})",
    ),
    *("pd.DataFrame({{'u': [{x}, {x}], 'w': [1.0, 2.0]}})", "{t}.agg(['sum', 'mean'])", "{t}.reindex(list('abz'))"),
    *("{t}.apply(lambda c: c - c.mean())", "{t}.describe()", "{t}.where({t} > 0.0, 0.5)", "{t}.clip(lower=0.1)"),
    *("{t}.drop(columns='u')", "{t}.reset_index(drop=True)", "{t}.astype(float)", "{t}.select_dtypes(float)"),
    *("{t}.groupby('g').sum()", "{t}.groupby('g').mean(numeric_only=True)", "{t}.pivot_table(index='g', values='u')"),
    *(
        "{t}.rank()",
        "{t}.map(lambda v: v * 2.0)",
        "{t}.pct_change()",
        "{t}.cov()",
        "{t}.add({t}, fill_value=1.0)",
        "{t}.div({s}, axis=0)",
    ),
]
ARRAY = [
    *("{s}.to_numpy()", "{s}.values", "{a} * {x}", "{a} + 1.0", "np.sin({a})", "np.cumsum({a})", "{s}.values * {x}"),
    *("np.where({s} > 0.4, {s}, {x})", "np.where({s} > 0.4, {a}, {x})", "np.concatenate([{a}, {s}])", "np.sort({a})"),
    *("{t}.to_numpy()[:, 0]", "{t}['u'].to_numpy()", "np.array({s})", "np.asarray({s})", "{t}.values.mean(axis=0)"),
    *(
        "np.stack([{s}, {a}])[0]",
        "np.interp({x}, [0.0, 3.0], [1.0, 2.0]) * {a}",
        "{t} @ {a}[:2]",
        "np.outer({s}, {a})[0]",
    ),
    *(
        "np.diff({s})",
        "np.cumsum({s}.values)",
        "np.array([{x}, 1.0])",
        "{s}.values - {s}.values.mean()",
        "np.nan_to_num({s})",
    ),
]
TEMPLATES = {"x": NUMBER, "s": SERIES, "t": FRAME, "a": ARRAY}
WEIGHTS = {"x": 0.2, "s": 0.4, "t": 0.3, "a": 0.1}
ARGUMENTS = {"x": 0.5371, "a": np.array([0.7123, -0.3217, 1.2391, 0.8713])}
ARGUMENTS["s"] = pd.Series([0.9137, 1.4231, NAN, -0.6119], index=list("abcd"), name="v")
ARGUMENTS["t"] = pd.DataFrame(
    {"u": [0.8117, NAN, 1.1371, 0.3219], "w": [1.5113, 0.4273, -0.9371, 0.7127]}, index=list("abcd")
)


def kind(value):
    """The letter of a value's kind; None for what no step can go on with."""
    if isinstance(value, (pd.Series, pd.DataFrame)):
        return "s" if isinstance(value, pd.Series) else "t"
    if isinstance(value, (RealArray, np.ndarray)):
        return "a" if value.ndim == 1 else None
    return "x" if isinstance(value, (float, np.floating, DualNumber)) else None


class Program:
    """A random program: `lines`, the `argument` that it is differentiated by, and its value on plain numbers."""

    def __init__(self, seed, steps=4):
        self.rng = np.random.default_rng(seed)
        letter = self.rng.choice(list("xast"), p=[0.4, 0.2, 0.2, 0.2])
        self.argument = ARGUMENTS[letter]
        self.first = f"{letter}0"
        self.lines = []
        self.known = {
            "s": ["S", "R", "P", "N", "I", "O", "D", "L", "E"],
            "t": ["T", "U", "M"],
            "x": ["0.8"],
            "a": ["A"],
        }
        names = {**constants(), "NAN": NAN, self.first: copy(self.argument)}
        depends = {self.first}
        made = 0
        while made < steps:
            name = self._step(names, depends, made + 1)
            made += name is not None
        self.last = name
        self.source = "\n".join(
            [f"def f({self.first}):", *(f"    {line}" for line in self.lines), f"    return {name}"]
        )

    def _step(self, names, depends, number):
        """One more line that pandas can run; the name of what it makes."""
        result = self.rng.choice(list(WEIGHTS), p=list(WEIGHTS.values()))
        template = self.rng.choice(TEMPLATES[result])
        for letter in "sxta":
            while f"{{{letter}}}" in template:
                template = template.replace(f"{{{letter}}}", self._operand(letter, depends), 1)
        text = template.replace("{{", "{").replace("}}", "}")
        if not any(f"{d}" in text for d in depends):
            return None
        name = f"{result}{number}"
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                value = eval(text, dict(names))
        except Exception:
            return None
        if kind(value) != result:
            return None
        names[name] = value
        depends.add(name)
        self.lines.append(f"{name} = {text}")
        return name

    def _operand(self, letter, depends):
        ours = [name for name in depends if name[0] == letter]
        if ours and self.rng.random() < 0.6:
            return str(self.rng.choice(sorted(ours)[-2:]))
        return str(self.rng.choice(self.known[letter]))

    def function(self):
        """The program as a function of its argument."""
        scope = {**constants(), "NAN": NAN}
        exec(compile(self.source, f"<program {self.first}>", "exec"), scope)
        return scope["f"]


def copy(x):
    """A copy of an argument."""
    return x if isinstance(x, float) else x.copy()
