# A campaign of three algorithms: `factor` is what each takes of the default's time.
algorithms_campaign <- function(factors, launches = 6, pairs = 40, env = parent.frame(), in_fact = names(factors), bytes = 1024, seed = 1) {
  operations <- paste0("allreduce=", names(factors))
  dir <- local_campaign(operations = operations, bytes = bytes, levels_percent = 5, pairs = pairs, launches = launches, seed = seed, env = env)
  for (file in list.files(dir, "halves.csv", recursive = TRUE, full.names = TRUE)) {
    rows <- data.table::fread(file, colClasses = list(character = "launch"))
    rows[["wall_ns"]] <- round(rows[["wall_ns"]] * factors[match(rows[["operation"]], operations)])
    data.table::fwrite(rows, file, quote = FALSE)
  }
  for (file in list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)) {
    info <- jsonlite::read_json(file)
    info$algorithms <- lapply(seq_along(factors), function(i) {
      list(operation = "allreduce", bytes = bytes, algorithm = names(factors)[i], number = i - 1L, in_fact = in_fact[i])
    })
    jsonlite::write_json(info, file, auto_unbox = TRUE, null = "null", digits = NA)
  }
  dir
}

test_that("a faster algorithm is found, with what it gains", {
  advice <- advise_table(read_campaign(algorithms_campaign(c(default = 1, ring = 1.2, linear = 0.7))))
  quiet <- advice$rows[advice$rows$condition == "quiet", ]
  expect_equal(quiet$verdict, "use")
  expect_equal(quiet$algorithm, "linear")
  expect_equal(quiet$number, 2)
  expect_true(quiet$gain_low_percent < 30 && 30 < quiet$gain_high_percent)
  expect_equal(advice$rows$condition, c("quiet", "noise"))
  expect_equal(c(advice$n_launches, advice$n_screening), c(6, 2))
  expect_equal(advice$algorithms$algorithm, c("default", "ring", "linear"))
  # the default's own time, not the candidate's
  expect_equal(quiet$default_ns, 2000, tolerance = 0.1)
})

test_that("where the default is the fastest it is kept, and a gain that was excluded is said", {
  advice <- advise_table(read_campaign(algorithms_campaign(c(default = 1, ring = 1.3))))
  expect_equal(unique(advice$rows$verdict), "keep")
  expect_equal(advice$rows$could_have_seen_percent, c(0, 0))
  expect_null(advise_rules(advice$rows))
})

test_that("an algorithm that the library replaces is never advised", {
  advice <- advise_table(read_campaign(algorithms_campaign(c(default = 1, ring = 0.5, linear = 1.3), in_fact = c("default", "linear", "linear"))))
  expect_equal(unique(advice$rows$algorithm), "linear")
  expect_equal(advice$algorithms$in_fact, c("default", "linear", "linear"))
})

test_that("the cost of noise is that per CPU time it took", {
  dir <- algorithms_campaign(c(default = 1, ring = 1), pairs = 200)
  advice <- advise_table(read_campaign(dir))
  # simulate_campaign's amplification is 1.5
  expect_true(all(advice$algorithms$lost_low < 1.5 & 1.5 < advice$algorithms$lost_high))
})

test_that("the same algorithm many times over is falsely advised no more often than alpha", {
  set.seed(11)
  n <- 8
  names_of <- c("default", letters[1:6])
  arms <- data.frame(algorithm = names_of, in_fact = names_of, number = seq_along(names_of))
  false <- replicate(1000, {
    figures <- expand.grid(launch = as.character(seq_len(n)), algorithm = names_of, stringsAsFactors = FALSE)
    figures$quiet <- ifelse(figures$algorithm == "default", 0, stats::rnorm(nrow(figures), 0, 0.02))
    figures$quiet_ns <- 1
    advise_row(figures, arms, "quiet", as.character(1:3), 0.01, 0.1)$verdict == "use"
  })
  expect_lte(sum(false), stats::qbinom(0.999, 1000, 0.01))
})

test_that("rules hold for what was measured only, and of totals where the library asks for those", {
  row <- function(operation, bytes, verdict, number, ranks = 4) {
    data.frame(operation = operation, bytes = bytes, ranks = ranks, condition = "quiet", number = number, verdict = verdict)
  }
  plain <- function(rows) sub(" #.*", "", advise_rules(rows))
  expect_equal(plain(row("allreduce", 1024, "use", 3L)),
               c("1", "2", "3", "0", "1", "0 0 0 0", "4", "3", "0 0 0 0", "1024 3 0 0", "1025 0 0 0", "5", "1", "0 0 0 0"))
  expect_equal(plain(row("alltoall", 10, "use", 2L))[8:11], c("3", "0 0 0 0", "40 2 0 0", "41 0 0 0"))
  for (operation in c("gather", "scatter", "reduce_scatter_block"))
    expect_equal(plain(row(operation, 1024, "use", 3L))[8:11], c("3", "0 0 0 0", "4096 3 0 0", "4097 0 0 0"))
  # of shares that differ by an element
  expect_equal(plain(row("reduce_scatter", 1024, "use", 3L))[8:11], c("3", "0 0 0 0", "4032 3 0 0", "4161 0 0 0"))
  expect_equal(plain(row("allgatherv", 8, "use", 3L))[8:10], c("2", "0 3 0 0", "25 0 0 0"))
  near <- plain(rbind(row("allgatherv", 8, "use", 3L), row("allgatherv", 16, "use", 2L)))
  expect_equal(near[8:11], c("3", "0 3 0 0", "12 2 0 0", "33 0 0 0"))
  # without a size: forced for all sizes, or not at all
  for (operation in c("alltoallv", "scan", "exscan")) {
    expect_null(advise_rules(row(operation, 1024, "use", 2L)))
    expect_match(advise_forced(row(operation, 1024, "use", 2L)), sprintf("export OMPI_MCA_coll_tuned_%s_algorithm=2 ", operation))
    expect_match(advise_forced(rbind(row(operation, 8, "keep", 1L), row(operation, 1024, "use", 2L))), "cannot be selected by size")
  }
  expect_match(advise_rules(row("bcast", 8, "use", 5L), "Open MPI v4.1.4")[1], "; holds for Open MPI v4.1.4$")
  expect_equal(plain(row("barrier", 0, "use", 4L))[8:10], c("2", "0 4 0 0", "1 0 0 0"))
  # the same advice at two sizes holds between them; another's rule ends where the next size begins
  between <- plain(rbind(row("bcast", 8, "use", 5L), row("bcast", 2048, "use", 5L), row("bcast", 4096, "keep", 7L)))
  expect_equal(between[8:11], c("3", "0 0 0 0", "8 5 0 0", "2049 0 0 0"))
  expect_null(advise_rules(row("bcast", 8, "undecided", 5L)))
})

test_that("a rule that the library does not follow is no advice, and one that nobody tried is said to be so", {
  dir <- algorithms_campaign(c(default = 1, ring = 1.2, linear = 0.7))
  info <- jsonlite::read_json(list.files(dir, "launch.json", recursive = TRUE, full.names = TRUE)[1])
  n <- info$ranks
  tried <- function(advised = "linear", less = "tree", before = "tree") {
    writeLines(c(paste("without allreduce 1024", n - 1, "default", before), paste("without allreduce 1024", n, "default tree"),
                 paste("without allreduce 1024", n, "linear linear"), paste("without allreduce 1024", n + 1, "default tree"),
                 paste("with allreduce 1024", n - 1, "default", less), paste("with allreduce 1024", n, "default", advised),
                 paste("with allreduce 1024", n, "linear linear"), paste("with allreduce 1024", n + 1, "default tree")), file.path(dir, "advice.tried"))
  }
  quiet <- function() subset(advise_table(read_campaign(dir))$rows, condition == "quiet")
  expect_equal(quiet()[c("verdict", "rule")], data.frame(verdict = "use", rule = "untried"), ignore_attr = TRUE)
  rules <- tempfile("rules")
  expect_match(status_of("noiselab-analyze", c("advise", dir, "--rules", rules))$out, "these rules were not tried", all = FALSE)
  tried()
  expect_equal(quiet()$rule, "acts")
  expect_match(advise_rules(advise_table(read_campaign(dir))$rows)[1], "each rule was tried and acts")
  # it does not run, or at other numbers of ranks as well
  for (how in list(list("tree"), list(less = "linear"))) {
    do.call(tried, how)
    expect_equal(quiet()[c("verdict", "rule")], data.frame(verdict = "refused", rule = "refused"), ignore_attr = TRUE)
    unlink(rules)
    got <- status_of("noiselab-analyze", c("advise", dir, "--rules", rules))
    expect_false(file.exists(rules))
    expect_false(any(grepl("OMPI_MCA", got$out)))
    expect_match(gsub("\\s+", " ", paste(got$out, collapse = " ")), "1: faster, but this library does not follow a rule for it")
  }
  # nobody could watch, or the launch broke off
  tried("-")
  writeLines(sub("linear linear", "linear -", readLines(file.path(dir, "advice.tried"))), file.path(dir, "advice.tried"))
  expect_equal(quiet()$rule, "untried")
  writeLines(c("without allreduce", ""), file.path(dir, "advice.tried"))
  expect_equal(quiet()$rule, "untried")
})

test_that("the front end prints a table, writes rules, and its status is the answer's", {
  dir <- algorithms_campaign(c(default = 1, ring = 1.2, linear = 0.7))
  rules <- tempfile("rules")
  got <- status_of("noiselab-analyze", c("advise", dir, "--rules", rules))
  expect_equal(got$status, 0)
  expect_match(paste(got$out, collapse = "\n"), "linear takes [0-9.]+ % less time")
  expect_match(paste(got$out, collapse = "\n"), "OMPI_MCA_coll_tuned_dynamic_rules_filename=")
  expect_lte(length(got$out), 24)
  expect_equal(readLines(rules)[2], "2 # allreduce")
  json <- jsonlite::fromJSON(paste(status_of("noiselab-analyze", c("advise", dir, "--json"))$out, collapse = "\n"))
  expect_equal(json$rows$verdict, c("use", "use"))
  expect_equal(nrow(utils::read.csv(text = status_of("noiselab-analyze", c("advise", dir, "--csv"))$out)), 2)
  expect_no_match(got$out, "busy")
  busy <- list.files(dir, "halves.csv", recursive = TRUE, full.names = TRUE)
  for (file in busy) {
    rows <- data.table::fread(file, colClasses = list(character = "launch"))
    rows[["preempted_ns_sum"]] <- round(0.3 * rows[["wall_ns"]])
    data.table::fwrite(rows, file, quote = FALSE)
  }
  said <- status_of("noiselab-analyze", c("advise", dir))$out
  expect_length(grep("^ *! the machine was busy: without the load other tasks took", said), 1)
  few <- status_of("noiselab-analyze", c("advise", algorithms_campaign(c(default = 1, ring = 1), launches = 3)))
  expect_equal(few$status, 3)
  expect_match(few$err, "choosing and confirming take 4", all = FALSE)
  none <- status_of("noiselab-analyze", c("advise", local_campaign(pairs = 10)))
  expect_match(none$err, "no launch in .* compares algorithms", all = FALSE)
})
