# Treatments from outside (noiselab-detect --arms on:external=NAME): they have a name, and no level.

agent_launches <- function(..., launches = 8, env = parent.frame()) {
  local_campaign(external = "slurm-accounting", design = "launches", launches = launches, pairs = 1, ...,
                 env = env)
}
agent_pairs <- function(..., env = parent.frame()) {
  local_campaign(external = "agent-1s", pairs = 60, ..., env = env)
}
both <- c("time", "preempted")

test_that(paste0("rows without a level are a treatment that is above every level and has a name only, and ",
                 "each channel has its verdict"), {
  campaign <- read_campaign(agent_launches(slowdown_percent = 2))
  for (rows in campaign[c("rows", "hist")]) {
    on <- unique(as.data.frame(rows)[rows$arm == "on", c("level_requested_percent", treatment_columns)])
    expect_equal(
      unlist(lapply(on, as.character)),
      c(level_requested_percent = "Inf", kind = "slurm-accounting", pattern = "none", placement = "none",
        phase = "none")
    )
  }
  expect_equal(campaign$notes, character())
  verdicts <- analyze_campaign(campaign)$verdicts
  expect_setequal(verdicts$channel, c("time", "preempted", "detour", "base", "steal"))
  time <- verdicts[verdicts$channel == "time", ]
  expect_equal(time$verdict, "detected")
  expect_equal(time$estimate, 2, tolerance = 0.15)
  expect_true(all(is.finite(verdicts$detection_limit) | !is.na(verdicts$reason)))
})

test_that("a missing level is damage where the launch has levels, and in an off row", {
  for (case in list(list(local_campaign(pairs = 12, levels_percent = 5), ",on,"),
                    list(agent_pairs(), ",off,"))) {
    file <- halves_of(case[[1]])
    line <- grep(case[[2]], readLines(file))[1]
    edit_cells(file, line, level_requested_percent = "")
    expect_error(read_campaign(case[[1]]),
                 sprintf("halves.csv:%d: level_requested_percent is empty, wanted a number", line),
                 class = "nl_error_damaged")
  }
})

test_that("thresholds say that there is no level, in data, text and report, and amplification needs none", {
  analysis <- analyze_campaign(read_campaign(agent_pairs(slowdown_percent = 3)), channels = both)
  expect_equal(analysis$amplification$amplification, 1.5, tolerance = 0.05)
  rows <- analysis$thresholds
  expect_true(all(is.na(c(rows$med_percent, rows$lod_percent))))
  expect_equal(unique(c(rows$med_reason, rows$lod_reason)), "the treatment has no level")
  expect_match(format_verdicts(analysis),
               "no dose-response, threshold or level of agent-1s: the treatment has no level", all = FALSE)
  expect_false(any(grepl("Inf|NaN|\\bNA\\b", format_verdicts(analysis))))
  page <- page_of(analysis)
  expect_match(page, "agent-1s slows barrier by [0-9]", ignore.case = TRUE)
  expect_match(page, "No dose-response, threshold or level of [^:]*: the treatment has no level")
  expect_false(grepl(">(Inf|NaN|NA)<", page))
})

test_that("JSON and CSV have no level where there is none, and --level does not apply", {
  dir <- agent_pairs()
  json <- json_of(dir)$verdicts
  csv <- utils::read.csv(text = status_of("noiselab-analyze", dir, "--csv")$out)
  expect_true(all(is.na(c(json$level_requested_percent, csv$level_requested_percent))))
  expect_equal(unique(c(json$kind, csv$kind)), "agent-1s")
  expect_refused("noiselab-analyze", c(dir, "--level", "1"), "have no level")
})

test_that("plots label it by its name, and those by level have nothing to draw", {
  analysis <- analyze_campaign(read_campaign(agent_pairs(launches = 2)), channels = both)
  expect_null(plot_dose(analysis, draw = FALSE))
  expect_equal(unique(plot_forest(analysis, draw = FALSE)$label), "agent-1s")
  built <- built_plots(analysis)
  expect_true(all(c("forest", "nodes", "tail") %in% vapply(built, `[[`, "", "name")))
  for (one in built) {
    expect_false(grepl("Inf|\\bNA\\b|- %", one$alt), label = paste(one$name, one$alt))
    # as it is written
    expect_false(any(c("Inf", "-Inf") %in% unlist(lapply(without_levels(one$frame), as.character))),
                 label = one$name)
  }
})

test_that("beside a load with levels it is a treatment like the others", {
  dir <- local_campaign(pairs = 12, levels_percent = c(0, 1, 5), launches = 2, prefix = "load")
  simulate_campaign(dir, external = "agent-1s", pairs = 12, launches = 2, slowdown_percent = 3,
                    prefix = "agent", seed = 2)
  analysis <- analyze_campaign(read_campaign(dir), margin = 20, channels = both)
  expect_setequal(plot_forest(analysis, draw = FALSE)$label, c("agent-1s", "spin, 1 %", "spin, 5 %"))
  text <- format_verdicts(analysis)
  expect_match(text, "^  kind agent-1s:", all = FALSE)
  expect_match(text, "no level", all = FALSE)
  expect_silent(page_of(analysis))
})

test_that("two campaigns with it are compared: the slowdown of launches of one arm by their sets", {
  a <- agent_launches(slowdown_percent = 1, seed = 1, prefix = "a")
  b <- agent_launches(slowdown_percent = 4, seed = 2, prefix = "b")
  got <- compare_campaigns(read_campaign(a), read_campaign(b))
  slow <- got$rows[got$rows$family == "slowdown", ]
  expect_equal(slow$verdict, "more sensitive")
  expect_equal(slow$effect, 100 * (1.04 / 1.01 - 1), tolerance = 0.2)
  expect_true("slowdown slurm-accounting" %in% comparison_parts(got)[[1]]$table$columns$measure$text)
})

test_that("every start of a launch under it is read and printed, with its name and without a level", {
  dir <- local_campaign(external = "agent-1s", pairs = 4, start = "window", half_period_ns = 6e4,
                        raw = "starts.bin")
  on <- subset(
    utils::read.csv(text = status_of("noiselab-analyze", "starts", dir, "--csv", "--table", "raw")$out),
    arm == "on"
  )
  expect_equal(unique(on$kind), "agent-1s")
  expect_true(all(is.na(on$level_requested_percent)))
})
