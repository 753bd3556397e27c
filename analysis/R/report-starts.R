# The report's tables on synchronised starts, and the analysis where there is nothing to compare.

report_starts <- function(campaign) {
  if (!has_starts(campaign)) return(NULL)
  list(starts_quality_table(campaign), late_table(campaign, "rank"), late_table(campaign, "node"), clocks_table(campaign))
}

starts_quality_table <- function(campaign) {
  table <- start_quality(campaign)
  us <- function(x) format_effect(x / 1000, FALSE)
  factors <- varying_factors(table[table$arm == "on", ])
  html_table(c(list(
    operation = table$operation, bytes = format_count(table$bytes), ranks = format_count(table$ranks), start = table$mode,
    arm = table$arm), as.list(table[factors]), list(
    "level %" = format_level(table$level_requested_percent), starts = format_count(table$starts),
    "late %" = format_effect(table$late_percent, FALSE), "overshoot p50 \u00b5s" = us(table$overshoot_p50_ns),
    "p99" = us(table$overshoot_p99_ns), "max" = us(table$overshoot_max_ns), "time p50 \u00b5s" = us(table$global_p50_ns),
    "time p99" = us(table$global_p99_ns), "spread \u00b5s" = us(table$spread_ns),
    "between nodes %" = ifelse(is.na(table$between_percent), "-", sprintf("%.0f", table$between_percent))
  )), "How well starts began", paste("Overshoot: actual minus scheduled start, over ranks and starts. Time: last end minus scheduled start. Spread: mean of",
            "last minus first start. Between nodes: share of the variance of arrivals. Late starts are counted in everything."),
  text = c("operation", "start", "arm", factors))
}

late_table <- function(campaign, by, most = 20) {
  table <- late_ranks(campaign, by)
  if (is.null(table) || by == "node" && length(unique(table$host)) < 2) return(NULL)
  rest <- nrow(table) - most
  table <- utils::head(table, most)
  percent <- function(x) sprintf("%.4g", x)
  who <- if (by == "rank") list(rank = format_count(table$rank), CPU = format_count(table$cpu)) else {
    list("ranks on it" = format_count(table$node_ranks))
  }
  html_table(c(list("of ranks" = format_count(table$ranks), node = table$host), who, list(
    "expected %" = percent(table$expected_percent), "first to start %" = percent(table$first_starts_percent),
    "last to start %" = percent(table$last_starts_percent), "last to end %" = percent(table$last_ends_percent),
    "cost of late starts ms" = format_effect(table$start_cost_ns / 1e6, FALSE),
    "cost of late ends ms" = format_effect(table$end_cost_ns / 1e6, FALSE),
    "overshoot mean \u00b5s" = format_effect(table$overshoot_mean_ns / 1000, FALSE)
  )), paste0("Who was late, by ", by, ", the costliest first"),
  paste0("Share of the starts in which it was first or last; expected: if all were alike; cost: the time by which the last was behind the ",
         "second last, summed.",
             if (rest > 0) sprintf(" %d more: noiselab analyze starts --csv --table %ss.", rest, by)),
  text = "node")
}

clocks_table <- function(campaign, most = 20) {
  table <- clock_runs(campaign)
  if (is.null(table)) return(NULL)
  if (nrow(table) == 0) return(htmltools::tags$p("All ranks share one clock: there was nothing to synchronise."))
  rest <- nrow(table) - most
  table <- utils::head(table[order(-table$largest_residual_ns), ], most)
  html_table(list(
    launch = table$launch, node = table$host, rank = format_count(table$rank), method = table$method,
    synchronised = format_count(table$runs), "by residual" = format_count(table$by_residual),
    "offset first ms" = sprintf("%.6f", table$first_offset_ns / 1e6), "last ms" = sprintf("%.6f", table$last_offset_ns / 1e6),
    "drift ppm" = sprintf("%+.3f", table$drift_ppm), "RTT \u00b5s" = format_effect(table$shortest_rtt_ns / 1000, FALSE),
    "residual \u00b5s" = format_effect(table$largest_residual_ns / 1000, FALSE)
  ), "Clocks against that of rank 0",
  paste0("Offset at the first and the last synchronisation, drift of the last, shortest round trip, largest residual when checked right after.",
            if (rest > 0) sprintf(" %d more: noiselab analyze starts --csv --table clocks.", rest)),
  text = c("launch", "node", "method"))
}

# An analysis of launches that hold one arm only: nothing is compared, but starts can be looked at.
clean_analysis <- function(campaign, alpha) {
  check_probability(alpha, "alpha")
  arm <- unique(campaign$rows[["arm"]])
  structure(list(
    verdicts = data.frame(), thresholds = NULL, amplification = data.frame(), cost = data.frame(), contrasts = NULL,
    treatments = treatment_table(campaign),
    notes = c(sprintf("all rows are of arm %s: nothing is compared, there are no verdicts", arm), starts_notes(campaign)),
    alpha = alpha, power = 0.95, campaign = campaign, pairs = NULL
  ), class = "nl_analysis")
}

is_clean <- function(analysis) NROW(analysis$verdicts) == 0
