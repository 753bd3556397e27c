# The noise of a simulated machine: one row per model. It belongs to the time slots of a launch, not to the
# arms that run in them, so nothing here knows an arm.

# `part`: `speed`, log time of everything in the slot (what the channel base sees, too); `lost`, ns of CPU
# time that other processes take in it; `scatter`, log time of its loop alone. `parameters`: their defaults.
# `draw` gets the number of slots, when they begin, and the parameters with `slot_s`, their length.
noise_models <- list(
  # the speed wanders and comes back; phi 1 is a random walk
  ar1 = list(
    part = "speed",
    parameters = list(sd = 0.002, phi = 0.99),
    draw = function(n, times_s, model) {
      as.numeric(stats::filter(stats::rnorm(n, 0, model$sd), model$phi, method = "recursive"))
    }
  ),
  # at all time scales: power 1/f^exponent over the launch
  one_over_f = list(
    part = "speed",
    parameters = list(sd = 0.004, exponent = 1),
    draw = function(n, times_s, model) {
      fractional_noise(stats::rnorm(n, 0, model$sd), model$exponent)
    }
  ),
  drift = list(part = "speed", parameters = list(percent_per_s = 0.5),
               draw = function(n, times_s, model) model$percent_per_s / 100 * times_s),
  # spikes with a tail of that index: no variance up to 2, no mean up to 1
  pareto = list(
    part = "lost",
    parameters = list(rate = 0.02, index = 1.5, scale_ns = 5e3),
    draw = function(n, times_s, model) {
      (stats::runif(n) < model$rate) * model$scale_ns * (stats::runif(n)^(-1 / model$index) - 1)
    }
  ),
  lognormal = list(
    part = "lost",
    parameters = list(rate = 0.2, median_ns = 2e4, sd_log = 1.5),
    draw = function(n, times_s, model) {
      (stats::runif(n) < model$rate) * model$median_ns * exp(model$sd_log * stats::rnorm(n))
    }
  ),
  # another program takes the share amplitude of a CPU for the share duty of each period, in every arm
  agent = list(
    part = "lost",
    parameters = list(period_s = 0.73, duty = 0.02, amplitude = 0.5),
    draw = function(n, times_s, model) {
      phase_s <- stats::runif(1) * model$period_s
      busy_s <- function(t) {
        whole <- floor(t / model$period_s)
        whole * model$duty * model$period_s + pmin(t - whole * model$period_s, model$duty * model$period_s)
      }
      from <- times_s + phase_s
      1e9 * model$amplitude * (busy_s(from + model$slot_s) - busy_s(from))
    }
  ),
  white = list(part = "scatter", parameters = list(sd = 0.004),
               draw = function(n, times_s, model) stats::rnorm(n, 0, model$sd))
)

# White noise through the filter whose power falls as 1/f^exponent: 0 leaves it as it is, 2 sums it up.
fractional_noise <- function(white, exponent) {
  n <- length(white)
  if (n < 2 || exponent == 0) return(white)
  k <- seq_len(n - 1)
  weights <- cumprod(c(1, (exponent / 2 + k - 1) / k))
  size <- stats::nextn(2 * n)
  pad <- numeric(size - n)
  product <- stats::fft(stats::fft(c(white, pad)) * stats::fft(c(weights, pad)), inverse = TRUE)
  Re(product[seq_len(n)]) / size
}

# What was asked for, names or a list of parameters by name, as a list of complete models. `defaults`: a
# list like it.
with_parameters <- function(wanted, table, defaults = list()) {
  if (is.character(wanted)) wanted <- stats::setNames(rep(list(list()), length(wanted)), wanted)
  stopifnot(names(wanted) %in% names(table), !anyDuplicated(names(wanted)))
  lapply(stats::setNames(names(wanted), names(wanted)), function(name) {
    given <- utils::modifyList(as.list(defaults[[name]]), as.list(wanted[[name]]))
    stopifnot(names(given) %in% names(table[[name]]$parameters))
    utils::modifyList(table[[name]]$parameters, given)
  })
}

# The sum of one part of the noise in each slot.
draw_noise <- function(noise, part, times_s, slot_s) {
  n <- length(times_s)
  total <- numeric(n)
  for (name in names(noise)) {
    if (noise_models[[name]]$part != part) next
    total <- total + noise_models[[name]]$draw(n, times_s, c(noise[[name]], slot_s = slot_s))
  }
  total
}
