# The front end of noiselab compare.

# A function, because option() is in a file that is read later.
compare_options <- function() list(
  option("all", help = "print all tables instead of the answer on one screen"),
  option("margin", "PERCENT", "is the clean time (of an agent: its slowdown) within this margin? Decides the exit status"),
  option("paired", help = "compare the i-th launch of B with the i-th of A, in time"),
  option("alpha", "P", "two-sided level of slower/faster, one-sided of the margin (default 0.01)"),
  option("power", "P", "power at the detection limit (default 0.95)"),
  option("json", help = "print JSON"),
  option("csv", help = "print the estimates as CSV"),
  option("table", "NAME", "the table --csv prints: estimates or rows (all that is known of each)"),
  option("out", "FILE", "write there instead of to stdout"),
  option("plot", "FILE.png", "write a plot of the changes with their intervals as well"),
  option("report", "FILE.html", "write an HTML report as well"),
  option("help", help = "print this help")
)

compare_help <- function() {
  help_text(
    "Usage: noiselab compare [OPTIONS] A B",
    c("Compares two campaigns (directories of launches), B against A: before and after an upgrade, one node",
      "against another. The launch is the unit, so both need two launches or more. Two acceptance campaigns are",
      "compared figure by figure and node by node; --margin then is of every figure, and --paired and --plot do",
      "not apply."),
    compare_options(),
    c("Families (Holm's correction is over the rows of one):",
      sprintf("  %-14s %s", names(comparison_families), vapply(comparison_families, `[[`, "", "question")), "",
      "Exit status: 0 it worked, or the margin is kept (or B is faster); 1 slower by more than the margin;",
      "2 wrong usage, nothing to compare, or a damaged file; 3 the margin cannot be decided, or the data",
      "cannot answer; 70 a bug.")
  )
}

run_compare <- function(dirs, values, form) {
  if (length(dirs) != 2) abort_usage("wanted two directories, A and B, got ", length(dirs), " (try --help)")
  if (!is.null(values$plot) && !grepl("\\.png$", values$plot)) {
    abort_usage("--plot: '", values$plot, "' does not end in .png")
  }
  if (!is.null(values$report)) check_report_file(values$report, "--report")
  table_option(values, estimates_or_rows)
  margin <- margin_option(values$margin)
  alpha <- alpha_option(values$alpha)
  power <- power_option(values$power)
  if (all(dir.exists(dirs)) && length(unique(normalizePath(dirs))) == 1) {
    abort_usage("A and B are the same directory, '", dirs[1], "': give two campaigns")
  }
  accept <- vapply(dirs, has_acceptance, TRUE)
  if (all(accept)) return(run_compare_acceptance(dirs, values, form, alpha, power, margin))
  if (any(accept)) abort_usage("'", dirs[accept], "' is an acceptance campaign and '", dirs[!accept], "' is not: nothing to compare")
  comparison <- compare_campaigns(read_campaign(dirs[1], arms = "any"), read_campaign(dirs[2], arms = "any"), margin,
                                  alpha, power, paired = isTRUE(values$paired))
  if (!is.null(values$plot)) write_comparison_plot(comparison, values$plot)
  if (!is.null(values$report)) write_comparison_report(comparison, values$report)
  notes <- c(comparison$busy, comparison$notes)
  lines <- answered(form, values$table, pick(comparison, c("alpha", "power", "margin_percent", "paired", "answer", "sides", "differs")),
                    list(estimates = comparison_estimates(comparison), rows = comparison$rows), notes, format_comparison(comparison),
                    comparison_view(comparison, dirs), comparison$notes, if (!is.na(comparison$answer)) comparison$answer,
                    program = "noiselab-compare")
  write_output(as_lines(lines, values), values$out)
  attr(lines, "status")
}

write_comparison_plot <- function(comparison, file) {
  plot <- plot_compare(comparison)
  if (is.null(plot)) abort_data("--plot: no row has an interval to draw")
  write_atomically(file, function(path) {
    ggplot2::ggsave(path, plot, device = "png", width = 9, height = attr(plot, "height_in"), dpi = 110)
  })
}
