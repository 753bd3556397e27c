# Chance that a run like this one detects a slowdown, by its true size, at this run's standard error and
# degrees of freedom, and with half and double the pairs (or launches). Data: `panel`, `times` (0.5, 1, 2),
# `n`, `unit`, `slowdown_percent` (true), `power`, `limit_percent` (of this run), `se_log`, `df`,
# `level_requested_percent` (whose scatter it is). NULL without the time channel or a known scatter. Currie,
# L. A. (1968) Analytical Chemistry 40, 586-593.
plot_power <- function(analysis, draw = TRUE) {
  frame <- power_data(analysis)
  if (!draw || is.null(frame)) return(frame)
  frame$panel <- panel_factor(frame$panel, analysis)
  frame$series <- factor(power_words[match(frame$times, c(0.5, 1, 2))], power_words)
  limits <- frame[!duplicated(frame$panel) & !is.na(frame$limit_percent), ]
  limits$power <- rep(analysis$power, nrow(limits))
  limits$label <- sprintf("%s %%", plain(limits$limit_percent))
  looks <- function(...) stats::setNames(c(...), power_words)
  ggplot2::ggplot(frame, ggplot2::aes(slowdown_percent, power)) +
    ggplot2::geom_hline(yintercept = c(analysis$alpha, analysis$power), colour = "grey55", linewidth = 0.3,
                        linetype = "22") +
    ggplot2::geom_segment(ggplot2::aes(xend = slowdown_percent, x = limit_percent, yend = 0),
                          data = transform(limits, slowdown_percent = limit_percent), colour = "grey35",
                          linewidth = 0.35) +
    ggplot2::geom_line(ggplot2::aes(colour = series, linetype = series, linewidth = series)) +
    ggplot2::geom_point(ggplot2::aes(x = limit_percent), data = limits, shape = 24, size = 2.6,
                        fill = okabe_ito[["vermillion"]]) +
    ggplot2::geom_text(ggplot2::aes(x = limit_percent, label = label), data = limits, y = 0.03, hjust = -0.12,
                       size = 3, colour = "grey20") +
    ggplot2::scale_colour_manual(
      NULL, values = looks(okabe_ito[["orange"]], "black", okabe_ito[["blue"]])
    ) + ggplot2::scale_linetype_manual(NULL, values = looks("42", "solid", "62")) +
    ggplot2::scale_linewidth_manual(NULL, values = looks(0.45, 0.9, 0.45)) +
    ggplot2::scale_x_log10(labels = number_labels) +
    ggplot2::scale_y_continuous(
      limits = c(0, 1), breaks = c(0, 0.25, 0.5, 0.75, analysis$power)
    ) + ggplot2::guides(colour = ggplot2::guide_legend(keywidth = 2.4)) + ggplot2::facet_wrap(~panel) +
    theme_noiselab() +
    plot_words(
      "Power: chance of detecting a slowdown",
      power_subtitle(frame),
      paste(
        sprintf(
          paste("One-sided test at alpha %g (lower dashes). Triangle: detection limit, found with",
                "power %g (upper dashes)."),
          analysis$alpha,
          analysis$power
        ),
        paste0("Noncentral t at this run's standard error; half (rounded down) and double: with root n, if ",
               "the scatter"),
        "stays as it was. No band: the curves take the scatter of this run as the true one."
      ),
      "true slowdown, %",
      "power"
    )
}

power_words <- c("half as many", "this run", "twice as many")

power_subtitle <- function(frame) {
  this <- frame[frame$times == 1, ]
  by <- vapply(split(this, in_order(this$scope)), function(rows) {
    one <- c(launches = "launch", pairs = "pair")[[rows$unit[1]]]
    sprintf("scope: %s; unit of inference: the %s, n = %s %s", rows$scope[1], one, format_range(rows$n),
            rows$unit[1])
  }, "")
  paste(c("time channel", by), collapse = "; ")
}

# Per operation and size the scatter of the level above 0 whose limit is the largest: what every level of
# the run would have found.
power_data <- function(analysis) {
  rows <- analysis$verdicts
  rows <- rows[rows$channel == "time", ]
  if (NROW(rows) == 0) return(NULL)
  rows <- main_rows(rows)
  rows$se <- rows$se_effect / (100 + rows$estimate)
  rows <- rows[!is.na(rows$se) & rows$se > 0 & !is.na(rows$raw_df), ]
  # A panel has one scope: launches where any were pooled.
  across <- rows$scope == scope_campaign
  rows <- rows[across | !panel_name(rows) %in% panel_name(rows)[across], ]
  if (nrow(rows) == 0) return(NULL)
  bind_rows(lapply(split(rows, in_order(panel_name(rows))), function(part) {
    if (any(part$level_requested_percent > 0)) part <- part[part$level_requested_percent > 0, ]
    power_curves(part[order(-part$detection_limit)[1], ], analysis)
  }))
}

power_curves <- function(row, analysis) {
  launches <- row$scope == scope_campaign
  n <- if (launches) row$n_launches else row$n_pairs
  df <- power_df(row, analysis)
  limit <- row$detection_limit
  # Ranks have no standard error of their own: the one of a t test that has their limit.
  if (row$test_kind == "signed_rank" && isTRUE(limit > 0)) {
    df <- n - 1
    row$se <- log1p(limit / 100) / detection_factor(df, analysis$alpha, analysis$power)
  }
  runs <- data.frame(times = c(0.5, 1, 2))
  runs$n <- floor(n * runs$times)
  # Welch's count both arms, so they grow as n does.
  welch <- row$test_kind == "welch"
  # within a launch at most 256 groups
  runs$df <- ifelse(
    runs$times == 1,
    df,
    if (welch) {
      floor(df * runs$times)
    } else if (launches) {
      runs$n - 1
    } else {
      pmin(255, runs$n - 1)
    }
  )
  runs <- runs[runs$df >= 1, ]
  runs$se <- row$se * sqrt(n / runs$n)
  reach <- 100 * expm1(mapply(detection_limit, runs$se, runs$df, analysis$alpha, analysis$power))
  slowdown <- exp(seq(log(min(reach) / 8), log(max(reach[runs$times >= 1]) * 2.5), length.out = 81))
  bind_rows(lapply(seq_len(nrow(runs)), function(i) {
    data.frame(panel = panel_name(row), scope = row$scope, times = runs$times[i], n = runs$n[i],
               unit = if (launches) "launches" else "pairs", slowdown_percent = slowdown,
               power = effect_power(log1p(slowdown / 100), runs$se[i], runs$df[i], analysis$alpha),
               limit_percent = limit, se_log = runs$se[i], df = runs$df[i],
               level_requested_percent = row$level_requested_percent)
  }))
}

# Degrees of freedom of the test. Welch's are not those of the noisy launches alone: they follow from the
# limit.
power_df <- function(row, analysis) {
  if (!row$test_kind == "welch" || is.na(row$detection_limit)) return(row$raw_df)
  factor <- log1p(row$detection_limit / 100) / row$se
  off <- function(df) detection_limit(1, df, analysis$alpha, analysis$power) - factor
  if (off(4000) >= 0) return(Inf)
  if (off(1) <= 0) return(1)
  stats::uniroot(off, c(1, 4000), tol = 1e-6)$root
}

alt_power <- function(frame) {
  alt_panels(frame, "Power against the true slowdown", function(rows) {
    this <- rows[rows$times == 1, ]
    half <- this$slowdown_percent[which.min(abs(this$power - 0.5))]
    sprintf("0.5 at %s %%, detection limit %s %% with %s %s", plain(half),
            plain(this$limit_percent[1]), format_count(this$n[1]), this$unit[1])
  })
}
