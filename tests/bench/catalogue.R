# catalogue.R ROWS.csv PAGE.md PICTURE.png: puts the table of what agents cost between the marks of the
# page, and draws what they cost
# at scale against their CPU time. Rows of one agent, configuration, interval and machine are runs of the
# same thing: where their intervals
# overlap they are one line (mean, and from the lowest to the highest end), else each is a line of its own,
# which says so.
arguments <- commandArgs(trailingOnly = TRUE)
rows <- utils::read.csv(arguments[1], comment.char = "#", check.names = FALSE, colClasses = "character")
numbers <- c("interval_s", "cpu_percent", "burst_us", "period_s", "slowdown_percent", "slowdown_low",
  "slowdown_high", "beyond_percent",
             "beyond_below_percent", "memory_mib", "wakeups_per_s", "asker_percent", "scale_1ms_percent",
             "scale_1ms_low",
               "scale_1ms_high", "scale_10ms_percent",
             "scale_10ms_low", "scale_10ms_high", "quietest_s", "seconds", "cpus_of_machine")
for (name in numbers) rows[[name]] <- suppressWarnings(as.numeric(rows[[name]]))

# ends that are not known reach as far as they can
overlap <- function(low, high) {
  low[is.na(low)] <- -Inf
  high[is.na(high)] <- Inf
  max(low) <= min(high)
}
first <- function(x) x[[1]]
middle <- function(x) if (all(is.na(x))) NA_real_ else mean(x, na.rm = TRUE)
least <- function(x) if (anyNA(x)) NA_real_ else min(x)
most <- function(x) if (anyNA(x)) NA_real_ else max(x)
join_runs <- function(d) {
  d$runs <- 1L
  d$remark <- ""
  if (nrow(d) == 1) return(d)
  if (!overlap(d$slowdown_low, d$slowdown_high)) {
    d$remark <- sprintf("run %d of %d: their intervals do not overlap", seq_len(nrow(d)), nrow(d))
    return(d)
  }
  one <- d[nrow(d), ]
  for (name in intersect(numbers, c("cpu_percent", "burst_us", "slowdown_percent", "memory_mib",
    "wakeups_per_s", "asker_percent", "scale_1ms_percent", "scale_10ms_percent")))
    one[[name]] <- middle(d[[name]])
  for (name in c("slowdown_low", "scale_1ms_low", "scale_10ms_low")) one[[name]] <- least(d[[name]])
  for (name in c("slowdown_high", "scale_1ms_high", "scale_10ms_high", "beyond_below_percent",
    "quietest_s")) one[[name]] <- most(d[[name]])
  one$runs <- nrow(d)
  one
}
key <- paste(rows$agent, rows$configuration, rows$interval_s, rows$machine, sep = "\r")
lines <- do.call(rbind, lapply(split(rows, factor(key, unique(key))), join_runs))

# ---- the table ----

three <- function(x) ifelse(is.na(x), "", vapply(x, function(v) if (is.na(v)) "" else formatC(signif(v, 3),
  format = "fg", big.mark = ","), ""))
# a figure with its interval; an end that is open is said
span <- function(value, low, high) {
  text <- ifelse(is.na(value) & is.na(low), "not known",
          ifelse(is.na(high) & !is.na(low), sprintf("at least %s", three(low)),
          ifelse(is.na(low), three(value), sprintf("%s (%s to %s)", three(value), three(low), three(high)))))
  trimws(text)
}
duration <- function(us) ifelse(is.na(us), "", ifelse(us < 1000, paste(three(us), "µs"),
  paste(three(us / 1000), "ms")))
seconds <- function(s) ifelse(is.na(s), "", ifelse(s == 0, "continuous", paste(three(s), "s")))
is_agent <- lines$agent != "placebo"
lines <- lines[order(!is_agent, -ifelse(is.na(lines$scale_1ms_low), -1, lines$scale_1ms_low)), ]
cells <- function(d) data.frame(
  Agent = gsub("_", "-", d$agent), Version = sub("^[0-9]:", "", d$version_of_agent),
    Configuration = d$configuration,
  Every = paste0(seconds(d$interval_s), ifelse(d$is_default == "yes" & d$interval_s > 0, " (default)", "")),
  `CPU %` = three(d$cpu_percent), Burst = ifelse(is.na(d$burst_us), "none seen", duration(d$burst_us)),
    CPUs = ifelse(d$cpus == "", "", d$cpus),
  `Slowdown %` = span(d$slowdown_percent, d$slowdown_low, d$slowdown_high), By = d$by,
  `Asker, CPU %` = ifelse(is.na(d$asker_percent) | d$asker_percent == 0, "", three(d$asker_percent)),
  `Other effects, below %` = ifelse(is.na(d$beyond_below_percent), "", three(d$beyond_below_percent)),
  `1,000 nodes, 1 ms: %` = span(d$scale_1ms_percent, d$scale_1ms_low, d$scale_1ms_high),
  `1,000 nodes, 10 ms: %` = span(d$scale_10ms_percent, d$scale_10ms_low, d$scale_10ms_high),
  `Below 1 % from` = ifelse(is.na(d$quietest_s), "", seconds(d$quietest_s)),
  Memory = ifelse(is.na(d$memory_mib), "", paste(three(d$memory_mib), "MiB")),
    `Wake-ups/s` = three(d$wakeups_per_s),
  `Also runs more` = d$behalf, Runs = paste0(d$runs, ifelse(d$remark == "", "", paste0(" (", d$remark, ")"))),
  check.names = FALSE)
as_markdown <- function(d) c(paste0("| ", paste(names(d), collapse = " | "), " |"), paste0("|",
  strrep(" --- |", ncol(d))),
                             apply(d, 1, function(line) gsub(" +", " ", paste0("| ", paste(line,
                               collapse = " | "), " |"))))
made <- unlist(lapply(unique(lines$machine), function(machine) {
  d <- lines[lines$machine == machine, ]
  table <- cells(d)
  empty <- vapply(table, function(column) all(column == ""), NA)
  c("", sprintf("### %s, %d CPUs", machine, d$cpus_of_machine[1]), "",
    sprintf("Measured on %s; each run lasted %s s.", paste(unique(range(substr(d$date, 1, 10))),
      collapse = " to "), paste(unique(d$seconds), collapse = " or ")), "",
    as_markdown(table[!empty]))
}))
page <- readLines(arguments[2])
begin <- which(page == "<!-- made by make catalogue: begin -->")
end <- which(page == "<!-- made by make catalogue: end -->")
if (length(begin) != 1 || length(end) != 1 || begin > end) stop(arguments[2],
  ": has not the two marks of make catalogue", call. = FALSE)
writeLines(c(page[seq_len(begin)], made, "", page[end:length(page)]), arguments[2])

# ---- the picture: one point an agent ----

# of the machine that was measured last: rows of several are not to be compared
newest <- lines$machine[order(lines$date, decreasing = TRUE)[1]]
points <- lines[lines$machine == newest, ]
points <- points[points$agent != "placebo" & !is.na(points$cpu_percent) & points$cpu_percent > 0 &
  !is.na(points$scale_1ms_percent) & points$scale_1ms_percent > 0, ]
points$label <- paste0(gsub("_", "-", points$agent), ifelse(points$interval_s > 0, paste0(", ",
  points$interval_s, " s"), ""))
points$end <- ifelse(is.na(points$scale_1ms_high), points$scale_1ms_percent, points$scale_1ms_high)
points$reach <- factor(is.na(points$scale_1ms_high), c(FALSE, TRUE), c("interval with two ends",
  "at least: no upper end"))
# labels do not lie on each other: from below upwards, each at least a line above the one before it where
# their points are near
points <- points[order(points$scale_1ms_percent), ]
points$at <- log10(points$scale_1ms_percent)
lines_of_text <- diff(range(log10(c(points$scale_1ms_low, points$end)), na.rm = TRUE)) / 32
for (i in seq_len(nrow(points))[-1]) {
  near <- which(abs(log10(points$cpu_percent[seq_len(i - 1)]) - log10(points$cpu_percent[i])) < 0.55)
  if (length(near)) points$at[i] <- max(points$at[i], max(points$at[near]) + lines_of_text)
}
percent <- function(x) paste0(formatC(x, format = "fg", big.mark = ","), " %")
picture <- ggplot2::ggplot(points, ggplot2::aes(cpu_percent, scale_1ms_percent, shape = reach)) +
  ggplot2::geom_linerange(ggplot2::aes(ymin = scale_1ms_low, ymax = end), colour = "grey60") +
  ggplot2::geom_segment(ggplot2::aes(x = cpu_percent * 1.03, xend = cpu_percent * 1.12, yend = 10^at),
    colour = "grey80", linewidth = 0.3) +
  ggplot2::geom_point(size = 2.4, colour = "#0072b2", fill = "white") +
  ggplot2::geom_text(ggplot2::aes(x = cpu_percent * 1.14, y = 10^at, label = label), hjust = 0, size = 3) +
  ggplot2::scale_x_log10(labels = percent, expand = ggplot2::expansion(c(0.05, 0.28))) +
  ggplot2::scale_y_log10(labels = percent) +
  ggplot2::scale_shape_manual(values = c(16, 24), drop = FALSE) +
  ggplot2::labs(x = "CPU time of the agent, of one CPU",
    y = "Slowdown of 1,000 nodes that synchronise every 1 ms", shape = NULL,
                title = "What agents cost at scale",
                  subtitle = "Projected from bursts that were recorded on one node; line: interval") +
  ggplot2::theme_minimal(base_size = 12) + ggplot2::theme(legend.position = "bottom",
    panel.grid.minor = ggplot2::element_blank())
ggplot2::ggsave(arguments[3], picture, width = 8, height = 6, dpi = 110, bg = "white")
