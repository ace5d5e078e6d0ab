"""Finance and forecasting: options, bonds, portfolios, curves, smoothing."""

from dataclasses import dataclass

import numpy as np

from dualrev import math
from dualrev import numpy as dnp
from programs.corpus.case import case

NORMALS = np.random.default_rng(5).normal(size=(6, 4)).round(3)


def normal_cdf(x):
    """The normal distribution function."""
    return 0.5 * (1 + math.erf(x / math.sqrt(2)))


@case(100.0, 95.0, 0.03, 0.25, 0.75)
def black_scholes(spot, strike, rate, volatility, years):
    """The price of a call, whose derivatives are the greeks."""
    d1 = (math.log(spot / strike) + (rate + volatility**2 / 2) * years) / (volatility * math.sqrt(years))
    d2 = d1 - volatility * math.sqrt(years)
    return spot * normal_cdf(d1) - strike * math.exp(-rate * years) * normal_cdf(d2)


@case(10.0, 15.5, 0.04, 0.8)
def binomial_tree(spot, strike, rate, volatility):
    """An American put on a tree, rolled back in place."""
    n, dt = 4, 0.25
    up = math.exp(volatility * math.sqrt(dt))
    p = (math.exp(rate * dt) - 1 / up) / (up - 1 / up)
    values = dnp.zeros(n + 1)
    for k in range(n + 1):
        values[k] = max(strike - spot * up ** (2 * k - n), 0.0)
    for step in range(n - 1, -1, -1):
        hold = math.exp(-rate * dt) * (p * values[1 : step + 2] + (1 - p) * values[: step + 1])
        for k in range(step + 1):
            values[k] = max(hold[k], strike - spot * up ** (2 * k - step))
    return values[0]


@case(1.0, 1.2, 0.05, 0.2, [-0.8, -1.5, 3.6, -1.2, 3.1])
def monte_carlo_call(spot, strike, rate, volatility, normals):
    """A call by fixed normal numbers, path by path."""
    total = 0.0
    for z in normals:
        end = spot * math.exp(rate - volatility**2 / 2 + volatility * z)
        total += max(end - strike, 0.0)
    return math.exp(-rate) * total / len(normals)


@case(100.0, 0.3, 0.02, NORMALS)
def asian_option(spot, volatility, rate, normals):
    """The geometric and the arithmetic mean of paths, all paths at once."""
    dt = 0.25
    steps = (rate - volatility**2 / 2) * dt + volatility * np.sqrt(dt) * normals
    paths = spot * np.exp(np.cumsum(steps, axis=1))
    arithmetic = np.maximum(paths.mean(axis=1) - 60.0, 0.0).mean()
    return arithmetic - np.exp(np.log(paths).mean(axis=1)).mean() / 2


@case(95.0, 4.0, 6)
def bond_yield(price, coupon, years):
    """The yield of a bond by Newton's iteration."""
    y, step = 0.05, 1.0
    while abs(step) > 1e-11:
        value = sum(coupon / (1 + y) ** t for t in range(1, years + 1)) + 100 / (1 + y) ** years
        slope = -sum(t * coupon / (1 + y) ** (t + 1) for t in range(1, years + 1))
        slope -= 100 * years / (1 + y) ** (years + 1)
        step = (value - price) / slope
        y -= step
    return y


@case([-10.0, 3.0, 4.5, 5.0])
def internal_rate_of_return(flows):
    """The rate at which flows are worth nothing, by fixed steps of Newton with Horner's scheme."""
    x = 0.9
    for _ in range(10):
        value = slope = 0.0
        for flow in reversed(flows):
            slope = slope * x + value
            value = value * x + flow
        x -= value / slope
    return 1 / x - 1


@case(
    np.array([0.5, 0.3, 0.2]),
    np.array([0.2, 0.3, 0.15]),
    np.array([[1.0, 0.2, 0.1], [0.2, 1.0, -0.3], [0.1, -0.3, 1.0]]),
)
def portfolio_risk(weights, volatilities, correlation):
    """The volatility of a portfolio, and what each position contributes."""
    covariance = np.outer(volatilities, volatilities) * correlation
    total = np.sqrt(weights @ covariance @ weights)
    return {"total": total, "contributions": weights * (covariance @ weights) / total}


@case([(1, 0.02), (2, 0.025), (3, 0.027), (4, 0.03)])
def discount_curve(swaps):
    """Discount factors from swap rates, one after the other."""
    factors = {}
    for year, rate in swaps:
        factors[year] = (1 - rate * sum(factors.values())) / (1 + rate)
    return factors


@case({"kappa": 1.5, "theta": 0.09, "xi": 0.2, "rho": -0.6}, 1.0, 0.08, NORMALS[:4, :2])
def heston_path(model, spot, variance, normals):
    """A path with a stochastic variance, by Euler steps cut off at zero."""
    dt, log_price = 0.1, math.log(spot)
    for z1, z2 in normals:
        z2 = model["rho"] * z1 + math.sqrt(1 - model["rho"] ** 2) * z2
        positive = max(variance, 0.0)
        log_price += -positive * dt / 2 + math.sqrt(positive * dt) * z1
        variance += model["kappa"] * (model["theta"] - positive) * dt + model["xi"] * math.sqrt(positive * dt) * z2
    return math.exp(log_price), variance


@dataclass
class Smoothing:
    """The parameters of exponential smoothing."""

    alpha: float
    beta: float
    gamma: float
    period: int = 3


@case(Smoothing(0.4, 0.2, 0.3), [5.0, 7.0, 6.2, 5.8, 7.9, 7.1, 6.6, 8.5])
def holt_winters(smoothing, series):
    """Level, trend and season of a series: squared errors of forecasts, and the next forecast."""
    m = smoothing.period
    level, trend = sum(series[:m]) / m, 0.1
    season, loss = [y / level for y in series[:m]], 0.0
    for t, y in enumerate(series[m:], m):
        forecast = (level + trend) * season[t % m]
        loss += (y - forecast) ** 2
        new = smoothing.alpha * y / season[t % m] + (1 - smoothing.alpha) * (level + trend)
        trend = smoothing.beta * (new - level) + (1 - smoothing.beta) * trend
        season[t % m] = smoothing.gamma * y / new + (1 - smoothing.gamma) * season[t % m]
        level = new
    return loss, (level + trend) * season[len(series) % m]


@case(1200.0, 0.4, 12)
def mortgage(loan, rate, months):
    """A loan with constant payments: what is left, month by month, and all interest."""
    payment = loan * (rate / 12) / (1 - (1 + rate / 12) ** -months)
    rest, interest = loan, 0.0
    schedule = []
    for _ in range(months - 1):
        interest += rest * rate / 12
        rest = rest * (1 + rate / 12) - payment
        schedule.append(rest)
    return interest, schedule[:: months // 4]


@case([30.0, 55.0, 130.0], [(20.0, 0.1), (40.0, 0.25), (80.0, 0.4)])
def progressive_tax(incomes, brackets):
    """Tax in brackets, for each income."""
    taxes = []
    for income in incomes:
        tax, previous = 0.0, 0.0
        for limit, rate in [*brackets, (math.inf, 0.5)]:
            tax += rate * max(0.0, min(income, limit) - previous)
            previous = limit
        taxes.append(tax)
    return taxes


@case(np.array([1.0, 1.1, 1.05, 1.2, 1.15, 1.3]), 0.94)
def sharpe_of_returns(prices, decay):
    """Returns, their weighted volatility, and the ratio of both."""
    returns = np.log(prices[1:] / prices[:-1])
    weights = decay ** np.arange(len(returns))[::-1]
    weights = weights / weights.sum()
    mean = weights @ returns
    return mean / np.sqrt(weights @ (returns - mean) ** 2 + 1e-3)


@case([3.0, 2.0, 1.5], [1.0, 2.0, 3.0], 0.05)
def implied_volatility(prices, strikes, rate):
    """Volatilities that explain prices of a normal model, by Newton's iteration with its vega."""
    spot, sigmas = 3.5, []
    for price, strike in zip(prices, strikes, strict=True):
        sigma, forward = 2.0, spot * math.exp(rate)
        for _ in range(8):
            d = (forward - strike) / sigma
            density = math.exp(-d * d / 2) / math.sqrt(2 * math.pi)
            sigma -= ((forward - strike) * normal_cdf(d) + sigma * density - price * 1.3) / density
        sigmas.append(sigma)
    return sigmas
