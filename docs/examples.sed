# How docs/examples.sh check makes the commands of the documents short: less time, fewer launches, no report. Lines that go on are joined before.

# experiments whose output the documents show are measured, the others only planned
/noiselab run .*--(submit|resume|hosts|out (first|collectd|exporter|before|after|accepted))( |$)/!s/noiselab run [a-z]+ /&--dry-run /
/noiselab run .*--(submit|resume|hosts)/s/noiselab run [a-z]+ /&--dry-run /

# launches that nothing looks at are only planned
/--out (early|where|preset|late)$|build.bin.noiselab-detect .*--seconds [^ ]+$/s/noiselab-detect/& --dry-run/

# times: of measuring, of loads, of recording; blocks that fit into them
/--dry-run/!s/--seconds [0-9a-z]+/--seconds 500ms/
s/--duration [0-9a-z]+/--duration 500ms/
s/(noiselab record .*--duration) 500ms/\1 2s/
# no load is late for a machine that is busy
/noiselab-gen .*--duration/s/--duration/--tolerance 100 &/
s/noiselab run sensitivity --out first/& --seconds 2 --no-report/
/--out (before|after)/s/--launches 5 /--launches 1 /

# agents: a start takes milliseconds, so short blocks do; collectd.conf has a shorter interval, too
/--out collectd/s/--agent-period 1s(.*)--seconds [^ ]+/--agent-period 100ms --block 200ms --agent-settle 100ms --no-report\1--seconds 3/
/--out exporter/s/--scrape-period 1s(.*)--seconds [^ ]+/--scrape-period 100ms --block 200ms --agent-settle 100ms --no-report\1--seconds 3/

# acceptance on the test cluster
/--out accepted/s/noiselab run acceptance/& --seconds 3s --launches 1 --self-check 40:4s --no-report/
s/(--write-limits|--reference) delivery/\1 accepted/
s/noiselab compare before-upgrade after-upgrade/cp -r accepted again; noiselab compare accepted again/
s/--nodes(=| )(16|4)\b/--nodes\13/

# docs/guides/extending.md: what a reader has added is not there; what was there stands for it
s,build/bin/,,g
s/^make( programs)?$/true/
s/--op NAME/--op barrier/
s/--kind NAME/--kind sum/
s/--kind spin,NAME/--kind spin,sum/
s/plot NAME DIR/plot trace first --csv --out plot.csv/
s/run NAME --dry-run/run reproducibility --ranks 1 --dry-run/

# the agents' examples listen where no other test does
s,127\.0\.0\.1:9100,127.0.0.1:PORT,g
s,--agent-cmd 'prometheus-node-exporter',--agent-cmd 'prometheus-node-exporter --web.listen-address=127.0.0.1:PORT',

# docs/guides/live.md: the folder of node_exporter and systemd are the machine's
s/noiselab top (--once|--json --duration [0-9a-z]+)/noiselab top \1 --interval 200ms/
s,(--openmetrics) /var/lib/prometheus/node-exporter/(noiselab.prom) --interval 15s,\1 \2 --interval 200ms --duration 500ms,
s,^(cp PREFIX/share/noiselab/live/|systemctl ).*,true,

# ---- left out with NOISELAB_TESTS=long: the same programs are run on two ranks by other tests, and ranks on busy CPUs wait for each other
/--dry-run/!s/noiselab run (sensitivity|agent) /&--ranks 1 --warmup 0s /
s/mpirun -n 2 --bind-to core noiselab-detect/noiselab-detect --warmup 0s/
s/noiselab run (sensitivity .*) --out before (>.*)/noiselab run \1 --dry-run \2; cp -r first before/
s/noiselab-detect (.*) --out second$/noiselab-detect \1 --dry-run --out second; cp -r first second/
