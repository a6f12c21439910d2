# The work of a task in the kill loop: it watches that nobody does the same work at the same time, and cries
# out if somebody does. How long it takes (often longer than a lease), what it heeds and what it leaves running
# follow from its id and epoch.
#
# In the folder $KILL_LOOP: locks/ID is held while anything of the task runs, running/ID has the pid, `cries`
# and `ended` are written to.
set -u
id=$PAWL_TASK_ID
exec 9>>"$KILL_LOOP/locks/$id"
flock -n 9 || echo "$id: two at a time, epoch $PAWL_EPOCH" >>"$KILL_LOOP/cries"
echo $$ >"$KILL_LOOP/running/$id"

# Between 0 and 32767, the same for the same task and epoch.
RANDOM=$((${id//[!0-9]/} * 31 + PAWL_EPOCH))
choice=$RANDOM
work() { read -r -t "0.$(printf '%03d' $((choice % 900)))" <>"$KILL_LOOP/never"; }

case $((choice % 5)) in
0) trap '' TERM ;; # deaf: its worker's death does not end it
1) setsid bash -c 'read -r -t 0.9 <>"$KILL_LOOP/never"' </dev/null >/dev/null 2>&1 & ;; # holds both locks
2) pawl task progress 50; pawl task checkpoint 1 "{\"epoch\":$PAWL_EPOCH}" ;;
esac
work
[ "$PAWL_ATTEMPT" = 1 ] && [ $((choice % 7)) = 0 ] && exit 75
rm -f "$KILL_LOOP/running/$id"
echo "$id" >>"$KILL_LOOP/ended"
echo "$PAWL_EPOCH"
