# noiselab analyze advise.

analyze_advise <- function(operands, values, form) {
  alpha <- alpha_option(values$alpha)
  margin <- margin_option(with_asked_margin(values, operands)$margin) %||% advise_margin_percent
  campaign <- read_campaign(operands)
  if (!is.null(settings_plan(campaign$dirs))) {
    return(analyze_settings(campaign, operands, alpha, margin, values, form))
  }
  if (!is.null(values$write$plan)) {
    write_plan(advise_next(campaign, alpha, margin), values$write$plan)
    return(structure(character(), status = 0L))
  }
  advice <- advice_of(campaign, operands, alpha, margin)
  busy <- busy_sentence(campaign)
  notes <- unique(c(advice$note, brief_notes(campaign)))
  library <- advice$library
  # by variables alone they are the file
  rules <- if (has_variables_only(library)) {
    exports_of(advise_forced(advice$rows, library))
  } else {
    advise_rules(advice$rows, library)
  }
  of_han <- if (!is.null(rules) && has_han(advice$rows, library)) {
    advise_rules(advice$rows, library, han = TRUE)
  }
  if (!is.null(values$write$rules)) {
    if (!is.null(rules)) write_output(rules, values$write$rules)
    if (!is.null(of_han)) write_output(of_han, han_file(values$write$rules))
  }
  written <- if (!is.null(rules)) {
    c(values$write$rules, if (!is.null(of_han) && !is.null(values$write$rules)) han_file(values$write$rules))
  }
  said <- function() advise_lines(advice, alpha, margin, written, library)
  answered(
    form,
    NULL,
    c(
      list(alpha = alpha, margin_percent = margin, launches = advice$n_launches,
           launches_screening = advice$n_screening),
      advice[c("level_percent", "late")],
      program_head(advice),
      list(first_screen = texts(advice_sentences(advice, margin)))
    ),
    advice[c("rows", "algorithms")],
    c(busy, notes),
    c(said(), "", algorithm_lines(advice$algorithms, alpha), format_notes(c(busy, notes))),
    c(said(), alarm_lines(c(busy, advice$note)),
      all_pointer(operands, "every algorithm, and what noise costs it")),
    answer = if (any(advice$rows$verdict == advise_words[["open"]])) {
      "inconclusive"
    } else {
      "pass"
    }
  )
}

# The advice, with what it means for the program that was profiled, where there is one.
advice_of <- function(campaign, operands, alpha, margin) {
  advice <- advise_table(campaign, alpha, margin)
  program <- advised_program(operands)
  if (is.null(program)) return(advice)
  advice$rows <- with_rule_sizes(advice$rows, program)
  advice$gain <- program_gain(advice$rows, program, advice$library)
  advice$verified <- program_verified(operands, advice$gain, alpha)
  advice$sentence <- program_sentence(program, advice$rows, advice$gain, advice$verified)
  advice
}

# The sentences that come first wherever the advice is read.
advice_sentences <- function(advice, margin) c(advise_sentence(advice, margin), advice$sentence)

program_head <- function(advice) list(gain = advice$gain %||% list(), verified = advice$verified %||% list())

alarm_lines <- function(notes) unlist(lapply(sprintf("! %s", notes), wrap_line))
# One line, or two where the command is long: it is never broken.
all_pointer <- function(dirs, what) {
  command <- all_command(dirs, "advise")
  line <- paste0(command, ": ", what)
  if (nchar(line) <= text_width) line else c(paste0(what, ":"), command)
}

exports_of <- function(lines) {
  lines <- trimws(grep("^ *export ", lines, value = TRUE))
  if (length(lines) > 0) lines
}

han_file <- function(file) paste0(file, ".han")

# Lines "name value" for noiselab run advise; where all goes on as planned no file.
write_plan <- function(plan, file) {
  if (is.null(plan)) return(invisible())
  comma <- function(x) paste(format_count_each(x), collapse = ",")
  write_output(
    c(paste("launches", plan$launches), paste("seconds", plan$seconds), paste("stages", comma(plan$stages)),
      paste("op", paste(plan$op, collapse = ",")), paste("why", plan$why)),
    file
  )
}

advise_sentence <- function(advice, margin) {
  rows <- advice$rows[advice$rows$condition == "quiet", ]
  n <- table(factor(rows$verdict, advise_words))
  used <- rows[rows$verdict == advise_words[["use"]], ]
  best <- used[which.max(used$gain_percent), ]
  open <- sum(advice$rows$verdict == advise_words[["open"]])
  paste0(
    if (nrow(used) == 0) {
      "No algorithm is shown to be faster than the library's default"
    } else {
      sprintf(
        paste0("In %d of %d cases, another algorithm is faster than the library's default; most for %s of ",
               "%s: %s takes %s %% less time (%s to %s %%)"),
        nrow(used),
        nrow(rows),
        best$operation,
        size_column(best$bytes),
        best$algorithm,
        three(best$gain_percent),
        three(best$gain_low_percent),
        three(best$gain_high_percent)
      )
    },
    ".",
    if (n[["keep"]] > 0) {
      sprintf(" In %s the default is kept, because a gain of more than %g %% is excluded.",
              counted(n[["keep"]], "case"), margin)
    },
    if (n[["refused"]] > 0) {
      sprintf(" In %s another algorithm is faster, but this library does not follow a rule for it.",
              counted(n[["refused"]], "case"))
    },
    if (open > 0) undecided_cases(open, n[["undecided"]])
  )
}

# `open`: cases without a verdict, `quiet`: those of them without noise.
undecided_cases <- function(open, quiet) {
  sprintf(" More time (--seconds) decides the %s%s.",
          if (open == 1) "case that is undecided" else paste(format_count(open), "cases that are undecided"),
          if (quiet == open) "" else if (quiet == 0) ", under noise" else
            sprintf(": %s quiet and %s under noise", format_count(quiet), format_count(open - quiet)))
}

size_column <- function(bytes) ifelse(bytes == 0, "-", vapply(bytes, size_words, ""))

advise_lines <- function(advice, alpha, margin, rules, library) {
  rows <- advice$rows[advice$rows$condition == "quiet", ]
  noise <- advice$rows[advice$rows$condition == "noise", ]
  under <- noise[match(call_key(rows), call_key(noise)), ]
  cell <- function(x) {
    ifelse(x$verdict == advise_words[["use"]], sprintf("%s %s %%", x$algorithm, three(x$gain_percent)),
           x$verdict)
  }
  lost <- function(column) {
    of <- function(algorithm) {
      three(advice$algorithms[[column]][match(
        paste(call_key(rows), algorithm), paste(call_key(advice$algorithms), advice$algorithms$algorithm)
      )])
    }
    ifelse(rows$verdict == advise_words[["use"]], paste0(of("default"), "->", of(rows$algorithm)),
           of("default"))
  }
  table <- new_table(
    col_words("operation", rows$operation),
    col_words("size", size_column(rows$bytes)),
    col_words("default", format_time(rows$default_ns / 1e9)),
    col_words("quiet", cell(rows)),
    col_words(
      "interval, %",
      ifelse(is.na(rows$gain_low_percent), paste("below", three(rows$could_have_seen_percent)),
             paste0("[", gain_bounds(rows), "]"))
    ),
    col_words("under noise", ifelse(is.na(under$verdict), "-", cell(under))),
    col_words("lost ns/ns", lost("lost_ns_per_ns")),
    if (!is.na(advice$late)) col_words("late ns/ns", lost("late_ns_per_ns"))
  )
  forced <- advise_forced(advice$rows, library)
  untried <- if (any(rows$rule %in% "untried")) {
    "  # these rules were not tried: noiselab run advise tries them where it measures"
  }
  typed <- if (has_variables_only(library) && length(forced) > 0) {
    c(
      if (any(grepl("export", forced))) {
        sprintf("To select it (%s, all sizes and communicators; unset to undo):", holds_for(rows, library))
      },
      forced,
      untried
    )
  } else if (is.null(rules) && length(forced) > 0) {
    c(
      sprintf("To select it (%s; unset to undo):", library),
      if (any(grepl("export", forced))) {
        "  export OMPI_MCA_coll_tuned_use_dynamic_rules=1"
      },
      forced
    )
  } else if (any(rows$verdict == advise_words[["use"]]) && !is.null(rules)) {
    c(
      sprintf("To select it (%s; unset %s to undo):", holds_for(rows, library),
              if (length(rules) > 1) "all four" else "both"),
      "  export OMPI_MCA_coll_tuned_use_dynamic_rules=1",
      paste0("  export OMPI_MCA_coll_tuned_dynamic_rules_filename=", normalizePath(rules[1])),
      if (length(rules) > 1) {
        c("  export OMPI_MCA_coll_han_use_dynamic_file_rules=1",
          paste0("  export OMPI_MCA_coll_han_dynamic_rules_filename=", normalizePath(rules[2])))
      },
      untried,
      forced
    )
  }
  c(
    wrap_line(paste(advice_sentences(advice, margin), collapse = " ")),
    "",
    table_lines(table),
    wrap_line(sprintf(
      paste(
        paste0("gain against the default, from up to %d launches that did not choose the candidate (%d ",
               "did); intervals hold together"),
        "at %g %%; noise: %g %% of one rank's CPU; time lost per time that it takes%s (default->advised)"
      ),
      advice$n_launches - advice$n_screening,
      advice$n_screening,
      100 * (1 - 2 * alpha),
      advice$level_percent,
      if (is.na(advice$late)) {
        ""
      } else {
        sprintf(", and that the last rank comes late (%s, %s)", advice$late,
                time_words(mean(advice$algorithms$late_by_ns, na.rm = TRUE)))
      }
    )),
    typed
  )
}

holds_for <- function(rows, library) {
  rows <- rows[rows$verdict == advise_words[["use"]], ]
  nodes <- unique(rows$nodes)
  sprintf(
    "holds for %s, %s ranks%s",
    library,
    paste(sort(unique(rows$ranks)), collapse = " and "),
    if (anyNA(nodes)) {
      ", on numbers of nodes that differed"
    } else {
      sprintf(" on %s node%s", paste(sort(nodes), collapse = " and "), if (identical(nodes, 1)) "" else "s")
    }
  )
}

algorithm_lines <- function(frame, alpha) {
  frame <- frame[order(match(frame$operation, unique(frame$operation)), frame$bytes, frame$quiet_ns), ]
  bounds <- paste0("[", three(frame$lost_low), ", ", three(frame$lost_high), "]")
  table <- new_table(col_words("operation", frame$operation), col_words("size", size_column(frame$bytes)),
                     col_words("algorithm", frame$algorithm, folds = FALSE),
                     col_words("quiet", format_time(frame$quiet_ns / 1e9)),
                     col_words("noise", format_time(frame$noise_ns / 1e9)),
                     col_words("lost ns/ns", three(frame$lost_ns_per_ns)), col_words("interval", bounds),
                     col_words("late ns/ns", three(frame$late_ns_per_ns)),
                     col_words("front", ifelse(frame$front, "yes", "")),
                     col_words("in fact", ifelse(frame$in_fact == frame$algorithm, "", frame$in_fact)))
  c(
    table_lines(table),
    wrap_line(sprintf(
      paste(
        paste0("means over all launches; interval: of each by itself, at %g %%; late ns/ns: 1 is the ",
               "lateness itself; front: none is shown to be"),
        paste0("better in quiet time, lost or late without being worse in another; in fact: what the ",
               "library runs in its place")
      ),
      100 * (1 - 2 * alpha)
    ))
  )
}

# Of few launches a lower end may be any number.
gain_bounds <- function(rows, between = ", ") {
  paste0(
    ifelse(!is.na(rows$gain_low_percent) & rows$gain_low_percent < -1000, "below -1000",
           three(rows$gain_low_percent)),
    between,
    three(rows$gain_high_percent)
  )
}
