# Advice for one program: which of its operations are worth comparing, what it gains by the rules, and
# whether it did.

# An operation and size below this share of the program's time is not worth a comparison.
worth_share <- 0.01
program_file <- "advice.program"
reducing <- c("allreduce", "exscan", "reduce", "reduce_scatter", "reduce_scatter_block", "scan")
element_bytes <- 8

# The program's blocking collectives with 1 % of the ranks' time or more, by class of sizes and
# communicator, the largest first: `bytes` (measured: the mean, in whole elements of reductions),
# `from_bytes` to `to_bytes` (sizes that a rule is to hold for), `calls` of a rank, `share` of the time,
# `program_ns`, `left_out` (why it is not compared, or "").
program_cells <- function(profile) {
  total <- sum(profile$ranks[["wall_ns"]])
  rows <- profile_operations(profile, whole_calls(profile$arrivals)[0, ], total)
  rows <- rows[rows$share >= worth_share & rows$class %in% c("synchronising", "collective"), ]
  n <- nrow(profile$ranks)
  mean_bytes <- rows$bytes / pmax(1, rows$calls)
  unit <- ifelse(rows$operation %in% reducing, element_bytes, 1)
  is_one <- mean_bytes == round(mean_bytes)
  has_size <- rows$operation != "barrier"
  if (nrow(rows) == 0) {
    abort_data("no blocking collective operation has ", 100 * worth_share,
               " % of the program's time: no algorithm would gain much")
  }
  left_out <- ifelse(rows$ranks != n, sprintf("on %d of %d ranks", as.integer(rows$ranks), n),
                     ifelse(has_size & rows$bytes_lo == 0, "without data", ""))
  if (all(left_out != "")) {
    abort_data("no operation of the program can be compared: ",
               paste(unique(paste(rows$operation, left_out)), collapse = "; "))
  }
  data.frame(operation = rows$operation,
             bytes = ifelse(has_size, pmax(unit, round(mean_bytes / unit) * unit), 0),
             from_bytes = ifelse(is_one, mean_bytes, rows$bytes_lo),
             to_bytes = ifelse(is_one, mean_bytes, 2 * rows$bytes_lo - 1), ranks = rows$ranks,
             calls = rows$calls / n, share = rows$share,
             program_ns = rep(max(profile$ranks[["wall_ns"]]), nrow(rows)), left_out = left_out)
}

# What a campaign that began with a program knows of it; NULL: it did not.
advised_program <- function(dirs) {
  file <- file.path(dirs, program_file)
  if (length(file) != 1 || !file.exists(file)) return(NULL)
  cells <- utils::read.csv(file, colClasses = "character")
  wanted <- c("operation", "bytes", "from_bytes", "to_bytes", "ranks", "calls", "share", "program_ns",
              "left_out")
  if (!identical(names(cells), wanted)) {
    abort_damaged(file, 1, "the columns are not ", paste(wanted, collapse = " "))
  }
  numbers <- setdiff(wanted, c("operation", "left_out"))
  cells[numbers] <- lapply(cells[numbers], as_number)
  bad <- which(!stats::complete.cases(cells[numbers]))
  if (length(bad) > 0) abort_damaged(file, bad[1] + 1, "a number is missing")
  cells
}

with_rule_sizes <- function(rows, program) {
  at <- match(call_key(rows), call_key(program))
  # what was measured, and is tried, is among them
  rows$from_bytes <- pmin(rows$bytes, program$from_bytes[at], na.rm = TRUE)
  rows$to_bytes <- pmax(rows$bytes, program$to_bytes[at], na.rm = TRUE)
  rows
}

# What a program gains, percent of its time: calls times the difference of the times of one, of all
# operations that are advised and can be selected. Ends are added: the intervals of a table hold together.
program_gain <- function(rows, program, library = "") {
  used <- rows[is_selected(rows, library), ]
  at <- match(call_key(used), call_key(program))
  used <- used[!is.na(at), ]
  calls_ns <- program$calls[at[!is.na(at)]] * used$default_ns
  percent <- function(gain) sum(calls_ns * gain) / program$program_ns[1]
  list(percent = percent(used$gain_percent), low_percent = percent(used$gain_low_percent),
       high_percent = percent(used$gain_high_percent), advised = nrow(used))
}

# What pairs of runs of the program, without the rules and with them, say of the prediction; NULL: there are
# none.
program_verified <- function(dirs, gain, alpha) {
  runs <- Sys.glob(file.path(dirs, "profiles", "verify-*-off"))
  partner <- sub("-off$", "-on", runs)
  runs <- runs[dir.exists(partner)]
  if (length(runs) < 2) return(NULL)
  wall <- function(dir) log(max(read_profile(dir)$ranks[["wall_ns"]]))
  verified_by(vapply(sub("-off$", "-on", runs), wall, 0) - vapply(runs, wall, 0), gain, alpha)
}

verified_by <- function(ratios, gain, alpha) {
  percent <- gain_ends(ratios, alpha)
  verdict <- if (percent[[3]] < gain$low_percent) {
    "less"
  } else if (percent[[2]] > gain$high_percent) {
    "more"
  } else if ((percent[[3]] - percent[[2]]) / 2 > abs(gain$percent)) {
    "undecided"
  } else {
    "held"
  }
  list(pairs = length(ratios), percent = percent[[1]], low_percent = percent[[2]],
       high_percent = percent[[3]], verdict = verdict)
}

program_sentence <- function(program, rows, gain, verified) {
  program$left_out[!call_key(program) %in% call_key(rows) & program$left_out == ""] <- "for want of time"
  left <- program[program$left_out != "", ]
  compared <- program[program$left_out == "", ]
  paste(
    c(
      sprintf("The program takes %s, of which %s in %s of at least %g %%.", time_words(program$program_ns[1]),
              percent_of_time(sum(compared$share)), counted(nrow(compared), "operation"), 100 * worth_share),
      if (nrow(left) > 0) {
        sprintf(
          "Not compared: %s.",
          join_words(sprintf("%s %s (%s)", operation_sizes(left), left$left_out, percent_of_time(left$share)))
        )
      },
      gain_words(gain, verified, "it", "with the rules")
    ),
    collapse = " "
  )
}

gain_words <- function(gain, verified, of, how) {
  range <- function(x) sprintf("(%s to %s %%)", three(x$low_percent), three(x$high_percent))
  c(
    if (gain$advised == 0) {
      sprintf("Nothing is predicted for %s.", of)
    } else {
      sprintf("Predicted %s: %s %% less time %s.", how, three(gain$percent), range(gain))
    },
    if (!is.null(verified)) {
      sprintf("%d pairs of runs: %s %% %s: %s.", verified$pairs, three(verified$percent), range(verified),
              verified_words[[verified$verdict]])
    }
  )
}

operation_sizes <- function(rows) {
  paste0(rows$operation, ifelse(rows$bytes > 0, paste0(" ", vapply(rows$bytes, size_words, "")), ""))
}

verified_words <- c(
  held = "the prediction held", less = "less than predicted", more = "more than predicted",
  undecided = "they scatter by more than what was predicted, more pairs (--verify) would tell"
)
