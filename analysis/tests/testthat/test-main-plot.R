test_that("pictures in each form, and data, are written where they were asked for", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  plot <- function(...) status_of("noiselab-plot", "dose", dir, ...)
  for (form in c("png", "svg", "pdf")) {
    file <- file.path(dir, paste0("p.", form))
    expect_equal(plot("--out", file), list(status = 0L, err = character(), out = file))
    magic <- rawToChar(utils::head(Filter(function(b) b != 0, readBin(file, "raw", 8)), 5))
    expect_match(magic, c(png = "PNG", svg = "<\\?xml", pdf = "%PDF")[[form]], useBytes = TRUE)
  }
  csv <- plot("--csv")$out
  estimate <- plot_dose(analyze_campaign(read_campaign(dir), channels = "time"), draw = FALSE)$estimate
  expect_equal(utils::read.csv(text = csv)$estimate, estimate)
  plot("--out", file.path(dir, "d.csv"))
  expect_equal(readLines(file.path(dir, "d.csv")), csv)
  json <- jsonlite::fromJSON(plot("--json")$out)
  expect_equal(list(json$plot, json$rows$estimate), list("dose", estimate))
})

test_that("a picture has room for its words, which the report has beside it, or the size asked for", {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  pixels <- function(file) {
    head <- readBin(file, "raw", 24)
    c(sum(as.integer(head[17:20]) * 256^(3:0)), sum(as.integer(head[21:24]) * 256^(3:0)))
  }
  file <- file.path(dir, "p.png")
  status_of("noiselab-plot", "trace", dir, "--out", file)
  analysis <- analyze_campaign(read_campaign(dir), channels = "time")
  trace <- Filter(function(plot) plot$name == "trace", plots())[[1]]
  expect_equal(pixels(file), 110 * figure_size(trace, plot_frame(trace, analysis), analysis),
               tolerance = 0.002)
  status_of("noiselab-plot", "trace", dir, "--out", file, "--size", "4x3")
  expect_equal(pixels(file), c(440, 330))
})

test_that("several plots go to a directory, and those without data are said", {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  got <- status_of("noiselab-plot", "forest,intervals,power", dir, "--out", dir)
  expect_equal(got$status, 0L)
  expect_equal(got$out, file.path(dir, c("forest.png", "power.png")))
  expect_match(got$err, "note: intervals: nothing to draw: needs launches of an agent")
  got <- status_of("noiselab-plot", "forest,power", dir, "--csv", "--out", dir)
  expect_true(all(file.exists(file.path(dir, c("forest.csv", "power.csv")))))
  old <- setwd(dir)
  on.exit(setwd(old))
  expect_equal(status_of("noiselab-plot", "tail", ".")$out, "tail.png")
  expect_true(file.exists("tail.png"))
})

test_that("what is missing or wrong is said in one line", {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  refused <- function(status, words, ...) expect_refused("noiselab-plot", c(...), words, status)
  refused(2L, "no NAME given")
  refused(2L, "no DIR given", "dose")
  refused(2L, "'dos' is not a plot: did you mean dose\\?", "dos", dir)
  refused(2L, "does not end in .png, .svg, .pdf", "dose", dir, "--out", file.path(dir, "x.gif"))
  refused(2L, "is not a directory, which several plots need", "dose,tail", dir, "--out",
          file.path(dir, "x.png"))
  refused(2L, "needs --out DIRECTORY", "dose,tail", dir, "--csv")
  refused(2L, "--size: '0x3' is not a width and a height", "dose", dir, "--size", "0x3")
  refused(2L, "does not apply to data", "dose", dir, "--csv", "--size", "5x4")
  refused(2L, "--margin does not apply to dose \\(it does to forest", "dose", dir, "--margin", "1")
  refused(2L, "exclude each other", "dose", dir, "--csv", "--json")
  refused(3L, "intervals: nothing to draw: needs launches of an agent", "intervals", dir, "--out",
          file.path(dir, "l.png"))
  expect_false(file.exists(file.path(dir, "l.png")))
})

test_that("the margin reaches the forest, and alpha its intervals", {
  dir <- local_campaign(pairs = 12, levels_percent = 5)
  got <- utils::read.csv(
    text = status_of("noiselab-plot", "forest", dir, "--csv", "--margin", "2%", "--alpha", "0.05")$out
  )
  expect_equal(got$margin_percent, 2)
  wanted <- analyze_campaign(read_campaign(dir), alpha = 0.05, channels = "time")$verdicts
  expect_equal(got$ci_low_percent, wanted$ci_low)
})

test_that("--list shows every plot and what it needs", {
  got <- status_of("noiselab-plot", "--list")
  expect_equal(got$status, 0L)
  expect_lte(max(nchar(got$out)), 98)
  names <- sub(" .*", "", grep("^[a-z]", got$out, value = TRUE))
  expect_equal(names, plot_table()$name)
  expect_lte(max(nchar(status_of("noiselab-plot", "--help")$out)), 98)
  for (more in list("dose", c("--alpha", "0.1"))) {
    expect_refused("noiselab-plot", c("--list", more), "--list stands alone")
  }
})

test_that("a projection is a picture by number of nodes, and a page that repeats what a terminal says", {
  dir <- local_folder()
  page <- file.path(dir, "p.html")
  asked <- c("--burst", "1ms", "--period", "100ms", "--nodes", "1,10,1000")
  got <- status_of("noiselab-project", asked, "--out", page)
  expect_equal(list(got$status, got$out), list(0L, page))
  html <- gsub("\\s+", " ", paste(readLines(page), collapse = " "))
  said <- paste(status_of("noiselab-project", asked)$out, collapse = " ")
  expect_match(html, htmltools::htmlEscape(sub("[;.] .*", "", said)), fixed = TRUE)
  expect_match(html, "noiselab project --burst 1ms --period 100ms --nodes 1,10,1000", fixed = TRUE)
  expect_true(any(file.exists(file.path(dir, "p_files", c("scale.svg", "scale.png")))))
  frame <- utils::read.csv(file.path(dir, "p_files", "scale.csv"))
  expect_setequal(frame$nodes, c(1, 10, 1000))
  # one node, hit by 1 ms in each 100 ms
  expect_equal(unique(frame$slowdown_percent[frame$nodes == 1]), 100 / 99, tolerance = 1e-3)
})

test_that("the picture of a projection draws what has no upper end, and what is 0", {
  rows <- data.frame(nodes = rep(c(1, 100, 1e4), 2), every_ns = 1e6,
                     phase = rep(c("independent", "common"), each = 3),
                     slowdown_percent = c(0, 2, 50, 0, 0, 0), ci_low = c(0, 1, 20, 0, 0, 0),
                     ci_high = c(1, 4, NA, 1, 1, 1), method = "walk", reason = NA)
  projection <- list(rows = rows, request = list(alpha = 0.02),
                     noise = list(name = "A", watched_s = 60, n_bursts = 12))
  expect_s3_class(ggplot2::ggplot_build(plot_scale(projection)), "ggplot_built")
  words <- plot_scale(projection)$labels
  expect_match(words$caption, "Triangles: at least so much", fixed = TRUE)
  expect_match(gsub("\n", " ", words$subtitle), "n = 12 recorded bursts in 60", fixed = TRUE)
  expect_match(alt_scale(plot_scale(projection, draw = FALSE)),
               "on 10000 nodes 50.0 % when synchronised every 1 ms", fixed = TRUE)
  # one number of nodes is no line
  projection$rows <- rows[rows$nodes == 1, ]
  expect_null(plot_scale(projection))
})
