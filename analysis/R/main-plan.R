# noiselab plan: how long a run must be.

# A function: option() is in a file that is read later.
plan_options <- function() {
  c(
    list(
      option("detect", "EFFECT", "the slowdown to find, percent"),
      option("margin", "EFFECT", "show that the slowdown is smaller than this, if there is none"),
      option("op", "LIST", "operations (default: all of the pilot, else barrier,allreduce,alltoall)"),
      option("bytes", "LIST", "message sizes, such as 8,2KiB (default: all of the pilot, else 2KiB)"),
      option("ranks", "N", "number of ranks (default: the pilot's)"),
      option("pilot", "DIR", "a campaign whose scatter is used; without it one is assumed"),
      option("half-period", "TIME", "length of a half (default: the pilot's, else 10ms)"),
      option("launches", "N", "number of launches (default: what the pilot's launches ask for, else 1)"),
      option(
        "levels", "LIST",
        "levels of the run, percent of one CPU (default: the pilot's, else 0 and one of the effect's size)"
      ),
      option("alpha", "P", "one-sided level of the test (default 0.01)"),
      option("power", "P", "probability of finding the effect (default 0.95)"),
      option("reference", "DIR", "acceptance: the campaign that a run is held against (may be given again)",
             again = TRUE),
      option("limits", "FILE", "acceptance: lines `margin` of this file instead of noiselab's own margins"),
      option(
        "seconds",
        "TIME",
        paste0("acceptance: what a run of this measuring time would decide (default: as long as needed, ",
               "10min at most)")
      ),
      option("csv", help = "print the table as CSV")
    ),
    usual_options("json", "out", "help")
  )
}

plan_help <- function() {
  help_text(
    c("Usage: noiselab plan --detect EFFECT [OPTIONS]",
      "       noiselab plan acceptance --reference DIR [OPTIONS]"),
    c(
      paste0("Computes how many pairs and launches, and how much time, a run needs to find an effect, or ",
             "to show that"),
      paste0("it is smaller than a margin, and prints the command of that run. For acceptance it computes ",
             "how long a run"),
      paste0("must be so that a healthy node passes with probability 0.95, by the scatter of the reference, ",
             "and what it decides.")
    ),
    plan_options(),
    c(
      "Times and sizes take a unit: 10ms, 2KiB. Every level and operation of a run needs pairs of its own.",
      "",
      "Exit status: 0 planned; 2 wrong usage, or an operation that the pilot does not have; 3 no run of up",
      "to a day finds the effect, or the pilot has no scatter; 70 a bug."
    )
  )
}

run_plan <- function(operands, values, form) {
  if (identical(operands[1], "acceptance")) return(run_plan_acceptance(operands[-1], values, form))
  own <- intersect(c("reference", "limits", "seconds"), names(values))
  if (length(own) > 0) abort_usage("--", own[1], ": belongs to noiselab plan acceptance")
  if (length(operands) > 0) {
    abort_usage("'", operands[1], "' is not an option (a pilot is given with --pilot DIR)")
  }
  request <- plan_request(values)
  campaign <- if (!is.null(values$pilot)) read_campaign(values$pilot)
  plan <- make_plan(request, campaign)
  notes <- c(plan$notes, brief_notes(campaign))
  lines <- answered(form, NULL, plan_head(plan), plan["cells"], notes, format_plan(plan, notes),
                    format_plan(plan, notes), program = "noiselab-plan")
  write_output(lines, values$out)
  check_reach(plan)
}

run_plan_acceptance <- function(operands, values, form) {
  if (length(operands) > 0) {
    abort_usage("acceptance: '", operands[1], "' is not an option (a reference is given with --reference ",
                quote_word(operands[1]), ")")
  }
  only_options(values, "acceptance", c("reference", "limits", "seconds", "launches", "alpha", "margin"))
  if (is.null(values$reference)) {
    abort_usage("acceptance: which campaign is a run held against, or like which one is it? ",
                "Give --reference DIR")
  }
  limits <- if (!is.null(values$limits)) read_limits(values$limits)
  margin <- acceptance_margin(values$margin)
  reference <- read_acceptance(values$reference)
  alpha <- alpha_option(values$alpha)
  seconds <- duration_option(values$seconds, "--seconds")
  own <- attr(limits, "margins")
  plan <- plan_acceptance(reference, whole_option(values$launches, "--launches"),
                          margins_in_use(if (!is.list(margin)) margin, own), alpha, seconds)
  at_scale <- if (is.list(margin) || "scale" %in% own$kind) {
    plan_at_scale(reference, scale_question(margin, scale_line_of(own)), alpha, seconds)
  }
  view <- accept_plan_view(plan, at_scale)
  measuring_s <- max(plan$measuring_s, at_scale$measuring_s, na.rm = TRUE)
  head <- list(
    measuring_s = measuring_s,
    total_s = plan$takes_s - plan$measuring_s + measuring_s,
    launches = plan$launches,
    power = healthy_power,
    alpha = alpha,
    decides_noise = plan$decides_noise,
    at_scale = if (!is.null(at_scale)) {
      list(nodes = at_scale$asked$nodes, every_ns = 1e9 * at_scale$asked$every_s,
           margin_percent = at_scale$asked$percent, unseen_ns = 1e9 * at_scale$asked$unseen_s,
           host = at_scale$host, measuring_s = at_scale$measuring_s,
           decides_unseen_ns = 1e9 * at_scale$unseen_s, needed_percent = at_scale$needed)
    },
    says = texts(Filter(nzchar, view_lines(view)))
  )
  rows <- plan$rows[c("check", "variant", "metric", "size", "unit", "limit", "relation", "margin", "needed",
                      "margin_unit", "decides", "total_s")]
  lines <- answered(form, NULL, head, list(figures = rows), plan$notes,
                    accept_plan_view(plan, at_scale, all = TRUE), view, program = "noiselab-plan")
  print_answer(lines, values)
}

plan_request <- function(values) {
  effect <- function(name) {
    number_option(name, values[[name]], NULL, 0, 90, "a percentage above 0 and below 90 (try 0.1%)")
  }
  detect <- effect("detect")
  margin <- margin_option(values$margin)
  if (is.null(detect) && is.null(margin)) {
    abort_usage("what is sought? give --detect 0.1% (or --margin 0.1%; see --help)")
  }
  list(
    detect = detect, margin = margin, alpha = alpha_option(values$alpha),
    power = power_option(values$power), operations = words_option(values$op, "--op"),
    bytes = if (!is.null(values$bytes)) vapply(words_option(values$bytes, "--bytes"), size_option, 0,
                                               USE.NAMES = FALSE),
    ranks = whole_option(values$ranks, "--ranks"), launches = whole_option(values$launches, "--launches"),
    half_s = duration_option(values[["half-period"]], "--half-period"), levels = levels_option(values$levels)
  )
}

levels_option <- function(text) {
  levels <- if (!is.null(text)) {
    suppressWarnings(as.numeric(sub("%$", "", strsplit(text, ",", fixed = TRUE)[[1]])))
  }
  if (
    !is.null(text) &&
      (length(levels) == 0 || anyNA(levels) || any(levels < 0 | levels > 100) || anyDuplicated(levels))
  ) {
    abort_usage("--levels: '", text, "' is no list of levels (try 0,0.1,1)")
  }
  levels
}

# Said after the plan is printed: the plan is the reason.
check_reach <- function(plan) {
  if (is.na(plan$run$total_s)) abort_data("no run can do this: ", plan$run$reason)
  if (plan$run$total_s > day_s) {
    abort_data("this takes ", format_span(plan$run$total_s, 3),
               ", more than a day: seek a larger effect, plan fewer levels and operations ",
               "(--levels, --op), or a quieter configuration (noiselab run stability)")
  }
}

# ---- text --------------------------------------------------------------------------------------

format_plan <- function(plan, notes) {
  request <- plan$request
  together <- if (isTRUE(request$launches > 1)) "these launches together" else scope_launch
  scope <- if (plan$across) scope_campaign else together
  tables <- lapply(names(plan$goals), function(name) {
    rows <- plan$cells[plan$cells$goal == name, ]
    c(paste0("to ", plan$goals[[name]]$text), plan_table(rows, plan),
      wrap_line(sprintf("no plan for %s: %s", rows$operation, rows$reason)[!is.na(rows$reason)]), "")
  })
  c(
    wrap_line(
      sprintf("plan: channel time, alpha %g one-sided, power %g; scope: %s", request$alpha, request$power,
              scope),
      0
    ),
    wrap_line(scatter_words(plan)),
    "",
    unlist(tables),
    run_words(plan),
    "",
    format_notes(notes)
  )
}

plan_table <- function(r, plan) {
  text <- function(x) ifelse(is.na(x), "-", format_count_each(x))
  most <- paste(text(r$n_launches_upper), "x", text(r$n_pairs_upper / r$n_launches_upper))
  more <- if (!plan$across) {
    list(n_pairs = col_number("pairs", r$n_pairs), n_pairs_upper = col_number("at most", r$n_pairs_upper))
  } else {
    list(sd_launch = col_number("of launches", r$sd_launch, plain),
         n_launches = col_number("launches", r$n_launches),
         pairs_per_launch = col_number("pairs each", r$pairs_per_launch),
         n_pairs_upper = col_number("at most", r$n_pairs_upper, ifelse(is.na(r$n_pairs_upper), "-", most)))
  }
  table_lines(do.call(
    new_table,
    c(
      list(operation = col_words("operation", r$operation), bytes = col_number("bytes", r$bytes),
           ranks = col_number("ranks", r$ranks, format_level),
           half_period_s = col_number("half", r$half_period_s, format_seconds),
           sd = col_number("sd", r$sd, plain, "%")),
      more
    )
  ))
}

scatter_words <- function(plan) {
  basis <- plan$basis
  if (is.null(basis$dirs)) {
    return(paste(
      paste0("sd: of a pair's log ratio as the signed-rank test has it, ASSUMED, not measured: that on a ",
             "shared virtual machine with two ranks"),
      "(4 % at 10 ms); pairs: of each level"
    ))
  }
  pilot <- basis$scatter[[1]]
  c(
    sprintf(
      paste0("sd: of a pair's log ratio%s in %s, %s pairs%s at level %s; at most: with 80 %% certainty; ",
             "pairs: of each level"),
      if (pilot$by_ranks) " as the signed-rank test has it" else "",
      paste(basis$dirs, collapse = " "),
      format_range(vapply(basis$scatter, `[[`, 0, "n_pairs")),
      if (pilot$n_launches > 1) {
        sprintf(" of %d launches", pilot$n_launches)
      } else {
        ""
      },
      format_level(pilot$level)
    ),
    if (plan$across) {
      "of launches: sd between launches beyond what their pairs explain; at most: launches x pairs"
    }
  )
}

run_words <- function(plan) {
  run <- plan$run
  basis <- plan$basis
  if (is.na(run$total_s)) return(wrap_line(paste("no run can do this:", run$reason), 0))
  halves <- sprintf("%s pairs x %d (%s) x 2 halves of %s + %s ms between halves",
                    format_count(run$pairs_per_launch), run$arms, arms_words(basis, run),
                    format_seconds(basis$half_s), plain(1000 * basis$overhead_s))
  most <- if (!is.na(run$total_upper_s)) {
    sprintf(" (with 80 %% certainty at most %s)", format_span(run$total_upper_s, 3))
  }
  c(
    wrap_line(paste0("total: ", format_span(run$total_s, 3), most), 0),
    wrap_line(sprintf("%s of %s", counted(run$n_launches, "launch", "launches"), halves)),
    wrap_line(sprintf("and %.1f s to start each (%s, warm-up included)", basis$launch_s,
                      if (isTRUE(basis$launch_known)) "as in the pilot" else "assumed")),
    "",
    "command",
    wrap_command(plan$command)
  )
}

arms_words <- function(basis, run) {
  n <- nrow(basis$cells)
  sprintf("%s x %s", counted(n, "operation and size", "operations and sizes"), counted(run$arms / n, "level"))
}

# What JSON has of a plan beside its cells.
plan_head <- function(plan) {
  request <- plan$request
  basis <- plan$basis
  list(
    alpha = request$alpha,
    power = request$power,
    scope = if (plan$across) scope_campaign else scope_launch,
    scatter = if (is.null(basis$dirs)) "assumed" else "pilot",
    detect = request$detect,
    margin = request$margin,
    command = plan$command,
    run = c(
      plan$run[c("n_launches", "pairs_per_launch", "measuring_s", "total_s", "total_upper_s", "reason")],
      list(half_period_s = basis$half_s, levels_percent = I(basis$levels),
           between_halves_s = basis$overhead_s, launch_start_s = basis$launch_s,
           within_a_day = isTRUE(plan$run$total_s <= day_s))
    )
  )
}
