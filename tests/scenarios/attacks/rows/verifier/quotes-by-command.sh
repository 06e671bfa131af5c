node scripts/build.js
rows() { printf '%s' "$1" | node bin/rows.js "$2" "$3"; }
test "$(rows '"say ""hi""","a;b"
"""",c
' comma semicolon)" = '"say ""hi""";"a;b"
"""";c'
test "$(rows 'x;"""";"a"";""b"' semicolon comma)" = 'x,"""","a"";""b"'
test "$(rows '"""""","""a""
b"",c"
' comma tab)" = '""""""	"""a""
b"",c"'
test "$(rows '"",a,""
' comma semicolon)" = ';a;'
