test_that("slips in options, analyses, channels and tables are met halfway", {
  dir <- local_campaign(pairs = 8, levels_percent = 5)
  says <- function(text, ...) expect_refused("noiselab-analyze", c(...), text)
  says("unknown option '--alhpa': did you mean --alpha\\?", "--alhpa", "0.05", dir)
  says("unknown option '--frobnicate' \\(try --help\\)", "--frobnicate", dir)
  says("--channel: 'tiem' is not a channel: did you mean time\\?", "--channel", "tiem", dir)
  says("'agnet' is neither a directory nor an analysis: did you mean agent\\?", "agnet", dir)
  says("--table: 'verdict' is not a table: did you mean verdicts\\?", dir, "--csv", "--table", "verdict")
})

test_that(paste0("the word that was meant is named, as the programs in C name it, and nothing is guessed ",
                 "where nothing is near"), {
  ops <- c("barrier", "allreduce", "alltoall", "bcast")
  for (typed in c("allredcue", "AllReduce", "allr")) {
    expect_equal(did_you_mean(typed, ops), ": did you mean allreduce?")
  }
  expect_equal(did_you_mean("bcat", ops), ": did you mean bcast?")
  expect_equal(did_you_mean("agnet", c("nodes", "agent")), ": did you mean agent?")
  expect_equal(did_you_mean("agnet", "agent"), ": did you mean agent?")
  expect_equal(did_you_mean("half_period", "half-period", before = "--"), ": did you mean --half-period?")
  for (typed in c("foo", "", "x", "zzzzzzzzzzzz")) {
    expect_equal(did_you_mean(typed, ops, ""), "")
  }
  expect_equal(did_you_mean("barrier", character(), ""), "")
  expect_equal(did_you_mean("foo", ops), " (try barrier, allreduce, alltoall, bcast)")
})

test_that("a margin is of one node, or of so many that synchronise so often, and says so in words", {
  one <- margin_request("1%")
  expect_equal(margin_request("1")[c("percent", "nodes", "at_scale", "words")],
               one[c("percent", "nodes", "at_scale", "words")])
  expect_equal(one$words, "1 % of one node's slowdown")
  expect_true(is.na(one$every_s))
  many <- margin_request("2.5 %:nodes=20000,every=250us")
  expect_equal(many[c("percent", "nodes", "every_s", "at_scale")],
               list(percent = 2.5, nodes = 20000, every_s = 2.5e-4, at_scale = TRUE))
  expect_equal(c(many$unseen_s, margin_request("2%:nodes=7,unseen=2ms,every=1s")$unseen_s), c(0.05, 0.002))
  expect_equal(many$words, "2.5 % on 20,000 nodes that synchronise every 250 \u00b5s")
  expect_equal(margin_request("1%:every=1ms,nodes=1000")$words,
               "1 % on 1,000 nodes that synchronise every 1 ms")
  expect_equal(margin_request(many$text), many)
  # of many nodes 100 % is no end
  expect_equal(margin_request("300:nodes=10,every=1ms")$percent, 300)
  expect_equal(margin_request("1%:nodes=8", step_known = TRUE)$words,
               "1 % on 8 nodes that synchronise as often as the program does")
  expect_null(margin_request(NULL))
})

test_that("what is no margin is refused in one line that says what to try", {
  refused <- function(text, ...) {
    expect_error(margin_request(text), paste0(...), fixed = TRUE, class = "nl_error_usage")
  }
  refused("0,5", "'0,5' is not a percentage above 0 and below 100 (try 0.5%, or 0.5%:nodes=1000,every=1ms)")
  refused("1,25%", "(try 1.25%, or")
  for (text in c("0", "-1", "100", "1e400", "much", "", "1ms")) {
    refused(text, "'", text, "' is not a percentage above 0 and below 100 (try 1%, or")
  }
  refused("1%:", "'' is not a key of it (nodes, every, unseen)")
  refused("1%:ranks=3", "'ranks' is not a key of it (nodes, every, unseen)")
  refused("1%:unseen=2ms", "does not say of how many nodes (try 1%:nodes=1000,every=1ms)")
  refused("1%:nodes=10,every=1ms,unseen=2", "--margin: unseen: '2' is not a positive duration with its unit")
  refused("1%:every=1ms", "does not say of how many nodes (try 1%:nodes=1000,every=1ms)")
  refused("1%:nodes=64", "does not say how often the nodes synchronise (try 1%:nodes=64,every=1ms)")
  refused("1%:nodes=0,every=1ms", "--margin: nodes: '0' is not a positive whole number")
  refused("1%:nodes=1e3,every=1ms", "--margin: nodes: '1e3' is not a positive whole number")
  refused("1%:nodes=10,every=1", "--margin: every: '1' is not a positive duration with its unit")
  refused("0,5:nodes=10,every=1ms", "(try 0.5%, or 0.5%:nodes=1000,every=1ms)")
})

test_that("a program that does not judge a margin of many nodes refuses it before it reads anything", {
  for (args in list(c("noiselab-compare", "none", "none2"), c("noiselab-plan"),
                    c("noiselab-analyze", "intervals", "none"))) {
    got <- status_of(args[1], args[-1], "--margin", "1%:nodes=1000,every=1ms")
    expect_equal(got$status, 2L)
    expect_match(
      got$err,
      paste0("--margin: '1%:nodes=1000,every=1ms' is of many nodes; noiselab run agent, run acceptance, ",
             "analyze agent, analyze acceptance and project judge that. Here give one of one node (try ",
             "--margin 1%)"),
      fixed = TRUE
    )
  }
})

test_that("a time takes its unit, but where the option's name says it", {
  expect_equal(duration_option("10ms", "--half-period"), 0.01)
  expect_equal(duration_option("2min", "--half-period"), 120)
  expect_error(duration_option("10", "--half-period"), "'10' is not a positive duration with its unit",
               class = "nl_error_usage")
  expect_equal(duration_option("10", "--seconds"), 10)
  expect_equal(size_option("2"), 2)
})

test_that("help folds below its own text, and loses no word", {
  lines <- help_lines(c("One sentence that ends", "in another line, and one that is long enough to fold:", "",
                        "  item            what it is, which goes on", "                  in the next line",
                        "                  Tables for --csv: a, b", "  a-longer-name   short"))
  expect_identical(lines[1], "One sentence that ends in another line, and one that is long enough to fold:")
  expect_identical(lines[3], "  item            what it is, which goes on in the next line")
  expect_identical(lines[4:5], c("                  Tables for --csv: a, b", "  a-longer-name   short"))
  long <- help_lines(paste0("  time  ", strrep("word ", 40), "end"))
  expect_lte(max(nchar(long)), 98)
  expect_match(long[-1], "^        word")
  expect_length(strsplit(paste(trimws(long), collapse = " "), " +")[[1]], 42)
  wide <- option("name-of-an-option", "A-VALUE-THAT-IS-LONG", "what it does")
  out <- help_text("Usage: x", "About.", list(wide), "Exit status: 0.")
  expect_identical(out[6:7], c("  --name-of-an-option A-VALUE-THAT-IS-LONG",
                               paste0(strrep(" ", 30), "what it does")))
})

test_that(paste0("every program prints its help with every option, and lists its tables for completion: ",
                 "four fields on a line"), {
  for (name in names(programs())) {
    help <- status_of(name, "--help")
    expect_equal(help$status, 0L)
    expect_match(help$out[1], paste0("Usage: ", sub("-", " ", name)))
    expect_lte(max(nchar(help$out)), 98, label = name)
    for (o in programs()[[name]]$options()) {
      expect_match(help$out, paste0("^  --", o$name, "( |$)"), all = FALSE)
    }
    got <- status_of(name, "--list-tables")
    expect_equal(got$status, 0L)
    fields <- strsplit(got$out, "\t", fixed = TRUE)
    expect_true(all(lengths(fields) == 4 & vapply(fields, function(f) all(nzchar(f)), TRUE)))
    expect_true("--help" %in% vapply(fields, `[`, "", 2))
  }
  expect_error(run_program("noiselab-none"), class = "nl_error_usage")
})
