"""How many trials a search makes: a secret number, drawn exactly."""

from fractions import Fraction

import numpy as np

from dplasso.base import checks
from dplasso.mechanisms.exact_noise import bernoulli
from dplasso.privacy.events import TrialLaw


def trial_count(stop: float, law: TrialLaw, generator: np.random.Generator) -> int:
    """k = 1, 2, ... with probability proportional to (1 - stop)^k / k, or (1 - stop)^k.

    The first law is "logarithmic", the second "geometric". A geometric number is kept with
    probability 1 / k for the logarithmic law, and drawn again otherwise.

    Formal guarantees
    -----------------
    It reads no data: there is no neighbouring relation and no cost. If the generator's bits are
    independent and fair the law is exact, ``stop`` being the fraction that the float stands for.
    The cost of a search (`dplasso.privacy.trials`) rests on this law and on the number staying
    secret. The time that the trials take reveals it, and is not protected.
    """
    halt = Fraction(checks.probability("stop", stop))
    while True:
        count = 1
        while not bernoulli(halt, generator):
            count += 1
        if law == "geometric" or bernoulli(Fraction(1, count), generator):
            return count
