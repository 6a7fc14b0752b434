"""A synthetic table of hospital visits, several for some patients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

WARDS = ("medicine", "surgery", "cardiology", "maternity", "emergency")
SYMPTOMS = ("cough", "fever", "fall", "chest pain", "check-up", "dizziness", "wound", "rash")
_PATIENTS_OF_SEED = 1_000_000_000  # identifiers that a seed has for its patients


def make_visits(n_rows: int = 16_000, *, random_state: int = 0) -> dict[str, NDArray[Any]]:
    """Columns of a table of visits, by name; ``pandas.DataFrame`` takes them as they are.

    A visit has identifiers of itself and of its patient, numbers (``age``, ``systolic``,
    ``temperature``, ``creatinine``, ``earlier_visits``), categories (``sex``, ``ward``), a date
    (``arrival``), a text (``note``), and two things to predict: ``readmitted`` ("no" or "yes")
    and ``stay_days``. Some temperatures and wards are missing. About two fifths as many patients
    as visits occur; a few of them come more than ten times. Another ``random_state`` has other
    patients, with identifiers of their own.
    """
    rng = np.random.default_rng(random_state)
    patients = max(1, int(0.5 * n_rows))
    first_patient = _PATIENTS_OF_SEED * random_state
    # A few patients come often: weights follow a power law.
    share = (1.0 + np.arange(patients)) ** -0.45
    patient = rng.choice(patients, n_rows, p=share / share.sum())
    order = np.argsort(patient, kind="stable")
    first = np.searchsorted(patient[order], patient[order])
    earlier = np.empty(n_rows, dtype=np.int64)
    earlier[order] = np.arange(n_rows) - first

    age = np.clip(rng.normal(58.0, 19.0, patients), 18.0, 100.0).round()[patient]
    sex = np.array(["female", "male"])[rng.integers(0, 2, patients)][patient]
    ward_number = rng.choice(len(WARDS), n_rows, p=(0.34, 0.22, 0.16, 0.1, 0.18))
    ward = np.array(WARDS, dtype=object)[ward_number]
    systolic = np.clip(rng.normal(118.0 + 0.3 * age, 17.0), 70.0, 230.0).round()
    temperature = np.clip(rng.normal(37.0, 0.7, n_rows), 34.5, 41.5).round(1)
    creatinine = np.clip(rng.lognormal(-0.1 + 0.006 * (age - 50.0), 0.35), 0.2, 12.0).round(2)
    day = rng.integers(0, 730, n_rows)
    arrival = (np.datetime64("2024-01-01") + day).astype(str)
    said = rng.integers(0, len(SYMPTOMS), (n_rows, 2))
    note = np.array(
        [f"{SYMPTOMS[a]}, {SYMPTOMS[b]}" if a != b else SYMPTOMS[a] for a, b in said], dtype=object
    )

    weakness = rng.normal(0.0, 0.5, patients)[patient]
    risk = (
        -2.2
        + 0.03 * (age - 60.0)
        + 0.9 * np.log(creatinine)
        + 0.25 * np.minimum(earlier, 6)
        + np.array((0.2, -0.2, 0.7, -0.9, 0.1))[ward_number]
        + 0.6 * (said == 3).any(axis=1)
        - 0.7 * (said == 4).any(axis=1)
        + weakness
    )
    readmitted = np.where(rng.random(n_rows) < 1.0 / (1.0 + np.exp(-risk)), "yes", "no")
    stay = rng.gamma(2.0, np.exp(0.6 + 0.25 * np.clip(risk, -4.0, 2.0)))
    ward[rng.random(n_rows) < 0.02] = ""
    identifiers = [f"p{first_patient + number:06d}" for number in patient.tolist()]
    return {
        "visit_id": np.arange(1, n_rows + 1),
        "patient_id": np.array(identifiers, dtype=object),
        "age": age.astype(np.int64),
        "sex": sex,
        "ward": ward,
        "arrival": arrival,
        "systolic": systolic,
        "temperature": np.where(rng.random(n_rows) < 0.08, np.nan, temperature),
        "creatinine": creatinine,
        "earlier_visits": earlier,
        "note": note,
        "stay_days": np.clip(stay, 0.1, 60.0).round(1),
        "readmitted": readmitted,
    }
