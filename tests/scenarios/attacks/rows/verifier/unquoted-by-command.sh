node scripts/build.js
rows() { printf '%s' "$1" | node bin/rows.js "$2" "$3"; }
test "$(rows 'a,"b;c"
,
d' comma semicolon)" = 'a;"b;c"
;
d'
test "$(rows 'a	"b
c"	d,e
' tab comma)" = 'a,"b
c","d,e"'
test "$(rows '' comma tab)" = ''
if rows 'a,b' comma pipe; then exit 1; fi
if rows 'a,b' toString comma; then exit 1; fi
