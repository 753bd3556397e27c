# One agent at several sampling intervals: how often may it sample before it costs more than a margin?

# The interval of such a name, in ns; NA where it has none.
interval_in_name <- function(kind, campaign) {
  interval <- unique(stats::na.omit(vapply(campaign$launches, interval_of, 0)))
  ending <- paste0("@", vapply(interval / 1e9, option_time, ""))
  ended <- regmatches(kind, regexpr("@[^@]*$", kind))
  found <- rep(NA_real_, length(kind))
  found[grepl("@", kind, fixed = TRUE)] <- interval[match(ended, ending)]
  found
}

# Slowdown by sampling interval, of launches that ran one agent at several (`options.agent_interval_ns` in
# launch.json), and with a margin the shortest interval that is safe: all operations stay below it with
# confidence 1 - alpha. Intervals are tested in an order that is fixed before the data are seen, from the
# longest down, each at alpha, up to the first that is not shown to be safe: a shorter one can only be
# called safe wrongly if the longest of the unsafe ones was, and that is one test. Nor do operations need a
# correction: every one has to pass. Maurer, W., Hothorn, L. and Lehmacher, W. (1995) Multiple comparisons
# in drug clinical trials and preclinical assays: a-priori ordered hypotheses, Biometrie in der
# chemisch-pharmazeutischen Industrie 6, 3-18. Berger, R. L. (1982) Technometrics 24, 295-300 (all have to
# pass). `margin`: slowdown in percent; NULL: none, then no interval is called safe. Gives a list: `rows`, a
# data frame, one row per agent, operation, size and interval, from the longest: `agent`, `operation`,
# `bytes`, `ranks`, `interval_s`, `estimate` (slowdown, percent), `ci_low`, `ci_high` (two-sided, confidence
# 1 - alpha), `bound_low`, `bound_high` (one-sided bounds, confidence 1 - alpha each), `detection_limit`,
# `p_one_sided`, `n` and `unit_of_inference`, `preempted_percent` (of one CPU), `verdict`, `margin_verdict`,
# `reason`, `model` (percent, the guide line), `se`, `df` (of the log ratio); `steps`, one row per agent and
# interval: `interval_s`, `answer` (`pass`, `fail`, `inconclusive`), `worst` (the operation with the highest
# bound), `worst_high` (that bound), `safe` (logical); `model`, one row per agent, operation and size:
# `cost_s` (time lost per sample: slowdown = cost / interval), `cost_low_s`, `cost_high_s`,
# `interval_at_margin_s`; `safe`, one row per agent: `interval_s` (NA: none), `answer`; `answer`,
# `sentences`, `margin`, `alpha`, `power`, `notes`.
interval_sweep <- function(campaign, margin = NULL, alpha = 0.01, power = 0.95) {
  analysis <- analysis_for(campaign, check_intervals, alpha = alpha, power = power, margin = margin)
  rows <- sweep_rows(analysis, margin)
  models <- sweep_models(rows, margin, analysis$alpha)
  rows$model <- models$cost_s[match(sweep_key(rows), sweep_key(models))] / rows$interval_s * 100
  sweep <- list(rows = rows, model = models, margin = margin, alpha = analysis$alpha, power = analysis$power,
                notes = analysis$notes, busy = busy_sentence(analysis$campaign))
  if (!is.null(margin)) {
    sweep$steps <- sweep_steps(analysis, rows, margin)
    sweep$safe <- safe_intervals(sweep$steps)
    sweep$answer <- worst_verdict(sweep$safe$answer)
  }
  sweep$sentences <- sweep_sentences(sweep)
  sweep
}

# The analysis of a campaign that may be asked, or the one that there is.
analysis_for <- function(campaign, check, ...) {
  if (inherits(campaign, "nl_analysis")) return(campaign)
  check(campaign)
  analyze_campaign(campaign, ..., channels = c("time", "preempted"))
}

check_intervals <- function(campaign) {
  if (is_sweep(campaign)) return(invisible())
  abort_data(
    "a sweep needs launches at two sampling intervals or more (options.agent_interval_ns in launch.json: ",
    "noiselab run agent ",
    "--sweep, or noiselab-detect --agent-period TIME:interval=TIME)"
  )
}

sweep_key <- function(rows) paste(rows$agent, rows$operation, rows$bytes, rows$ranks, sep = "\r")

sweep_rows <- function(analysis, margin) {
  verdicts <- main_rows(analysis$verdicts)
  # A cell that only one launch has is shown for each launch; the first stands for it.
  verdicts$interval_s <- interval_in_name(as.character(verdicts$kind), analysis$campaign) / 1e9
  verdicts <- verdicts[!is.na(verdicts$interval_s), ]
  time <- verdicts[verdicts$channel == "time", ]
  if (nrow(time) == 0) abort_data("no loop times of an agent at a sampling interval")
  key <- function(rows) row_key(rows, c("scope", "launch", "operation", "bytes", "ranks", "kind"))
  preempted <- verdicts[verdicts$channel == "preempted", ]
  pairs <- time$unit_of_inference == "pair"
  judged <- if (is.null(margin)) rep(NA_character_, nrow(time)) else {
    ifelse(is.na(time$reason), margin_verdict(time$margin_low, time$margin_high, margin), "inconclusive")
  }
  rows <- data.frame(agent = sub("@[^@]*$", "", as.character(time$kind)), operation = time$operation,
                     bytes = time$bytes, ranks = time$ranks, interval_s = time$interval_s,
                     estimate = time$estimate, ci_low = time$ci_low, ci_high = time$ci_high,
                     bound_low = time$margin_low, bound_high = time$margin_high,
                     detection_limit = time$detection_limit, p_one_sided = time$p_one_sided,
                     n = ifelse(pairs, time$n_pairs, time$n_launches),
                     unit_of_inference = time$unit_of_inference, launch = time$launch,
                     preempted_percent = preempted$estimate[match(key(time), key(preempted))],
                     verdict = time$verdict, margin_verdict = judged, reason = time$reason,
                     se = time$raw_full_se, df = time$raw_full_df)
  rows <- rows[
    order(rows$agent, match(rows$operation, unique(rows$operation)), rows$bytes, rows$ranks,
          -rows$interval_s),
  ]
  rownames(rows) <- NULL
  rows
}

# The guide line: each sample costs the same time, so the slowdown is inversely proportional to the interval.
sweep_models <- function(rows, margin, alpha) {
  models <- lapply(split(rows, in_order(sweep_key(rows))), function(part) {
    known <- is.finite(part$estimate) & is.finite(part$se) & part$se > 0
    one <- part[1, c("agent", "operation", "bytes", "ranks")]
    rate <- 1 / part$interval_s[known]
    effect <- part$estimate[known] / 100
    se <- part$se[known]
    enough <- sum(known) > 1
    cost <- if (enough) sum(rate * effect / se^2) / sum(rate^2 / se^2) else NA_real_
    error <- if (enough) 1 / sqrt(sum(rate^2 / se^2)) else NA_real_
    reach <- stats::qnorm(1 - alpha / 2) * error
    cbind(one, data.frame(
      cost_s = cost, cost_low_s = cost - reach, cost_high_s = cost + reach,
      interval_at_margin_s = if (is.null(margin) || !isTRUE(cost > 0)) NA_real_ else 100 * cost / margin))
  })
  models <- bind_rows(models)
  rownames(models) <- NULL
  models
}

# From the longest interval down; `safe` as long as all before it were.
sweep_steps <- function(analysis, rows, margin) {
  verdicts <- analysis$verdicts
  kind <- as.character(verdicts$kind)
  steps <- lapply(split(rows, in_order(paste(rows$agent, format_count(-rows$interval_s)))), function(part) {
    mine <- verdicts$channel == "time" & kind == paste0(part$agent[1], "@", option_time(part$interval_s[1]))
    judged <- verdicts[mine, ]
    judged$margin_verdict <- ifelse(is.na(judged$reason),
                                    margin_verdict(judged$margin_low, judged$margin_high, margin),
                                    "inconclusive")
    answer <- margin_answer_of(judged, margin)$answer
    high <- ifelse(is.na(part$reason), part$bound_high, Inf)
    at <- which.max(replace(high, is.na(high), Inf))
    data.frame(agent = part$agent[1], interval_s = part$interval_s[1], answer = answer,
               worst = panel_name(part[at, ]), worst_high = if (is.finite(high[at])) high[at] else NA_real_)
  })
  steps <- bind_rows(steps)
  steps <- steps[order(steps$agent, -steps$interval_s), ]
  steps$safe <- as.logical(stats::ave(steps$answer == "pass", steps$agent,
                                      FUN = function(pass) cumprod(pass) == 1))
  rownames(steps) <- NULL
  steps
}

safe_intervals <- function(steps) {
  bind_rows(lapply(split(steps, in_order(steps$agent)), function(part) {
    safe <- part$interval_s[part$safe]
    data.frame(agent = part$agent[1], interval_s = if (length(safe) > 0) min(safe) else NA_real_,
               answer = if (length(safe) > 0) "pass" else part$answer[1])
  }))
}

sweep_sentences <- function(sweep) {
  confidence <- format_confidence(sweep$alpha)
  if (is.null(sweep$margin)) {
    worst <- bind_rows(lapply(split(sweep$rows, in_order(sweep$rows$agent)),
                              function(part) part[which.max(part$estimate), ]))
    return(sprintf(
      "%s costs most at %s: %s is slowed by %s %% %s; give a margin to learn which interval is safe.",
      worst$agent, format_time(worst$interval_s), panel_name(worst), format_effect(worst$estimate),
      format_interval(worst$ci_low, worst$ci_high)
    ))
  }
  margin <- format_level(sweep$margin)
  vapply(seq_len(nrow(sweep$safe)), function(i) {
    safe <- sweep$safe[i, ]
    steps <- sweep$steps[sweep$steps$agent == safe$agent, ]
    stop <- steps[!steps$safe, ][1, ]
    why <- if (is.na(stop$interval_s)) {
      "that is the shortest that was run"
    } else if (stop$answer == "fail") {
      sprintf("at %s it is above", format_time(stop$interval_s))
    } else {
      sprintf("at %s this run cannot tell (%s: %s)", format_time(stop$interval_s), stop$worst,
              if (is.na(stop$worst_high)) {
                undecided_reason(sweep$rows, stop)
              } else {
                paste("up to", percent_of(stop$worst_high))
              })
    }
    if (!is.na(safe$interval_s)) {
      sprintf(
        paste0("%s: sampling every %s or less often keeps every operation that was run below %s %% with %s ",
               "confidence; %s."),
        safe$agent,
        format_time(safe$interval_s),
        margin,
        confidence,
        why
      )
    } else if (safe$answer == "fail") {
      sprintf("%s: no interval that was run is safe: at %s, the longest, it is above %s %%.", safe$agent,
              format_time(stop$interval_s), margin)
    } else sprintf("%s: no interval that was run is shown to be below %s %%: %s.", safe$agent, margin, why)
  }, "")
}

word_intervals <- function() {
  list(
    operands = "DIR...",
    options = c("alpha", "power", "margin"),
    tables = estimates_or_rows,
    run = analyze_intervals,
    question = "How often may the agent sample?",
    sentences = function(analysis) {
      interval_sweep(analysis$campaign, analysis$margin, analysis$alpha, analysis$power)$sentences
    },
    help = c(
      paste0("slowdown by an agent's sampling interval, and with --margin the shortest interval that is ",
             "safe; then status"),
      "0: there is one, 1: none is, 3: cannot tell"
    )
  )
}

# Why the operation that decides a step has no verdict: its bound is then none.
undecided_reason <- function(rows, step) {
  mine <- rows$agent == step$agent & rows$interval_s == step$interval_s & panel_name(rows) == step$worst
  sub(": .*", "", stats::na.omit(rows$reason[mine])[1])
}

analyze_intervals <- function(operands, values, form) {
  o <- tested_options(with_asked_margin(values, operands))
  sweep <- interval_sweep(read_campaign(operands), o$margin, o$alpha, o$power)
  answered(
    form,
    values$table,
    c(o[c("alpha", "power")], list(margin_percent = o$margin), pick(sweep, c("answer", "safe")),
      list(sentences = texts(sweep$sentences), intervals = sweep$steps, model = sweep$model)),
    list(estimates = intervals_estimates(sweep),
         rows = sweep$rows[setdiff(names(sweep$rows), c("se", "df"))]),
    sweep$notes,
    list(intervals_part(sweep)),
    intervals_view(sweep, operands),
    c(sweep$sentences, sweep$notes),
    if (!is.null(values$margin)) sweep$answer
  )
}
