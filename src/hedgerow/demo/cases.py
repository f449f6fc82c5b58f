"""What the organisations do together in each of the three federations, step by step."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hedgerow.demo import federations, tables
from hedgerow.demo import learnt as own
from hedgerow.demo.federations import ALDER, BIRCH, CEDAR, DRIVER
from hedgerow.demo.organisations import (
    DATA,
    FOLDER,
    OWN,
    RUN_FILE,
    Federation,
    Processes,
    n_bytes,
    policy_words,
    prepare,
    run,
    train_words,
    write_csv,
)
from hedgerow.model.file import load_model
from hedgerow.report.page.cases import Case, Step
from hedgerow.run.folder.folder import MODEL, PART

Say = Callable[[str], None]
NEW, MEANINGS, WHY, PREDICTED = "new.csv", "meanings.json", "why", "predicted.csv"
WITH = ("--with", RUN_FILE, *OWN)
SEALED = (*WITH, "--link-mbit", str(federations.LINK_MBIT))
LOANS = (
    "Three organisations know different things of the same people; one knows who did not pay. They found their common "
    "customers without showing ids, and trained with encrypted gradients. New customers were scored in one sealed "
    "round: no organisation learnt the way of a customer through the trees."
)
PAYMENTS = (
    "A payment network has payments; each bank knows some of the accounts in them. Accounts were linked without "
    "showing ids, and trees were grown with encrypted gradients."
)
DIGITS = (
    "Three organisations have the same columns of different rows: pictures of handwritten digits, odd or even. What "
    "each adds to a tree is masked, so that the driver reads sums over all three only."
)
REASONS = (
    "A reason is the score less the score that the row would have if the column were missing; these were found by "
    "sealed predictions, in which no organisation learnt the row's way through the trees."
)


@dataclass(frozen=True)
class Found:
    """A case, and whether the forest of the federation is that of all data in one place; None if it cannot be."""

    case: Case
    same: bool | None


def loans(out: Path, say: Say) -> Found:
    """Encrypted vertical training, then sealed prediction with reasons."""
    shared = tables.loans()
    federation, place = federations.loans(shared), out / "loans"
    say(
        f"Loans. {ALDER}, a bank, knows {len(shared.pooled):,} customers and who did not pay; {BIRCH}, a telephone "
        f"company, and {CEDAR}, a shop, know other things of the same people."
    )
    prepare(federation, place)
    steps = [_train(federation, place, "trained, encrypted", say)]
    write_csv(place / ALDER / NEW, tables.unlabelled(shared.new), federation.id, federation.label)
    steps += _sealed(federation, place, say)
    model = own.joined(federation, place)
    rows = f"{len(shared.new)} new customers"
    judged = own.judged_rows(model, shared.new, own.predicted(place / ALDER / PREDICTED, model.classes), place)
    figures, pooled = own.compared(shared, federations.LOAN_TREES, judged)
    case = Case(
        "loans", "Loans: other columns", LOANS, run=f"loans/{ALDER}/{FOLDER}", rows=rows, figures=figures,
        steps=tuple(steps), curves=f"loans/{own.CURVES}",
        meanings=tuple(f"loans/{name}/{MEANINGS}" for name in federation.policies),
        reasons=f"loans/{ALDER}/{WHY}/reasons.csv", about_reasons=REASONS,
    )  # fmt: skip
    return Found(case, model.forest == pooled.forest)


def payments(out: Path, say: Say) -> Found:
    """Hybrid training: a network's payments, and what banks know of the accounts in them."""
    shared = tables.payments()
    federation, place = federations.payments(shared), out / "payments"
    say(
        f"Payments. {ALDER}, a payment network, knows {len(shared.pooled):,} payments and which were anomalous; "
        f"{BIRCH} and {CEDAR}, two banks, know their own accounts, each of which is in many payments."
    )
    prepare(federation, place)
    steps = [_train(federation, place, "trained, encrypted", say)]
    write_csv(place / ALDER / NEW, tables.unlabelled(shared.new), federation.id, federation.label)
    steps.append(_asked(federation, place, say))
    model = load_model(place / ALDER / FOLDER / MODEL)
    rows = f"{len(shared.new):,} new payments"
    judged = own.judged_rows(model, shared.new, own.predicted(place / ALDER / PREDICTED, model.classes), place)
    figures, _ = own.compared(shared, federations.PAYMENT_TREES, judged)
    case = Case(
        "payments", "Payments: some rows", PAYMENTS, run=f"payments/{ALDER}/{FOLDER}", rows=rows, figures=figures,
        steps=tuple(steps), curves=f"payments/{own.CURVES}",
    )  # fmt: skip
    return Found(case, None)


def digits(out: Path, say: Say) -> Found:
    """Masked horizontal training over three parts of the pictures."""
    shared = tables.digits()
    federation, place = federations.digits(shared), out / "digits"
    say(
        f"Digits. Each of the three has a third of {len(shared.pooled):,} pictures of handwritten digits and knows "
        "which are odd; a driver without data adds up their sums, masked so that it reads totals only."
    )
    prepare(federation, place)
    steps = [_train(federation, place, "trained, masked", say)]
    model = load_model(place / DRIVER / FOLDER / MODEL)
    rows = f"{len(shared.new)} new pictures"
    judged = own.judged_rows(model, shared.new, model.predict(shared.new), place)
    figures, pooled = own.compared(shared, federations.DIGIT_TREES, judged)
    case = Case(
        "digits", "Digits: other rows", DIGITS, run=f"digits/{DRIVER}/{FOLDER}", rows=rows, figures=figures,
        steps=tuple(steps), curves=f"digits/{own.CURVES}",
    )  # fmt: skip
    return Found(case, model.forest == pooled.forest)


def _train(federation: Federation, place: Path, what: str, say: Say) -> Step:
    say(f"  {', '.join(federation.roles)} start, each a process with its own folder and certificate, and train ...")
    seconds = run(place, train_words(federation))
    return Step(what, seconds, n_bytes(place / federation.driver / FOLDER))


def _sealed(federation: Federation, place: Path, say: Say) -> Sequence[Step]:
    """The owners serve; the first organisation has all new rows scored, and asks why one of them is refused."""
    others = [name for name in federation.tables if name != ALDER]
    say(f"  {' and '.join(others)} tell what some of their columns mean, as their rules allow, and serve their parts.")
    _disclose(federation, place, others)
    model, files = f"{FOLDER}/{MODEL}", [word for name in others for word in ("--meanings", f"../{name}/{MEANINGS}")]
    with Processes(place) as processes:
        processes.start({name: ["serve", "serving.toml"] for name in others})
        say(f"  {ALDER} has its new customers scored in one sealed round ...")
        predict = ["predict", model, NEW, *SEALED, "--sealed", "--what", "probability", "--out", PREDICTED]
        processes.start({ALDER: [*predict, "--folder", "scores"]})
        scoring = processes.wait(ALDER)
        row, chance = _likeliest(place / ALDER / PREDICTED, federation.id)
        say(f"  {ALDER} asks why customer {row} is refused, who will not pay with a probability of {chance:.2f} ...")
        explain = ["explain", model, *SEALED, *files, "--data", NEW, "--rows", row, "--own", "debt", "--own", "income"]
        processes.start({ALDER: [*explain, "--folder", "asked", "--out", WHY]})
        asking = processes.wait(ALDER)
    return (
        Step("scored the new rows, sealed", scoring, n_bytes(place / ALDER / "scores")),
        Step("gave the reasons of one row, sealed", asking, n_bytes(place / ALDER / "asked")),
    )


def _disclose(federation: Federation, place: Path, others: Sequence[str]) -> None:
    files = ["--policy", "policy.toml", "--data", DATA, "--id", federation.id, "--out", MEANINGS]
    run(place, {name: ["disclose", f"{FOLDER}/{PART}", *files] for name in others})
    for name in others:
        (place / name / "serving.toml").write_text(federations.serving_text(federation, name))


def _asked(federation: Federation, place: Path, say: Say) -> Step:
    """The owners answer for one prediction, level by level."""
    say(f"  {ALDER} asks which way new payments go at the banks' splits, level by level ...")
    files = ["--part", f"{FOLDER}/{PART}", "--data", DATA, *OWN, "--folder", "answers"]
    words = {
        name: ["answer", RUN_FILE, "--as", name, *files, *policy_words(federation, name)]
        for name in federation.tables
        if name != ALDER
    }
    predict = ["predict", f"{FOLDER}/{MODEL}", NEW, *WITH, "--id", federation.id, "--what", "probability"]
    words[ALDER] = [*predict, "--folder", "scores", "--out", PREDICTED]
    return Step("scored the new rows", run(place, words), n_bytes(place / ALDER / "scores"))


def _likeliest(file: Path, id_: str) -> tuple[str, float]:
    """Whoever is likeliest not to pay."""
    with file.open(newline="") as opened:
        lines = list(csv.DictReader(opened))
    chances = np.array([float(line["probability_yes"]) for line in lines])
    at = int(chances.argmax())
    return lines[at][id_], float(chances[at])
