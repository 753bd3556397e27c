"""The package behind `noiselab run`: one class an experiment, and what they share. Python 3.6 or later,
standard library only."""
