library(testthat)
library(noiselab)

test_check("noiselab")
