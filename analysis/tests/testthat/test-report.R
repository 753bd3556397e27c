# A campaign that has all that a report shows, and its report, written over what an earlier one left.
delayedAssign("full_dir", {
  dir <- kept_campaign(pairs = 12, launches = 3, levels_percent = c(0, 5), kinds = c("spin", "cache"),
                       phases = "aligned", treatment_factor = c(1, 2), ranks = 4, nodes = 2, start = "window",
                       half_period_ns = 6e4)
  dir.create(file.path(dir, "report_files"))
  file.create(file.path(dir, "report_files", c("dose.png", "pareto.svg", "mine.png")))
  dir
})
delayedAssign("full", {
  file <- file.path(full_dir, "report.html")
  list(returned = write_report(read_campaign(full_dir), file), file = file, html = read_html(file))
})

# A small campaign of one treatment.
delayedAssign("small_dir", kept_campaign(pairs = 12, levels_percent = 5))
delayedAssign("small", analyze_campaign(read_campaign(small_dir), channels = c("time", "preempted")))

# How often a pattern is in a text.
times <- function(pattern, text) sum(gregexpr(pattern, text, perl = TRUE)[[1]] > 0)

sections_of <- function(html) regmatches(html, gregexpr("(?<=<section id=\")[a-z]+", html, perl = TRUE))[[1]]

# Nothing of a page comes from elsewhere, and it is one well-formed document with the same parts as every
# other report.
expect_self_contained <- function(html) {
  expect_false(grepl("https?:|(src|href)=[\"'](//|[a-z_]+/)|@import|url\\((?!#)", html, perl = TRUE))
  expect_equal(times("<script>", html), 1)
  for (tag in c("section", "details", "figure", "table", "div", "svg")) {
    expect_equal(times(paste0("<", tag, "[ >]"), html), times(paste0("</", tag, ">"), html), info = tag)
  }
  ids <- regmatches(html, gregexpr("(?<= id=[\"'])[^\"']+", html, perl = TRUE))[[1]]
  expect_equal(anyDuplicated(ids), 0)
  links <- regmatches(html, gregexpr("(?<=href=\"#)[^\"]+", html, perl = TRUE))[[1]]
  expect_true(all(links %in% ids))
  # every section but the answer opens with a sentence
  says <- regmatches(html, gregexpr("(?<=<p class=\"says\">)[^<]+", html, perl = TRUE))[[1]]
  expect_equal(length(says), length(sections_of(html)) - 1)
  expect_true(all(grepl("^[A-Z0-9].{15,}\\.", trimws(says))))
  # every picture says what it shows, with a figure
  words <- regmatches(html, gregexpr("(?<=aria-label=')[^']+|(?<=alt=\")[^\"]+", html, perl = TRUE))[[1]]
  expect_equal(length(words), times("<svg |<img ", html))
  expect_true(all(grepl("[0-9]|none failed", words)))
}

test_that("the report is one file that needs nothing else and holds every plot with words for it", {
  expect_equal(full$returned, full$file)
  html <- full$html
  expect_self_contained(html)
  expect_equal(sections_of(html), c("answer", "slower", "cpu", "seen", "where", "trust", "again"))
  # no agent, slice, check, or algorithms to choose from
  drawn <- grep("^(pareto$|agent-|intervals|replay|acceptance-|profile|scale)", plot_table()$name,
                value = TRUE, invert = TRUE)
  expect_equal(times("<figure ", html), length(drawn))
  expect_match(
    html,
    paste0("At 5 % of one CPU the slowdown is [^;]* on barrier, cache at most, [^;]* on barrier, spin at ",
           "least; of 2 rows by time")
  )
  expect_match(html, "<summary>The load that was delivered</summary>")
  expect_match(html, "<summary>Synchronised starts</summary>")
  for (caption in c("Who was late, by rank", "Who was late, by node", "Clocks against that of rank 0")) {
    expect_match(html, caption, fixed = TRUE)
  }
  expect_match(html, "simulate_campaign seed 1")
  # plots of an earlier report are removed, other files are not
  made <- list.files(file.path(full_dir, "report_files"))
  expect_equal(sort(sub("(svg|png)$", "picture", made)),
               sort(c("mine.picture", paste0(rep(drawn, each = 2), c(".csv", ".picture")))))
  expect_equal(list.files(full_dir, "^\\.report", all.files = TRUE), character())
  # of several treatments each is named, what they share once
  expect_match(html, "Treatment: phase aligned", fixed = TRUE)
  expect_match(html, ">kind cache</th>")
  expect_lt(file.size(full$file), 1500e3)
  # no reason, caption or note twice
  lines <- trimws(regmatches(html, gregexpr("(?<=<li>)[^<]{40,}", html, perl = TRUE))[[1]])
  expect_equal(anyDuplicated(lines), 0)
})

test_that("a report without svglite has pictures in pixels, and the same words", {
  inside <- asNamespace("noiselab")
  found <- inside$has_svglite
  unlockBinding("has_svglite", inside)
  on.exit(assign("has_svglite", found, inside), add = TRUE)
  assign("has_svglite", function() FALSE, inside)
  html <- page_of(small, c("dose", "power"))
  expect_self_contained(html)
  expect_equal(times("<svg ", html), 0)
  expect_equal(times("<img ", html), 2)
})

test_that("colours of the style sheet are those of the plots", {
  css <- readLines(report_file("style.css"))
  for (name in setdiff(names(okabe_ito), "black")) {
    expect_match(css, sprintf("^  --%s: %s;$", name, okabe_ito[[name]]), all = FALSE)
  }
  for (colour in setdiff(verdict_looks$colour, "white")) {
    expect_match(css, sprintf("tr.look-%s .*var\\(--%s\\)", colour, colour), all = FALSE)
  }
})

test_that("words of verdicts are known to the looks, and have one mark each", {
  words <- c(outcomes, "above", "below", "here", "trace", "pass", "fail", "same", "slower", "faster",
             no_difference, c("reproducible", "not reproducible", "undecided"), "agree", "disagree")
  expect_setequal(setdiff(words, verdict_looks$word), "reproducible")
  expect_equal(anyDuplicated(verdict_looks$word), 0)
  expect_equal(length(unique(verdict_looks$mark)),
               length(unique(paste(verdict_looks$shape, verdict_looks$colour == "white"))))
  expect_equal(
    with_mark(c("found", "\u25cb not detected", "odd"), c("detected", "not detected", "unheard of")),
    c("\u25b2 found", "\u25cb not detected", "odd")
  )
})

test_that("a place that cannot be written names the option that takes another", {
  # a directory in which even root makes no file
  skip_if_not(dir.exists("/proc/self"))
  expect_refused("noiselab-report", c(small_dir, "--out", "/proc/self/report.html"),
                 "cannot write in '/proc/self': --out FILE writes the report elsewhere")
  expect_error(write_report(small, file.path(small_dir, "no", "r.html")), "directory",
               class = "nl_error_usage")
})

test_that("what speaks against a run is looked at, and said with its figure", {
  dir <- local_campaign(pairs = 20, levels_percent = c(0, 5), launches = 2)
  ended <- function() {
    checks <- trust_checks(analyze_campaign(read_campaign(dir), channels = c("time", "preempted")))
    expect_true(all(
      c("Placebo (level 0)", "Positive control (5 %)", "The machine was quiet") %in% checks$check
    ))
    c(unlist(checks[checks$check == "Launches ended as planned", 2:3], use.names = FALSE),
      trust_sentence(checks))
  }
  expect_equal(ended()[1:2], c("good", "2 of 2"))
  simulate_campaign(dir, pairs = 20, levels_percent = c(0, 5), prefix = "cut", ended = NA, seed = 3)
  expect_equal(ended()[1:2], c("look", "2 of 3"))
  expect_match(ended()[3], "look at: .*launches ended as planned")
})

test_that("what a user supplied is escaped, and one treatment has no table of treatments", {
  analysis <- small
  analysis$notes <- "<script>alert(1)</script>"
  html <- page_of(analysis)
  expect_match(html, "&lt;script&gt;alert(1)&lt;/script&gt;", fixed = TRUE)
  expect_equal(times("<script>", html), 1)
  expect_no_match(html, "Treatment:")
})

test_that("an answer of nothing detected has its limit, and the level it could have seen", {
  analysis <- analyze_campaign(
    simulated_campaign(pairs = 30, levels_percent = c(0, 0.001), slowdown_percent = 0, cost_ns = 0),
    channels = "time"
  )
  answer <- report_answer(analysis)
  expect_match(
    paste(answer, collapse = " "),
    "No level was detected on barrier; a slowdown of [0-9.]+ % would have been detected with probability 0.95"
  )
  # the limit of what was tested, not of the placebo
  of <- analysis$verdicts$detection_limit[analysis$verdicts$level_requested_percent > 0]
  expect_match(
    seen_sentence(analysis),
    sprintf("a slowdown of %s %% on barrier would have been detected with power 0.95",
            format_effect(of, FALSE)),
    fixed = TRUE
  )
})

test_that(paste0("the first line counts nodes and ranks, and the commands to repeat it have ranks, seed, ",
                 "directories as given and alpha"), {
  info <- function(ranks, host) {
    list(ranks = ranks, hosts = list(list(host = host)))
  }
  expect_equal(report_where(list(launches = list(info(2, "a"), info(64, "a")))),
               "a, 2 and 64 ranks; 2 launches")
  expect_equal(report_where(list(launches = list(info(2, "a"), info(2, "b")))),
               "2 nodes, 2 ranks; 2 launches")
  command <- function(...) {
    launch_command(list(launch = "x", ranks = 4, seed = "77", command = list(...)))
  }
  expect_equal(command("noiselab-detect", "--out", "a b"),
               "mpirun -n 4 noiselab-detect --out 'a b' --seed 77")
  expect_equal(command("noiselab-detect", "--seed=5"), "mpirun -n 4 noiselab-detect --seed=5")
  html <- page_of(report_analysis(read_campaign(small_dir), alpha = 0.05))
  expect_match(html, paste("noiselab report --alpha 0.05", small_dir), fixed = TRUE)
  expect_match(html, "isolated CPUs</th>\\s*<td[^>]*>unknown")
})

test_that(paste0("clean launches with synchronised starts have a report without verdicts; loops with one ",
                 "arm have none"), {
  dir <- local_starts(launches = 3, arms = "off", design = "single", base_sd = 0.02)
  file <- file.path(dir, "r.html")
  got <- status_of("noiselab-report", dir, "--out", file)
  expect_equal(got$status, 0L)
  html <- read_html(file)
  expect_match(html, "[0-9]+ synchronised starts were made, .* of them late; 99 % of starts began within")
  expect_self_contained(html)
  expect_equal(sections_of(html), c("answer", "where", "trust", "again"))
  expect_true(file.exists(file.path(dir, "r_files", "tail.csv")))
  dir <- local_campaign(pairs = 4, levels_percent = 5, design = "single", arms = "off")
  expect_refused("noiselab-report", dir, "a comparison needs both", 3L)
})

test_that("plots are the same drawn by one process and by two, and a failure keeps its class", {
  dir <- local_folder()
  files <- file.path(dir, c("one", "two"))
  names <- c("dose", "intervals", "trace")
  for (n in 1:2) {
    dir.create(files[n])
    old <- options(mc.cores = n)
    write_figures(small, files[n], Filter(function(plot) plot$name %in% names, plots()))
    options(old)
  }
  csv <- list.files(files[1], "csv$")
  expect_equal(csv, c("dose.csv", "trace.csv"))
  expect_equal(list.files(files[2], "csv$"), csv)
  for (name in csv) expect_equal(readLines(file.path(files[2], name)), readLines(file.path(files[1], name)))
  expect_error(write_figures(small, file.path(dir, "none")), "is not a directory", class = "nl_error_usage")
})
