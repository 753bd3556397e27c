#!/usr/bin/env bats
# What the guide to live views hands out: the dashboard against a schema of what Grafana reads of one, and the
# unit of systemd.

load ../helpers

setup() {
    at_home
    root=$BATS_TEST_DIRNAME/../..
}

# bats test_tags=quick
@test "the dashboard is valid by the schema of dashboards, and its panels lie beside each other" {
    python3 -c 'import jsonschema' 2>/dev/null ||
        skip 'python3-jsonschema is not installed (tests/deps.sh agents)'
    python3 - "$root/docs/sample/noiselab-live.json" "$root/tests/cli/dashboard.schema.json" <<'END'
import json, sys
import jsonschema
dashboard, schema = (json.load(open(name)) for name in sys.argv[1:])
jsonschema.Draft7Validator.check_schema(schema)
errors = list(jsonschema.Draft7Validator(schema).iter_errors(dashboard))
for error in errors:
    print(list(error.path), error.message)
assert not errors
ids = [panel["id"] for panel in dashboard["panels"]]
assert len(set(ids)) == len(ids)
taken = set()
for panel in dashboard["panels"]:
    place = panel["gridPos"]
    assert place["x"] + place["w"] <= 24
    cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
             for y in range(place["y"], place["y"] + place["h"])}
    assert not cells & taken, panel["title"]
    taken |= cells
# a schema that accepts anything would prove nothing
for bad in ({}, {**dashboard, "panels": [{**dashboard["panels"][0], "targets": [{"refId": "A"}]}]},
            {**dashboard, "schemaVersion": "38"}):
    assert list(jsonschema.Draft7Validator(schema).iter_errors(bad))
END
}

# bats test_tags=quick
@test "systemd finds nothing in the unit, which runs a command that noiselab-top takes" {
    unit=$root/packaging/systemd/noiselab-top.service
    # the words of its command are options that there are
    sed -n 's|^ExecStart=/usr/bin/noiselab-top ||p' "$unit" | tr ' ' '\n' | grep '^--' |
        while read -r option; do
        cut -f 1,3 "$BUILD/share/noiselab/words.tsv" 2>/dev/null | grep -qxF "noiselab-top"$'\t'"$option" ||
            noiselab-top --list-tables | cut -f 2 | grep -qxF -- "$option"
    done
    command -v systemd-analyze >/dev/null || skip 'systemd-analyze is not installed'
    sed "s|/usr/bin/noiselab-top|$(command -v noiselab-top)|" "$unit" >noiselab-top.service
    run systemd-analyze verify --man=no ./noiselab-top.service
    # of this file alone: the machine's own units are its own business
    ! grep 'noiselab-top' <<<"$output"
}
