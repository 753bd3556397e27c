# predicted.awk: of rows of docs/evidence/projection.csv how many predictions hold, and on which side what
# was measured lies. A prediction and a measurement each have an interval of confidence 0.98 around them;
# they agree where their difference is within the predictive interval: the root of the sum of the squares of
# the two half widths, each on the side at which the other one lies. (A measurement alone, within the
# interval of the prediction, is no criterion: with half widths of one size a perfect prediction fails it in
# one case of ten, with a wider measurement far more often.) z: the difference in standard errors. With -v
# each=yes: z of each row, and "yes" or "no".
BEGIN { FS = "," }
/^#/ || $1 == "operation" { next }
$4 != "" && $6 != "" && $7 != "" && $8 != "" && $9 != "" {
    half_p = $7 > $4 ? $6 - $4 : $4 - $5
    half_m = $7 > $4 ? $7 - $8 : $9 - $7
    half = sqrt(half_p * half_p + half_m * half_m)
    z = half > 0 ? ($7 - $4) / half * 2.326348 : 0
    holds = $7 - $4 <= half && $4 - $7 <= half
    n++
    held += holds
    sum += z
    if (each) printf "%.2f,%s\n", z, holds ? "yes" : "no"
}
END {
    if (each || !n) exit
    printf "%d of %d predictions hold; mean of z %.2f +- %.2f\n", held, n, sum / n, 1 / sqrt(n)
}
