# need an agent's files, or algorithms: tested by themselves
of_agents <- grep("^(agent-|intervals|pareto)", plot_table()$name, value = TRUE)

# n, the unit it counts, alpha; and where an interval or band is drawn, what it is.
expect_labels <- function(drawn, name) {
  words <- gsub("\\s+", " ", paste(drawn$labels$subtitle, drawn$labels$caption))
  says <- function(pattern, what) {
    expect_match(
      words, pattern,
      info = sprintf("plot %s: its subtitle or caption has to state %s (plot_words())", name, what)
    )
  }
  says("n = [0-9][0-9 ]*( to [0-9 ]+)?", "n = NUMBER")
  says("\\b(pairs?|launch|launches|halves|operations|starts)\\b", "what n counts")
  says("alpha", "alpha, or that it does not apply")
  geoms <- unlist(lapply(drawn$layers, function(layer) class(layer$geom)[1]))
  if (any(geoms %in% c("GeomRibbon", "GeomLinerange", "GeomErrorbar"))) {
    says("[0-9.]+ % (confidence interval|band|interval)|simultaneous [0-9.]+ % band",
         "what its band or interval is")
    says("alpha [0-9.]+", "alpha")
  } else if (!any(grepl("interval", words))) says("No bands?|no band|No test", "that it has no band or test")
  for (axis in c("x", "y")) expect_true(is.null(drawn$labels[[axis]]) || nzchar(drawn$labels[[axis]]))
  expect_lte(max(nchar(strsplit(paste(drawn$labels$caption, drawn$labels$subtitle, sep = "\n"), "\n")[[1]])),
             140)
}

test_that("every plot of an analysis is in the table", {
  own <- Filter(function(name) is.function(get(name, asNamespace("noiselab"))),
                ls(asNamespace("noiselab"), pattern = "^plot_"))
  own <- Filter(function(name) "draw" %in% names(formals(name)), own)
  tabled <- lapply(plots(), `[[`, "draw")
  for (name in own) {
    expect_true(any(vapply(tabled, identical, TRUE, get(name))),
                info = paste(name, "has no entry in plots() of plot-table.R"))
  }
  for (plot in plots_of("noise")) {
    expect_true(
      plot$asks %in% names(lead_plots),
      info = sprintf("plot %s: asks names no section of the report (%s)", plot$name,
                     toString(names(lead_plots)))
    )
  }
})

# Every plot that this campaign has data for, built; test-report.R draws them.
expect_plots <- function(...) {
  analysis <- analyze_campaign(read_campaign(local_campaign(pairs = 10, ...)),
                               channels = c("time", "preempted"))
  rows <- Filter(function(plot) !plot$name %in% of_agents, plots_of("noise"))
  for (plot in rows) {
    frame <- plot$draw(analysis, draw = FALSE)
    expect_gt(nrow(frame), 0)
    drawn <- draw_frame(plot, analysis, frame)
    expect_s3_class(ggplot2::ggplot_build(drawn), "ggplot_built")
    expect_labels(drawn, plot$name)
    # not the names of what was drawn, but what it shows
    expect_match(plot$alt(frame), "\\.$", info = paste0("plot ", plot$name, ": the words of its alt"))
  }
  vapply(rows, `[[`, "", "name")
}

test_that("every plot of the table gives data and states n", {
  drawn <- c(expect_plots(launches = 2, levels_percent = c(0, 5)),
             expect_plots(launches = 2, levels_percent = c(0, 5), kinds = c("spin", "cache")),
             expect_plots(launches = 3, levels_percent = 5, start = "window", half_period_ns = 6e4))
  # each but for those that are tested by themselves
  expect_setequal(drawn, setdiff(vapply(plots_of("noise"), `[[`, "", "name"), of_agents))
  expect_equal(plot_table()$name, vapply(plots(), `[[`, "", "name"))
})

test_that("plots without data are NULL", {
  dir <- local_campaign(pairs = 10, levels_percent = 5)
  unlink(file.path(dir, "sim-1", "hist.csv"))
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  expect_null(plot_tail(analysis))
  expect_null(plot_preempted(analysis))
})

test_that("a long trace is thinned but keeps its slowest halves", {
  campaign <- simulated_campaign(pairs = 2500, levels_percent = 5)
  frame <- trace_panel(seq_len(nrow(campaign$rows)), campaign$rows)
  expect_lte(nrow(frame), 4300)
  expect_gt(frame$kept_one_in[1], 1)
  slow <- sort(campaign$rows$wall_ns / campaign$rows$operations / 1000, decreasing = TRUE)[1:200]
  expect_true(all(slow %in% frame$time_us))
})

test_that(paste0("panels are in the order of the operations as given, with several treatments each with a ",
                 "treatment, in the order asked for"), {
  levels_of <- function(plots, ...) {
    dir <- local_campaign(pairs = 10, launches = 2, operations = c("reduce", "barrier"), levels_percent = 5,
                          ...)
    analysis <- analyze_campaign(read_campaign(dir), channels = c("time", "preempted"))
    lapply(plots, function(plot) levels(plot(analysis)$data$panel))
  }
  # nodes have a panel for each treatment
  all <- lapply(Filter(function(plot) !plot$name %in% c("nodes", of_agents), plots_of("noise")), `[[`, "draw")
  for (panels in levels_of(all)) {
    expect_equal(panels, c("reduce", "barrier"))
  }
  for (panels in levels_of(list(plot_dose, plot_preempted, plot_tail), kinds = c("spin", "cache"))) {
    expect_equal(panels, c("reduce, spin", "reduce, cache", "barrier, spin", "barrier, cache"))
  }
})

test_that("of several treatments the off curve stands in each panel, the same", {
  campaign <- read_campaign(local_campaign(pairs = 10, levels_percent = 5, kinds = c("spin", "cache")))
  off <- subset(plot_tail(analyze_campaign(campaign, channels = "time"), draw = FALSE), arm == "off")
  parts <- split(off$probability, as.character(off$panel))
  expect_equal(names(parts), c("barrier, cache", "barrier, spin"))
  expect_equal(parts[[1]], parts[[2]])
})

test_that("inconclusive is a class of its own, in the plot and in its text", {
  drawn <- expect_silent(plot_dose(analyze_campaign(simulated_campaign(pairs = 4, levels_percent = 5),
                                                    channels = "time")))
  expect_silent(ggplot2::ggplotGrob(drawn)) # one level, without a test
  expect_equal(drawn$data$series, "inconclusive")
  expect_match(drawn$labels$caption, "inconclusive")
  expect_match(alt_dose(drawn$data, "Slowdown, %"), "barrier: inconclusive at 5 %")
})

test_that("the pseudo-log axis is 0 at 0, odd, and grows by 1 per decade", {
  expect_equal(pseudo_log(0, 0.1), 0)
  expect_equal(pseudo_log(-2, 0.1), -pseudo_log(2, 0.1))
  expect_equal(pseudo_log(1000, 0.01) - pseudo_log(100, 0.01), 1, tolerance = 1e-6)
  expect_true(0 %in% pseudo_log_breaks(c(-1, 5), 0.1))
  # few decades get 2 and 5 as well
  expect_equal(pseudo_log_breaks(c(-5, 5), 1), c(-5, -2, -1, 0, 1, 2, 5))
})

test_that("the share at or above each bin is counted from the tail", {
  # bins of several launches are added
  got <- ccdf_from_hist(c(20, 10, 20, 30), c(5, 90, 4, 1))
  expect_equal(got, data.frame(lo_ns = c(10, 20, 30), count = c(90, 9, 1), probability = c(1, 0.1, 0.01)))
  expect_equal(c(nrow(ccdf_from_hist(numeric(), numeric())), ccdf_from_hist(5, 3)$probability), c(0, 1))
})
