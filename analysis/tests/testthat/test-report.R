# The text of a report, its pictures cut short: searching through them takes seconds.
read_html <- function(file) {
  gsub("base64,iVBOR[A-Za-z0-9+/=]+", "base64,iVBOR", paste(readLines(file), collapse = "\n"), perl = TRUE)
}

test_that("the report is one file that needs nothing else and holds every plot with alt text", {
  dir <- local_starts(pairs = 12, launches = 3, levels_percent = c(0, 5), kinds = c("spin", "cache"),
                      treatment_factor = c(1, 2), ranks = 4, nodes = 2)
  file <- file.path(dir, "report.html")
  expect_equal(write_report(read_campaign(dir), file), file)
  html <- read_html(file)
  expect_false(grepl("(src|href)=\"(https?:|//|[a-z_]+/)", html))
  expect_false(grepl("<script", html))
  images <- regmatches(html, gregexpr("<img [^>]*>", html))[[1]]
  drawn <- grep("^(folded|agent-|intervals|replay|acceptance-)", plot_table()$name, value = TRUE, invert = TRUE)  # nothing is periodic, there is no agent, and no check
  expect_equal(length(images), length(drawn))
  expect_true(all(grepl("src=\"data:image/png;base64,iVBOR", images)))
  expect_true(all(grepl("alt=\"[A-Z]", images)))
  expect_match(html, "at 5 % of one CPU barrier is slowed most by cache .* of 2 treatments \\(their difference: p = ")
  expect_match(html, "Generator certificates")
  expect_match(html, "<h2>Synchronised starts</h2>")
  for (caption in c("Who was late, by rank", "Who was late, by node", "Clocks against that of rank 0")) expect_match(html, caption, fixed = TRUE)
  expect_match(html, "simulate_campaign seed 1")
  made <- list.files(file.path(dir, "report_files"))
  expect_setequal(made, as.vector(outer(drawn, c(".png", ".csv"), paste0)))
  expect_equal(list.files(dir, "^\\.report", all.files = TRUE), character())
})

test_that("what a user supplied is escaped", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  edit_lines(file.path(dir, "sim-1", "launch.json"), function(x) {
    sub('"warnings": \\[\\]', '"warnings": ["<script>alert(1)</script>"]', x)
  })
  file <- file.path(dir, "r.html")
  write_report(read_campaign(dir), file)
  html <- read_html(file)
  expect_match(html, "&lt;script&gt;alert(1)&lt;/script&gt;", fixed = TRUE)
  expect_false(grepl("<script>", html, fixed = TRUE))
})

test_that("a place that does not exist is refused before anything is written", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  expect_error(write_report(read_campaign(dir), file.path(dir, "no", "r.html")), "directory",
               class = "nl_error_usage")
})

report_html <- function(dir, ...) {
  file <- file.path(dir, "r.html")
  write_report(read_campaign(dir), file, ...)
  read_html(file)
}

test_that("an answer of nothing detected has its limit, and the level it could have seen", {
  dir <- local_campaign(pairs = 30, levels_percent = c(0, 0.001), slowdown_percent = 0, cost_ns = 0)
  answer <- report_answer(analyze_campaign(read_campaign(dir), channels = "time"))
  expect_match(paste(answer, collapse = " "),
               "No channel detected .* the smallest effect that would have been found is [0-9.]+ %, by channel time of operation barrier")
  expect_match(limit_phrase(data.frame(limit = NA_real_, unit = "%"), list()), "limit is unknown")
  expect_match(limit_phrase(NULL, list()), "limit is unknown")
  dir <- local_campaign(pairs = 60, levels_percent = c(0, 5))
  answer <- report_answer(analyze_campaign(read_campaign(dir)))
  expect_match(answer, "detectable level \\(LOD\\) is [0-9.]+ % of one CPU, by channel .* on operation barrier",
               all = FALSE)
})

test_that("launches that differ in ranks are counted, not described by the first", {
  info <- function(ranks, host) list(ranks = ranks, hosts = list(list(host = host)))
  where <- function(...) report_where(list(launches = list(...)))
  expect_equal(where(info(2, "a"), info(64, "a")), "over 2 launches with 2 and 64 ranks, on a")
  expect_equal(where(info(2, "a"), info(2, "b")), "over 2 launches with 2 ranks, on 2 nodes")
  expect_equal(where(info(2, "a"), info(2, "a")), "on a with 2 ranks")
})

test_that("the commands to repeat it have ranks, seed, directories as given and alpha", {
  command <- function(...) launch_command(list(launch = "x", ranks = 4, seed = "77", command = list(...)))
  expect_equal(command("noiselab-detect", "--out", "a b"),
               "mpirun -n 4 noiselab-detect --out 'a b' --seed 77")
  expect_equal(command("noiselab-detect", "--seed=5"), "mpirun -n 4 noiselab-detect --seed=5")
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  html <- report_html(dir, alpha = 0.05)
  expect_match(html, paste("noiselab report --alpha 0.05", dir), fixed = TRUE)
  expect_match(html, "isolcpus</td>\\s*<td[^>]*>unknown")
})

test_that("plots of an earlier report are removed, other files are not", {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  files <- file.path(dir, "r_files")
  dir.create(files)
  file.create(file.path(files, c("launches.png", "mine.png")))
  report_html(dir)
  expect_false(file.exists(file.path(files, "launches.png")))
  expect_true(file.exists(file.path(files, "mine.png")))
})

test_that("a report of one treatment has no table of treatments, one of several has both", {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  html <- report_html(dir)
  expect_match(html, "senses 5 % of one CPU by loop time")
  expect_false(grepl("<h2>Treatments</h2>", html))
  expect_false(grepl("Treatment:", html))
  dir <- local_campaign(pairs = 12, levels_percent = c(1, 5), kinds = c("spin", "cache"), phases = "aligned",
                        treatment_factor = c(1, 2))
  html <- report_html(dir)
  expect_match(html, "<h2>Treatments</h2>")
  expect_match(html, "Treatment: phase aligned", fixed = TRUE)
  expect_match(html, "slows most</th>\\s*<th[^>]*>against")
  expect_match(html, "<td class=\"text\">cache</td>\\s*<td class=\"text\">spin</td>")
  expect_match(html, "<th class=\"text\">kind</th>")
})

test_that("treatments that share no launch are not compared, and that is said", {
  dir <- local_campaign(pairs = 12, levels_percent = 5, kinds = "spin", prefix = "a")
  simulate_campaign(dir, pairs = 12, levels_percent = 5, kinds = "cache", prefix = "b", seed = 2)
  expect_match(report_html(dir), "Differences between treatments were not tested")
  # each treatment is shown by its own launch
  analysis <- analyze_campaign(read_campaign(dir))
  expect_equal(plot_treatments(analysis, draw = FALSE)$treatment, c("spin", "cache"))
  expect_match(report_answer(analysis)[1], "most by .*, least by .* of 2 treatments \\(their difference was not tested\\)")
})

test_that("clean launches with synchronised starts have a report without verdicts; loops with one arm have none", {
  dir <- local_starts(launches = 3, arms = "off", design = "single", base_sd = 0.02)
  file <- file.path(dir, "r.html")
  got <- status_of("noiselab-report", dir, "--out", file)
  expect_equal(got$status, 0L)
  html <- read_html(file)
  expect_match(html, "[0-9]+ synchronised starts were made, .* of them late; 99 % of starts began within")
  expect_false(grepl("<h2>Verdicts</h2>", html))
  expect_setequal(sub("\\.png$", "", list.files(file.path(dir, "r_files"), "png$")), c("tail", "overshoot", "lateness", "heatmap", "reproducibility"))
  dir <- local_campaign(pairs = 4, levels_percent = 5, design = "single", arms = "off")
  got <- status_of("noiselab-report", dir)
  expect_equal(got$status, 3L)
  expect_match(got$err, "a comparison needs both")
})

test_that("plots are the same drawn by one process and by two, and a failure keeps its class", {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  analysis <- analyze_campaign(read_campaign(dir))
  files <- file.path(dir, c("one", "two"))
  for (n in 1:2) {
    dir.create(files[n])
    old <- options(mc.cores = n)
    write_figures(analysis, files[n])
    options(old)
  }
  csv <- list.files(files[1], "csv$")
  expect_gt(length(csv), 5)
  expect_equal(list.files(files[2], "csv$"), csv)
  for (name in csv) expect_equal(readLines(file.path(files[2], name)), readLines(file.path(files[1], name)))
  expect_error(write_figures(analysis, file.path(dir, "none")), "is not a directory", class = "nl_error_usage")
})
