node scripts/build.js
work() {
  node - <<'END'
const { parse } = require("./src");
for (const text of ['"a""b"\n', '""""\n', '""""""', '"a"",""b",c\n', 'x,"""\n""",y\n', '"a""","""b"\n"""c""",d\n', '"",""\n', '"a,b","c\nd"\n']) {
  console.log(JSON.stringify(parse(text)));
}
console.log(JSON.stringify(parse('"a"";""b";c\n', "semicolon")), JSON.stringify(parse('"\t""\t"\t""\n', "tab")));
END
}
wanted='[["a\"b"]]
[["\""]]
[["\"\""]]
[["a\",\"b","c"]]
[["x","\"\n\"","y"]]
[["a\"","\"b"],["\"c\"","d"]]
[["",""]]
[["a,b","c\nd"]]
[["a\";\"b","c"]] [["\t\"\t",""]]'
test "$(work)" = "$wanted"
test "$(work)" = "$wanted"
