# noiselab analyze --check-options: are these options good, before anything is measured that they are to
# judge? noiselab run asks it.

# How the value of each option is read, by the functions that read it for an answer; what none of them reads
# has nothing to be checked. A function, because the entries refer to functions of files that are read
# later.
option_checks <- function() {
  list(
    alpha = alpha_option,
    power = power_option,
    level = level_option,
    channel = channel_option,
    limits = read_limits,
    classes = read_classes,
    "known-bad" = read_known_bad,
    reference = function(dirs) {
      for (dir in dirs) {
        read_acceptance(dir)
      }
    },
    trim = function(text) {
      number_option("trim", text, 0.25, -1e-300, 1, "a share from 0 to below 1 (try 0.25, or 0 for none)")
    },
    spread = function(text) percent_option("spread", text, "5"),
    arm = function(text) names_option("arm", text, periodic_arms, "arm"),
    period = period_option
  )
}

# What the word, or no word (a campaign), makes of the values; ends by the error that its answer would end
# by. Nothing is returned.
check_options <- function(operands, values) {
  words <- analyze_words()
  at <- match(operands[1], vapply(words, `[[`, "", "name"))
  if (length(operands) > 1 || length(operands) == 1 && is.na(at)) {
    abort_usage("--check-options: wanted one analysis, or none, got '", operands[length(operands)], "'")
  }
  word <- if (length(operands) == 1) words[[at]] else list(name = "a campaign", options = campaign_options)
  values[["check-options"]] <- NULL
  only_options(values, word$name,
               c(word$options, if (!is.null(word$tables)) "table", if (!is.null(word$writes)) "write"))
  if (!is.null(values$margin)) (word$margin %||% margin_option)(values$margin)
  write <- files_option(values[["write"]], word$writes, word$name)
  # nodes: a directory, which is made
  for (file in c(unlist(write[names(write) != "nodes"]), values$out)) check_writable(file)
  checks <- option_checks()
  for (name in intersect(names(checks), names(values))) checks[[name]](values[[name]])
  table_option(values, word$tables %||% csv_tables)
  invisible()
}
