# What a terminal gets: at most 24 lines of 100 columns, whatever the campaign.
on_screen <- function(view) {
  lines <- view_lines(view)
  expect_lte(length(lines), 24)
  expect_lte(max(nchar(lines)), 100)
  lines
}

demo <- function(...) {
  do.call(
    simulated_campaign,
    utils::modifyList(
      c(
        quiet,
        list(pairs = 60, operations = c("allreduce", "alltoall", "barrier"),
             levels_percent = c(0, 0.01, 0.1, 1, 5), seed = 3)
      ),
      list(...)
    )
  )
}

delayedAssign("demo_analysis", analyze_campaign(demo()))

test_that(paste0("a campaign of the demo's size is answered on one screen: sentences, a row per operation ",
                 "and level, where the rest is"), {
  analysis <- demo_analysis
  lines <- on_screen(answer_view(analysis, "noiselab analyze --all DIR"))
  expect_match(
    lines[1],
    paste0("^All 3 operations are sensitive to a load of [0-9.]+ % of one CPU( or less)?: [0-9.]+ % slows ",
           "[a-z]+ by [0-9.]+ %")
  )
  expect_match(paste(lines[1:2], collapse = " "), "98 % interval [0-9.]+ to [0-9.]+")
  expect_equal(sum(grepl("^  (allreduce|alltoall|barrier) +(0.01|0.1|1|5) % ", lines)), 12)
  # a person finds the answer, its size and the table within ten lines
  expect_lte(grep("^  operation +level +slowdown % ", lines), 10)
  expect_match(lines[length(lines)], "noiselab analyze --all DIR$")
  row <- subset(analysis$verdicts, channel == "time" & operation == "barrier" & level_requested_percent == 5)
  expect_equal(
    sum(grepl(paste("barrier 5 %", format_effect(row$estimate), format_interval(row$ci_low, row$ci_high)),
              gsub(" +", " ", lines), fixed = TRUE)),
    1
  )
})

test_that("every row has its verdict as a closed word with its mark, and no reason", {
  campaign <- demo(slowdown_percent = 0)
  lines <- on_screen(answer_view(analyze_campaign(campaign, channels = c("time", "preempted"))))
  rows <- grep("^  (allreduce|alltoall|barrier) ", lines, value = TRUE)
  expect_true(all(grepl(
    "(\u25b2 detected|\u25b3 detected alone|\u25cb not detected|\u25c6 inconclusive)( |$)", rows
  )))
  expect_match(lines, "^! (POSITIVE CONTROL MISSED|BROKEN SET-UP)", all = FALSE)
  expect_match(paste(lines, collapse = " "),
               "No level was detected on .*; a slowdown of .* would have been detected with probability 0.95")
})

test_that("a reason stands once, with the rows it concerns", {
  analysis <- demo_analysis
  at <- analysis$verdicts$operation == "barrier"
  analysis$verdicts$reason[at] <- "the load was absent"
  analysis$verdicts$verdict[at] <- "inconclusive"
  lines <- paste(on_screen(answer_view(analysis)), collapse = " ")
  # in the answer, and with its rows
  expect_equal(lengths(regmatches(lines, gregexpr("the load was absent", lines))), 2)
  expect_match(lines, "inconclusive: barrier at 0.01 %, 0.1 %, 1 %, 5 %: the load was absent")
})

test_that(paste0("an answer against a margin begins with it, one by another channel than time is one, and ",
                 "nothing above level 0 has none"), {
  campaign <- demo()
  lines <- on_screen(answer_view(analyze_campaign(campaign, margin = 1, channels = c("time", "preempted"))))
  expect_match(lines[1], "^Margin of 1 %: fail, an effect is above it\\.$")
  expect_match(lines, "margin 1 %", all = FALSE)
  lines <- on_screen(answer_view(analyze_campaign(campaign, channels = "preempted")))
  expect_match(paste(lines[1:2], collapse = " "), "0.01 % raises preempted of allreduce by ")
  expect_null(answer_view(analyze_campaign(simulated_campaign(pairs = 20, levels_percent = 0, seed = 1))))
})

test_that("without Unicode there is no picture, and marks are ASCII", {
  analysis <- demo_analysis
  plain <- table_lines(answer_table(analysis, unicode = FALSE))
  expect_false(any(grepl("[^ -~]", plain)))
  expect_match(plain, "\\* detected", all = FALSE)
  expect_match(table_lines(answer_table(analysis, unicode = TRUE)), "\u2502.*\u25cf", all = FALSE)
})

test_that("the picture puts 0, the estimate and the ends of its interval where they belong", {
  one <- col_picture(c(0, 10), c(-1, 9), c(1, 11), c(FALSE, TRUE), unicode = TRUE, width = 18)
  expect_equal(unique(nchar(one$text)), 18)
  expect_match(one$text[1], "\u25cb")
  expect_match(one$text[2], "\u2502.*\u25cf")
  # the larger effect lies to the right
  expect_gt(regexpr("\u25cf", one$text[2]), regexpr("\u25cb", one$text[1]))
  expect_match(one$label, "0.*11 %$")
  expect_null(col_picture(NA_real_, NA_real_, NA_real_, FALSE, unicode = TRUE))
  expect_null(col_picture(1, 0, 2, TRUE, unicode = FALSE))
})

test_that("warnings are three at most, each once, and the rest are counted", {
  view <- new_view("It is so.", warnings = c("a", "b", "c", "d", "a"), notes = 2, command = "X")
  lines <- view_lines(view)
  expect_equal(grep("^! ", lines, value = TRUE), c("! a", "! b", "! c"))
  expect_equal(lines[length(lines)], "all tables and 3 more notes: X")
  # the table comes before the second warning
  view$table <- rep("row", 19)
  expect_equal(view_lines(view)[-(1:21)], c("", "! a", "all tables and 5 more notes: X"))
  # what does not fit is counted
  view$table <- rep("row", 40)
  expect_match(on_screen(view), "^  \\.\\.\\. and 22 more lines$", all = FALSE)
})

test_that(paste0("the programs print the answer, name the report where it stands, and all tables when ",
                 "asked; words of a shell are quoted"), {
  dir <- local_campaign(pairs = 20, levels_percent = c(0, 5), operations = c("barrier", "bcast"))
  short <- status_of("noiselab-analyze", dir)
  expect_equal(short$status, 0L)
  expect_lte(length(short$out), 24)
  all <- status_of("noiselab-analyze", dir, "--all")
  expect_equal(all$out, format_verdicts(analyze_campaign(read_campaign(dir))))
  expect_match(all$out[1], "^answer \\(this launch")
  expect_refused("noiselab-analyze", c(dir, "--all", "--json"), "--json and --all exclude each other")
  expect_null(report_beside(dir))
  writeLines("", file.path(dir, "report.html"))
  expect_equal(report_beside(paste0(dir, "/")), file.path(dir, "report.html"))
  expect_equal(all_command(c("a b", "c"), "agent"), "noiselab analyze agent --all 'a b' c")
})

test_that(paste0("what an agent costs is said first, then what it takes, and what would have been seen ",
                 "where nothing was found"), {
  campaign <- do.call(
    simulated_campaign,
    c(
      quiet,
      list(external = "collectd", slowdown_percent = 2, pairs = 60, operations = c("barrier", "bcast"),
           seed = 1)
    )
  )
  lines <- on_screen(answer_view(analyze_campaign(campaign)))
  expect_match(lines[1],
               "^collectd slows barrier by [0-9.]+ % \\(98 % interval [0-9.]+ to [0-9.]+\\) and bcast by ")
  expect_match(lines, "^It takes [0-9. to]+ % of one CPU from the ranks of a node", all = FALSE)
  campaign <- do.call(simulated_campaign,
                      c(quiet, list(external = "collectd", slowdown_percent = 0, pairs = 60, seed = 1)))
  expect_match(
    paste(
      on_screen(answer_view(analyze_campaign(campaign, channels = "time")))[
        1:2
      ],
      collapse = " "
    ),
    paste0("^collectd was not found to slow barrier; a slowdown of [0-9.]+ % would have been detected with ",
           "probability 0.95")
  )
})

test_that("a number keeps its % beside it where a sentence folds", {
  expect_equal(fold("slower by 12 % or so", 12), c("slower by", "12 % or so"))
  expect_length(fold(character()), 0)
})

test_that("a command stands on one line where it fits, and can be copied from there", {
  for (words in c("noiselab project some/campaign",
                  "noiselab analyze acceptance --margin 5%:nodes=9,every=1ms a")) {
    for (before in seq(1, 90, 7)) {
      lines <- fold(paste0(strrep("x ", before), "see ", words, "; more words, and more of them follow."))
      expect_true(any(grepl(paste0(words, ";"), lines, fixed = TRUE)))
      expect_lte(max(nchar(lines)), 100)
    }
  }
  # one that is longer than a line is folded, and what has no command is as it was
  expect_lte(max(nchar(fold(paste("noiselab run agent", strrep("--op barrier ", 20))))), 100)
  expect_equal(fold("of `a b` and c", 10), c("of `a b`", "and c"))
})

test_that("empty lines give way before rows do", {
  view <- list(sentences = paste(rep("word", 120), collapse = " "), table = sprintf("  row %d", 1:13),
               warnings = paste(rep("busy", 30), collapse = " "),
               notes = 1, command = "noiselab analyze --all DIR")
  lines <- on_screen(view)
  expect_equal(sum(grepl("^  row ", lines)), 13)
  expect_false(any(lines == "" | grepl("more line", lines)))
  view$table <- sprintf("  row %d", 1:3)
  expect_equal(sum(on_screen(view) == ""), 2)
})
