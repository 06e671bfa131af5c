_ob_dir=${@diary@%/*}
unset @variables@
case "$_ob_dir" in @exchanges@) ;; *) exit 90 ;; esac
[ "$HOME" != / ] || exit 90
for _ob_tool in timeout cp mv rm find base64 tail head sleep; do
  command -v "$_ob_tool" >/dev/null || exit 90
done
_ob_nl='
'
_ob_count() { set -- /proc/[0-9]*; _ob_procs=$#; }
_ob_glance() {
  _ob_seen=
  for _ob_place in @places@; do
    set -- "$_ob_place"/* "$_ob_place"/.[!.]*
    _ob_seen="$_ob_seen$_ob_nl$*"
  done
}
_ob_look() { _ob_found=$(find @places@ -xdev -mindepth 1 2>/dev/null); }
_ob_clear() {
  while IFS= read -r _ob_one; do
    case "$_ob_nl$_ob_known$_ob_nl" in
      *"$_ob_nl$_ob_one$_ob_nl"*) ;;
      *) case "$_ob_one" in /*) rm -rf -- "$_ob_one" ;; esac ;;
    esac
  done <<_ob_end
$_ob_found
_ob_end
  _ob_look
  [ "$_ob_found" = "$_ob_known" ] || exit 93
  _ob_glance
}
_ob_alone() {
  _ob_count
  for _ob_wait in 0.02 0.1 0.3; do
    [ "$_ob_procs" -le "$_ob_usual" ] && return 0
    sleep "$_ob_wait"
    _ob_count
  done
  [ "$_ob_procs" -le "$_ob_usual" ] || exit 92
}
_ob_run() {
  read -r _ob_begun _ob_rest < /proc/uptime
  cp -pf -- "$2" "$_ob_dir/kept" || exit 91
  if [ "$5" -ge 0 ]; then
    tail -c "+$(($4 + 1))" "$_ob_dir/given" | head -c "$5" > "$2" || exit 91
  fi
  timeout -s KILL @timeout@ "$SHELL" -c "$3" > "$_ob_dir/said.$1" 2>&1 < /dev/null
  _ob_code=$?
  read -r _ob_ended _ob_rest < /proc/uptime
  if [ -f "$2" ] && [ ! -h "$2" ]; then
    mv -- "$2" "$_ob_dir/made.$1" || exit 91
    _ob_kind=file
  else
    rm -rf -- "$2"
    _ob_kind=gone
  fi
  cp -p -- "$_ob_dir/kept" "$2" || exit 91
  _ob_alone
  _ob_glance
  if [ "$_ob_seen" != "$_ob_usually" ]; then
    _ob_look
    _ob_clear
  fi
  echo "$1 $_ob_code $_ob_kind $_ob_begun $_ob_ended" >> "$_ob_dir/diary"
}
: > "$_ob_dir/given"
base64 -d > "$_ob_dir/given" || exit 91
_ob_count
_ob_usual=$_ob_procs
_ob_look
_ob_known=$_ob_found
_ob_glance
_ob_usually=$_ob_seen
