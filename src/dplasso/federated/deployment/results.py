"""What an administrator may ask for of a job: names that the server and the commands share."""

CARD, OUTCOME = "model_card.json", "outcome.json"  # files of a job that has ended
OUTCOME_KEY = "dplasso_outcome"  # in the server's list of jobs
PROGRESS = "progress"  # a command to a running job
