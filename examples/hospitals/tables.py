"""Writes the made-up stays of three hospitals: north.csv, east.csv, south.csv, and later stays of all in later.csv."""

import csv
from pathlib import Path

import numpy as np

COLUMNS = ("stay", "age", "days", "earlier_stays", "medicines", "creatinine", "ward", "back")
random = np.random.default_rng(5)


def stays(n, first, older):
    """Stays of n patients; the higher the risk, the likelier they are back within a month."""
    age = random.normal(58 + older, 15, n).clip(18, 98).round()
    days, earlier = 1 + random.gamma(2, 3, n).round(), random.poisson(age / 50)
    medicines, creatinine = random.poisson(age / 12), random.gamma(8, 0.13 + age / 2000).round(2)
    ward = random.choice(["heart", "lung", "other"], n, p=[0.3, 0.2, 0.5])
    risk = 0.5 * earlier + 0.15 * medicines + creatinine + 0.8 * (ward == "heart") + (days < 3) - 4.2
    back = np.where(random.random(n) < 1 / (1 + np.exp(-risk)), "yes", "no")
    numbers = (np.arange(first, first + n), age, days, earlier, medicines, creatinine, ward, back)
    return list(zip(*(column.tolist() for column in numbers), strict=True))


def write(name, rows):
    """A table as a file beside this one's reader."""
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *rows])


later = []
for name, n, first, older in (("north", 900, 10_000, 0), ("east", 500, 20_000, 5), ("south", 300, 30_000, -6)):
    write(f"{name}.csv", stays(n, first, older))
    later += stays(300, first + n, older)
write("later.csv", later)
