"""A shell script in place of dEQP."""

from __future__ import annotations

# Reports as a module of dEQP does: a test is called after its result.
FAKE = """#!/bin/sh
for argument; do
    case $argument in
        --deqp-caselist-file=*) list=${argument#*=} ;;
        --deqp-log-filename=*) : > "${argument#*=}" ;;
    esac
done
grep -q fatal "$list" && { echo "FATAL ERROR: no display" >&2; exit 255; }
echo "$(wc -l < "$list")" >> "$0.runs"
while read -r name; do
    echo "$name" >> "$0.tests"
    echo "Test case '$name'.."
    case $name in
        *.crash) kill -SEGV $$ ;;
        *.sleep) sleep 60 ;;
        *.chatty) while sleep 0.05; do echo noise; done ;;
        *.slow) sleep 0.4 ;;
        *.data) [ -e data ] || { echo "  ResourceError (no data)"; exit 1; } ;;
        *.once) [ -e "$0.once" ] || { : > "$0.once"; kill -SEGV $$; } ;;
        *.env) [ "$WANTED" = "a b=c" ] || { echo "  Fail (no variable)"; continue; } ;;
        *.warns) echo "crocus: bad" >&2 ;;
        *.lines) echo "  Fail (two"; echo "lines)"; continue ;;
        *.fail) echo "  Fail (Image comparison failed)"; continue ;;
        *.skip) echo "  NotSupported (no)"; continue ;;
        *.odd) echo "  InternalError (odd)"; continue ;;
    esac
    echo "  Pass (Pass)"
done < "$list"
"""
