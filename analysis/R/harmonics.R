# Lines of one period: a short burst per period has many harmonics, and the period they share is the finding.

harmonic_sums <- 2^(0:6)
most_harmonics <- 256

# The family of harmonics that stands out most, or NULL when none has a false-alarm probability up to alpha.
# `near`: look at fundamentals within `within_hz` of this frequency only, which costs fewer trials.
find_family <- function(spectrum, alpha, near = NULL, within_hz = 0) {
  if (nrow(spectrum) == 0) return(NULL)
  grid <- spectrum_grid(spectrum)
  best <- NULL
  for (n_sum in harmonic_sums) {
    j <- seq_len(length(grid$z))
    j <- j[j >= n_sum * grid$lowest]
    if (!is.null(near)) j <- j[abs(j * grid$step / n_sum - near) <= within_hz]
    if (length(j) == 0) next
    sums <- numeric(length(j))
    for (k in seq_len(n_sum)) sums <- sums + grid$z[round(j * k / n_sum)]
    top <- which.max(sums)
    # A sum of n exponential variables is gamma distributed; all sums and places tried count.
    z <- -stats::pgamma(sums[top], n_sum, lower.tail = FALSE, log.p = TRUE)
    fap <- min(1, length(harmonic_sums) * false_alarm(z, length(j)))
    if (is.null(best) || fap < best$fap || fap == best$fap && z > best$z) {
      best <- list(frequency_hz = j[top] * grid$step / n_sum, fap = fap, z = z)
    }
  }
  if (is.null(best) || best$fap > alpha) return(NULL)
  best$frequency_hz <- fundamental_of(best$frequency_hz, grid)
  best
}

# z and excess power on the full grid of frequencies step, 2 step, ...
spectrum_grid <- function(spectrum) {
  step <- attr(spectrum, "step_hz")
  j <- round(spectrum$frequency_hz / step)
  full <- function(v) replace(numeric(max(j)), j, v)
  list(z = full(spectrum$z), excess = full(spectrum$power - spectrum$background),
       background = full(spectrum$background),
       step = step, lowest = ceiling(3 / attr(spectrum, "span_s") / step * (1 - 1e-9)))
}

# Where the k-th harmonics are; those above the highest frequency are left out.
harmonic_places <- function(frequency, k, grid) {
  j <- round(k * frequency / grid$step)
  j[j >= 1 & j <= length(grid$z)]
}

small_primes <- c(2, 3, 5, 7)

# A sum may have found every second, third ... harmonic only, or multiples of a longer period than the true one. The
# harmonics that tell the two apart are there, as strong as the others, or they are not.
fundamental_of <- function(frequency, grid) {
  for (round in 1:20) {
    next_one <- longer_period(frequency, grid) %||% shorter_period(frequency, grid)
    if (is.null(next_one)) break
    frequency <- next_one
  }
  frequency
}

longer_period <- function(frequency, grid) {
  for (p in small_primes) {
    if (frequency / p < grid$lowest * grid$step) next
    parts <- harmonics_by(frequency / p, p, 8 * p, grid)
    if (present(parts$others) && mean(parts$others_excess) >= 0.25 * mean(parts$multiples_excess)) return(frequency / p)
  }
  NULL
}

shorter_period <- function(frequency, grid) {
  for (p in small_primes) {
    parts <- harmonics_by(frequency, p, 8 * p, grid)
    if (length(parts$multiples) == 0 || !present(parts$multiples)) next
    if (!present(parts$others, 0.01)) return(p * frequency)
  }
  NULL
}

harmonics_by <- function(frequency, p, most, grid) {
  k <- seq_len(max(p, min(most, most_harmonics)))
  multiple <- harmonic_places(frequency, k[k %% p == 0], grid)
  other <- harmonic_places(frequency, k[k %% p != 0], grid)
  list(multiples = grid$z[multiple], others = grid$z[other], multiples_excess = grid$excess[multiple],
       others_excess = grid$excess[other])
}

present <- function(z, p = 1e-4) length(z) > 0 && stats::pgamma(sum(z), length(z), lower.tail = FALSE) < p

# The lines of a period that stand out by themselves: harmonic number, place, and by how much. Chance alone shows one
# in a hundred series.
harmonic_lines <- function(spectrum, frequency, most = most_harmonics) {
  grid <- spectrum_grid(spectrum)
  k <- seq_len(min(most, floor(length(grid$z) * grid$step / frequency)))
  j <- round(k * frequency / grid$step)
  keep <- j >= 1 & j <= length(grid$z)
  k <- k[keep]
  at <- match(j[keep], round(spectrum$frequency_hz / grid$step))
  out <- which(spectrum$z[at] > log(length(k) / 0.01))
  data.frame(harmonic = k[out], spectrum[at[out], c("frequency_hz", "period_s", "amplitude", "z")], row.names = NULL)
}

# Frequency to a fraction of the resolution, by the phases of its strongest harmonics in parts of the series, and
# its standard error. A line of known place has var(f) = 3 / (2 z) / (pi T)^2, its k-th harmonic tells k times as much.
refine_frequency <- function(x, t_s, frequency, spectrum, parts = 64, most = 12) {
  span <- attr(spectrum, "span_s")
  lines <- harmonic_lines(spectrum, frequency)
  if (nrow(lines) == 0) lines <- data.frame(harmonic = 1, z = 1)
  lines <- utils::head(lines[order(-lines$z * lines$harmonic^2), ], most)
  y <- x - mean(x)
  part <- floor((t_s - t_s[1]) / span * parts)
  middle <- (as.numeric(unique(part)) + 0.5) / parts * span + t_s[1]
  sums <- lapply(lines$harmonic, function(k) {
    angle <- 2 * pi * ((k * frequency * t_s) %% 1)
    s <- rowsum(cbind(y * cos(angle), -y * sin(angle)), part, reorder = FALSE)
    complex(real = s[, 1], imaginary = s[, 2])
  })
  # Power over background, so that a strong line in strong noise does not outvote the others.
  level <- spectrum_grid(spectrum)$background[harmonic_places(frequency, lines$harmonic, spectrum_grid(spectrum))]
  together <- function(shift) {
    sum(vapply(seq_along(sums), function(i) {
      Mod(sum(sums[[i]] * exp(-2i * pi * lines$harmonic[i] * shift * middle)))^2 / level[i]
    }, 0))
  }
  reach <- attr(spectrum, "step_hz") / max(1, min(lines$harmonic))
  shifts <- seq(-reach, reach, length.out = 1 + 2 * ceiling(8 * max(lines$harmonic) / max(1, min(lines$harmonic))))
  top <- shifts[which.max(vapply(shifts, together, 0))]
  found <- stats::optimize(together, top + c(-1, 1) * diff(shifts[1:2]), maximum = TRUE, tol = 1e-6 * reach)$maximum
  list(frequency_hz = frequency + found, se_hz = sqrt(3 / (2 * sum(lines$harmonic^2 * lines$z))) / (pi * span))
}

# Sine that would have been found with the power asked for: semi-amplitude at each frequency searched.
line_limit <- function(spectrum, alpha, power) {
  searched <- spectrum[!is.na(spectrum$fap), ]
  if (nrow(searched) == 0) return(searched[c("period_s", "amplitude")])
  z <- critical_z(alpha, attr(spectrum, "searched"))
  critical <- searched$worth * expm1(z / searched$worth)
  some <- exp(seq(log(min(critical)), log(max(critical)), length.out = 20))
  ncp <- vapply(unique(some), function(r) noncentrality(2 * r, 2, power), 0)
  if (length(ncp) > 1) ncp <- stats::approx(log(unique(some)), ncp, log(critical), rule = 2)$y
  data.frame(period_s = searched$period_s, amplitude = sqrt(2 * ncp * searched$background / attr(spectrum, "n")))
}

# The noncentrality at which chi-square exceeds `critical` with probability `power`.
noncentrality <- function(critical, df, power) {
  short <- function(ncp) stats::pchisq(critical, df, ncp, lower.tail = FALSE) - power
  stats::uniroot(short, c(0, 10), extendInt = "upX", tol = 1e-6)$root
}
