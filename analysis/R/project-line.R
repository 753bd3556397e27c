# What an answer about one node says of many, in a line.

scale_nodes <- 1000
scale_step_s <- 1e-3

# The row of `project_noise()`, independent phases, as `noiselab project` has it of the same data; NULL where the bursts are not known. `noise` is evaluated
# here: what it signals is no error of the answer that it stands below.
scale_of <- function(noise, every_s = scale_step_s, alpha = 0.02) {
  tryCatch(project_noise(noise, scale_nodes, every_s, alpha, phases = "independent"), nl_error_data = function(e) NULL)
}

# NULL without a row. `dirs`: of the command that says more; at most one line.
scale_sentence <- function(row, dirs, width = text_width) {
  if (is.null(row)) return(NULL)
  said <- sprintf("On %s, synchronised every %s: %s slower; see noiselab project", nodes_words(row$nodes), format_time(row$every_ns / 1e9),
                  projected_words(row))
  operands <- c(paste(vapply(dirs, quote_word, ""), collapse = " "), "DIR")
  paste(c(said, utils::head(operands[nchar(said) + 1 + nchar(operands) <= width], 1)), collapse = " ")
}
