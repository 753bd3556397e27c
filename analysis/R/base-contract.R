# The tables that C and scripts read, too: common/contract/README.md says what their fields are. They are
# read when the package is installed.

# One table: a data frame of texts, `-` as NA.
contract_table <- function(name) {
  lines <- readLines(system.file("contract", paste0(name, ".table"), package = "noiselab", mustWork = TRUE),
                     encoding = "UTF-8")
  fields <- strsplit(lines[nzchar(lines) & !startsWith(lines, "#")], "\t", fixed = TRUE)
  odd <- which(lengths(fields) != length(fields[[1]]))
  if (length(odd) > 0) {
    stop("common/contract/", name, ".table: the line of '", fields[[odd[1]]][1], "' has ",
         length(fields[[odd[1]]]), " fields")
  }
  rows <- as.data.frame(do.call(rbind, fields[-1]))
  names(rows) <- fields[[1]]
  rows[rows == "-"] <- NA
  rows
}
