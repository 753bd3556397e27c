"""Exit statuses, by the contract of all programs (docs/reference/exit-status.md)."""

DONE = 0  # done; and yes, where a question was asked
NO = 1
USAGE = 2  # usage, or the environment
CANNOT_TELL = 3

# what an analysis may end with and have answered; anything else is its own failure
ANSWERS = (DONE, NO, CANNOT_TELL)
