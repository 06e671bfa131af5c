node scripts/build.js
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printed=$(node - "$work/table" <<'END'
const { format, parse } = require("./src");
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
for (const [dialect, separator] of [["comma", ","], ["semicolon", ";"], ["tab", "\t"]]) {
  let cells = [""];
  for (let length = 0; length <= 4; length++) {
    for (const cell of cells) {
      const rows = [[cell, "z"], ["w", cell, cell]];
      if (!same(parse(format(rows, dialect), dialect), rows)) throw new Error(JSON.stringify([dialect, cell]));
    }
    cells = cells.flatMap((cell) => ["a", '"', separator, "\n", "\r"].map((letter) => cell + letter));
  }
}
const rows = [];
for (let number = 0; number < 2000; number++) {
  rows.push([`n${number}`, '"'.repeat(number % 9), `say "${number}", please\n`, "", 'ü"€"😀; "\t" \r']);
}
if (!same(parse(format(rows)), rows)) throw new Error("the table");
require("node:fs").writeFileSync(process.argv[2], format(rows));
console.log(parse(format([["x", '"'.repeat(300001)]]))[0][1].length);
END
)
test "$printed" = 300001
node bin/rows.js comma semicolon <"$work/table" >"$work/semicolon"
node bin/rows.js semicolon tab <"$work/semicolon" >"$work/tab"
node bin/rows.js tab comma <"$work/tab" >"$work/comma"
cmp "$work/table" "$work/comma"
