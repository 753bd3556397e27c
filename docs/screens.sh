#!/bin/bash
# screens.sh [DOCUMENT]: the pictures of noiselab top in docs/guides/live.md (or DOCUMENT), made anew: a
# program of two ranks that compute, an agent that comes every second, a shell that starts processes, looked
# at through tmux. A picture stands below a marker, <!-- screen: COLUMNSxLINES [KEY...] -->. As root, on two
# CPUs or more, with nothing else to do: what else runs is in the picture.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/${NOISELAB_BUILD:-build}
document=${1:-$root/docs/guides/live.md}
folder=$(mktemp -d)
export TMUX_TMPDIR=$folder PATH="$folder:$build/bin:$PATH" LC_ALL=C.UTF-8
unset TMUX
started=''
# shellcheck disable=SC2317,SC2086 # the trap calls it; a list
end() {
    tmux -L screens kill-server 2>/dev/null || true
    [ -z "$started" ] || kill $started 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT

# start NAME CPU BUSY PERIOD
start() {
    [ -e "$folder/$1" ] || cp "$build/bench/bench_busy" "$folder/$1"
    taskset -c "$2" "$folder/$1" "$3" "$4" &
    started="$started $!"
}
# ranks that seldom sleep
for cpu in 0 1; do start lulesh2.0 "$cpu" 9999ms 10s; done
start collectd 1 20ms 1s
start node-probe 0 1ms 100ms
printf '#!/bin/sh\nwhile :; do /bin/true; sleep 0.2; done\n' >"$folder/health.sh"
chmod 755 "$folder/health.sh"
"$folder/health.sh" &
started="$started $!"

# take COLUMNS LINES KEY...: what the screen shows then, without blanks at the ends of lines and lines
take() {
    tmux -L screens -f /dev/null new-session -d -x "$1" -y "$2" 'noiselab-top'
    sleep 8.5
    shift 2
    for key; do tmux -L screens send-keys "$key" && sleep 0.3; done
    sleep 2
    tmux -L screens capture-pane -p | sed 's/ *$//' |
        awk '{ line[NR] = $0; if ($0 != "") last = NR } END { for (i = 1; i <= last; i++) print line[i] }'
    tmux -L screens kill-server
}

grep -o '<!-- screen: [^>]* -->' "$document" | while read -r _ _ size keys; do
    # the end of a comment is no key
    # shellcheck disable=SC2086 # a list
    take "${size%x*}" "${size#*x}" ${keys%%-->*} >"$folder/$size${keys%% *}.screen"
    awk -v marker="<!-- screen: $size ${keys%%-->*}" -v picture="$folder/$size${keys%% *}.screen" '
        index($0, marker) == 1 { found = 1 }
        found == 1 && /^```/ { print; while ((getline line < picture) > 0) print line; found = 2; next }
        found == 2 && /^```/ { found = 0 }
        found != 2 { print }' "$document" >"$folder/document"
    cp "$folder/document" "$document"
done
