# Words and numbers for people.

few_words <- function(words, most = 4) {
  more <- length(words) - most
  paste0(paste(utils::head(words, most), collapse = ", "), if (more > 0) sprintf(" and %d more", more))
}

# "CPU 3", "the CPUs 0 and 1", "the CPUs 0, 1, 2, 3 and 4 more", of "3", "0,1", "0,1,2,3,4,5,6,7".
cpus_words <- function(lists, most = 4) {
  vapply(strsplit(lists, ",", fixed = TRUE), function(cpus) {
    more <- length(cpus) - most
    if (more > 0) cpus <- c(utils::head(cpus, most), paste(more, "more"))
    if (length(cpus) == 1) paste("CPU", cpus) else paste("the CPUs", join_words(cpus))
  }, "")
}

format_p <- function(p) {
  ifelse(is.na(p), "-",
         ifelse(p <= 1e-300, "<1e-300", ifelse(p < 1e-4, sprintf("%.0e", p), sprintf("%.4f", p))))
}

# The limits of tiny samples may have hundreds of digits, before the point or after it: from here on a
# figure has a power of ten.
most_in_full <- 1e7
least_in_full <- 0.00095

# `full` writes those in full that are short enough.
in_few_digits <- function(x, full, most = most_in_full, least = least_in_full) {
  v <- as.numeric(x)
  is_long <- is.finite(v) & v != 0 & (abs(v) >= most | abs(v) < least)
  ifelse(is_long, sprintf("%.1e", v), full(replace(x, is_long, 0)))
}

# What has no end says so; in sentences an interval that tells nothing is no figure (`is_told()`).
format_effect <- function(x, sign = TRUE) {
  open <- is.infinite(x)
  x[open] <- NA
  digits <- ifelse(is.na(x) | abs(x) >= 100, 0, ifelse(abs(x) >= 10, 1, ifelse(abs(x) >= 1, 2, 3)))
  text <- sprintf(if (sign) "%+.*f" else "%.*f", digits, x)
  odd <- !is.na(x) & x != 0 & (abs(x) < 0.0095 | abs(x) >= most_in_full)
  text[odd] <- sprintf(if (sign) "%+.1e" else "%.1e", x[odd])
  small <- odd & abs(x) >= 0.00095 & abs(x) < 1
  text[small] <- sprintf(if (sign) "%+.4f" else "%.4f", x[small])
  ifelse(open, "open", ifelse(is.na(x), "-", text))
}

# Wider than so many points an interval of a slowdown says that the machine was too busy, and nothing of the
# slowdown.
most_told_percent <- 100

is_told <- function(low, high) is.finite(low) & is.finite(high) & high - low <= most_told_percent

plain <- function(x) format_effect(x, sign = FALSE)

# Of a projected slowdown, percent: from here on the figure tells no more than that it is so large, and
# sentences and tables of causes say that.
absurd_percent <- 1000

# What can be said of it: "endless": bursts leave no time to work; "absurd": the figure, or the lower end
# where there is no upper one, is above `absurd_percent`; "open": it has no upper end; or "closed".
slowdown_kind <- function(value, low = value, high = value) {
  if (!is.finite(value)) return("endless")
  is_open <- is.finite(low) && !is.finite(high)
  if ((if (is_open) low else value) >= absurd_percent) return("absurd")
  if (is_open && low > 0) "open" else "closed"
}

# "8.2 % (7.1 to 9.4)", "at least 546 %", "more than ten times as long" (`absurd`), "no time to work".
slowdown_words <- function(value, low = value, high = value, absurd = "more than ten times as long") {
  switch(slowdown_kind(value, low, high), endless = "no time to work", absurd = absurd,
         open = paste("at least", plain(low), "%"), {
           told <- is.finite(low) && is.finite(high) && plain(low) != plain(high)
           paste0(plain(value), " %", if (told) sprintf(" (%s to %s)", plain(max(0, low)), plain(high)))
         })
}

# What a program would do with such a slowdown.
slower_words <- function(value, low = value, high = value) {
  figure <- slowdown_words(value, low, high)
  switch(slowdown_kind(value, low, high), endless = "would have no time to work",
         absurd = paste("would take", figure), sprintf("would be %s slower", figure))
}

# For a cell of a table; `unbounded` is explained below it.
short_slowdowns <- function(value, low = value, high = value) {
  vapply(seq_along(value), function(i) {
    if (is.na(value[i])) return("-")
    switch(slowdown_kind(value[i], low[i], high[i]), endless = "unbounded",
           absurd = sprintf("over %g %%", absurd_percent), open = paste(">=", plain(low[i]), "%"),
           paste(plain(value[i]), "%"))
  }, "")
}
in_us <- function(ns) plain(ns / 1000)

format_interval <- function(low, high, form = format_effect) {
  ifelse(is.na(low) | is.na(high), "-", paste0("[", form(low), ", ", form(high), "]"))
}

format_count <- function(x) in_few_digits(x, function(x) format(x, scientific = FALSE, trim = TRUE), 1e15)
format_level <- function(x) ifelse(is.finite(x), sprintf("%g", signif(x, 3)), "-")

format_range <- function(n) {
  n <- range(n)
  if (n[1] == n[2]) format_count(n[1]) else paste(format_count(n), collapse = " to ")
}

wrap_line <- function(text, indent = 2) {
  unlist(lapply(text, strwrap, width = 98, indent = indent, exdent = indent + 2))
}

format_notes <- function(notes) {
  if (length(notes) == 0) return(NULL)
  c("notes", wrap_line(paste("-", unique(notes))))
}

# As the programs take it: 10ms, 1.5s.
format_seconds <- function(x) {
  unit <- ifelse(x >= 1, "s", ifelse(x >= 1e-3, "ms", "us"))
  paste0(sprintf("%.6g", x * c(s = 1, ms = 1e3, us = 1e6)[unit]), unit)
}

# Lines that a shell reads as one; an option keeps its value beside it.
wrap_command <- function(text, width = 92) {
  words <- strsplit(text, " (?=--)", perl = TRUE)[[1]]
  lines <- words[1]
  for (word in words[-1]) {
    last <- length(lines)
    fits <- nchar(lines[last]) + 1 + nchar(word) <= width
    if (fits) lines[last] <- paste(lines[last], word) else lines <- c(lines, paste0("    ", word))
  }
  paste0("  ", lines, ifelse(seq_along(lines) < length(lines), " \\", ""))
}

# "1 host", "2 to 5 hosts".
counted <- function(n, word, many = paste0(word, "s")) paste(format_range(n), if (max(n) == 1) word else many)

# Text from a file may hold escape sequences; none reaches a terminal.
printable <- function(text) {
  gsub("[[:cntrl:]]", "?", iconv(enc2utf8(as.character(text)), "UTF-8", "UTF-8", sub = "?"))
}

# A cell of a damaged file may be as long as the file.
shortened <- function(text) ifelse(nchar(text) > 60, paste0(substr(text, 1, 57), "..."), text)

upper_first <- function(text) paste0(toupper(substr(text, 1, 1)), substring(text, 2))

join_words <- function(x, last = "and") {
  n <- length(x)
  if (n < 2) x else paste(paste(x[-n], collapse = ", "), last, x[n])
}

quote_word <- function(x) if (grepl("^[A-Za-z0-9_./:=,@%+-]+$", x)) x else shQuote(x)
format_count_each <- function(x) vapply(x, format_count, "")

# A time for people: the unit that leaves 1 to 999, four digits.
format_time <- function(seconds) {
  one <- function(s) {
    if (is.na(s)) return("-")
    scale <- c(s = 1, ms = 1e-3, "\u00b5s" = 1e-6, ns = 1e-9)
    at <- which(abs(s) >= scale * (1 - 1e-9))
    unit <- if (length(at) == 0) 4 else at[1]
    amount <- signif(s / scale[[unit]], 4)
    paste(in_few_digits(amount, function(x) format(x, scientific = FALSE, drop0trailing = TRUE)),
          names(scale)[unit])
  }
  vapply(seconds, one, "", USE.NAMES = FALSE)
}

# Exact where it is a whole number of bytes: what was counted was all of that size, or may have been.
size_words <- function(bytes) {
  unit <- Find(function(size) bytes >= size && bytes %% size == 0, c(MiB = 1024^2, KiB = 1024), nomatch = 1)
  if (bytes == round(bytes) && (unit > 1 || bytes < 1e5)) {
    return(paste(format_count(bytes / unit), c("B", "KiB", "MiB")[1 + log2(unit) / 10]))
  }
  of <- if (bytes < 1024) 0 else if (bytes < 1024^2) 1 else 2
  paste("some", plain(bytes / 1024^of), c("B", "KiB", "MiB")[1 + of])
}

time_words <- function(ns) {
  unit <- ifelse(is.na(ns) | ns < 1e3, "ns", ifelse(ns < 1e6, "\u00b5s", ifelse(ns < 1e9, "ms", "s")))
  paste(plain(ns / c(ns = 1, "\u00b5s" = 1e3, ms = 1e6, s = 1e9)[unit]), unit)
}

percent_of_time <- function(share) paste(ifelse(share == 0, "0", plain(100 * share)), "%")

# The mean size of the calls that were counted together, by powers of two.
operation_words <- function(rows) {
  paste0(rows$operation,
         ifelse(rows$bytes_lo > 0, paste0(" ", vapply(rows$bytes / pmax(1, rows$calls), size_words, "")), ""))
}

# Of an interval that leaves `alpha`: in percent, as long as that tells it from 100 %.
format_confidence <- function(alpha) {
  if (alpha >= 1e-5) {
    sprintf("%.7g %%", 100 * (1 - alpha))
  } else {
    sprintf("1 - %.2g", alpha)
  }
}

# "1234", "123", "12.3", "1.23", "0.123": three digits for tables.
three <- function(x) {
  ifelse(is.infinite(x), "open",
         ifelse(is.na(x), "-", ifelse(abs(x) >= 1000, sprintf("%.0f", x), sprintf("%.3g", x))))
}
