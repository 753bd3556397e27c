launch_alpha <- function(info, alpha) alpha
