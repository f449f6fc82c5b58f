"""Writes two made-up tables: alder.csv, who did not pay a loan, and birch.csv, accounts of some of the same people."""

import csv
from pathlib import Path

import numpy as np

random = np.random.default_rng(1)
n = 2000
customer = random.permutation(np.arange(100_000, 100_000 + n))
age, income = random.integers(18, 80, n), random.gamma(4, 700, n).round()
debt, spending = random.gamma(2, 1500, n).round(), random.gamma(3, 400, n).round()
overdrafts, balance = random.poisson(2, n), random.normal(2000, 2500, n).round()
risk = (debt + spending) / income + 0.35 * overdrafts - balance / 3000 - 3.2
unpaid = np.where(random.random(n) < 1 / (1 + np.exp(-risk)), "yes", "no")


def write(name, who, **columns):
    """The rows of these customers, as a file in the folder where this runs."""
    rows = zip(*(column[who].tolist() for column in columns.values()), strict=True)
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])


write("alder.csv", np.arange(1500), customer=customer, age=age, income=income, debt=debt, unpaid=unpaid)
others = random.permutation(np.arange(500, 2000))
write("birch.csv", others, customer=customer, overdrafts=overdrafts, spending=spending, balance=balance)
