# Names of nodes in files of the site: lists as Slurm writes them, with or without domains.

# The nodes of a word of a file, such as n[1-4,07]. What has brackets is read by the one reader there is.
nodes_of_word <- function(word, file, line) {
  if (!grepl("[][]", word)) return(printable(Filter(nzchar, strsplit(word, ",", fixed = TRUE)[[1]])))
  reader <- file.path(system.file(package = "noiselab"), "..", "..", "..", "..", "libexec", "noiselab", "noiselab-sh")
  if (!file.exists(reader))
    abort_usage("'", file, "', line ", line, ": '", printable(shortened(word)), "' is a list of nodes, and the program that reads them is not here: ",
                "run noiselab as make, or make install, leaves it, or write a name for each node")
  if (nchar(word, "bytes") > 1e5) abort_damaged(file, line, "'", printable(shortened(word)), "' is too long for a list of nodes")
  said <- suppressWarnings(system2(reader, c("nodes", shQuote(word)), stdout = TRUE, stderr = TRUE))
  if (!is.null(attr(said, "status"))) abort_damaged(file, line, printable(sub("^noiselab-sh: ", "", said[1])))
  said
}

#' Which hosts names of a file mean
#'
#' As the detector has it: equal whatever their case, or the names before the first dot where one of the two is without its domain.
#'
#' @param names Character: names of the file. @param hosts Character: hosts of the campaign. @param option Character, length 1, for messages.
#' @return Integer, one per name: its index in `hosts`; NA: none. One that could be several hosts, and two that are one, are refused.
#' @noRd
hosts_meant <- function(names, hosts, option) {
  own <- tolower(hosts)
  short <- sub("\\..*", "", own)
  is_bare <- short == own
  at <- vapply(names, function(name) {
    name <- tolower(name)
    could <- which(own == name | short == sub("\\..*", "", name) & (is_bare | !grepl(".", name, fixed = TRUE)))
    if (length(could) > 1) abort_usage(option, ": '", name, "' could be ", few_words(hosts[could]), ": say it with its domain")
    if (length(could) == 1) could else NA_integer_
  }, 0L, USE.NAMES = FALSE)
  twin <- which(!is.na(at) & duplicated(at))
  if (length(twin) > 0) abort_usage(option, ": '", names[match(at[twin[1]], at)], "' and '", names[twin[1]], "' are one node")
  at
}

# `rows`: columns `line`, `host`.
refuse_twins <- function(rows, file, said) {
  twice <- which(duplicated(rows$host))
  if (length(twice) > 0) abort_damaged(file, rows$line[twice[1]], "'", rows$host[twice[1]], "' ", said)
}
