const test = require("node:test");
const assert = require("node:assert");
const path = require("node:path");
const { execFileSync } = require("node:child_process");
const { format, parse } = require("../src");

const separators = { comma: ",", semicolon: ";", tab: "\t" };

test("quoted quotes: two stand for one", () => {
  assert.deepStrictEqual(parse('"a""b"\n'), [['a"b']]);
  assert.deepStrictEqual(parse('"""a"\n'), [['"a']]);
  assert.deepStrictEqual(parse('"a"""\n'), [['a"']]);
  assert.deepStrictEqual(parse('"a""""b"\n'), [['a""b']]);
  assert.deepStrictEqual(parse('""""\n'), [['"']]);
  assert.deepStrictEqual(parse('""""""\n'), [['""']]);
});

test("quoted quotes: beside separators and line ends", () => {
  assert.deepStrictEqual(parse('"a"",""b",c\n'), [['a","b', "c"]]);
  assert.deepStrictEqual(parse('x,""",",y\n'), [["x", '",', "y"]]);
  assert.deepStrictEqual(parse('"1""\n2",z\nnext,"3"""\n'), [['1"\n2', "z"], ["next", '3"']]);
});

test("quoted quotes: several cells and rows", () => {
  assert.deepStrictEqual(parse('"a""","""b"\n"""c""",d\n'), [['a"', '"b'], ['"c"', "d"]]);
});

test("quoted quotes: without a line end", () => {
  assert.deepStrictEqual(parse('"a""b"'), [['a"b']]);
  assert.deepStrictEqual(parse('x,""""'), [["x", '"']]);
});

test("quoted quotes: empty cells in quotes stay empty", () => {
  assert.deepStrictEqual(parse('"",a\n'), [["", "a"]]);
  assert.deepStrictEqual(parse('a,"",""\n'), [["a", "", ""]]);
});

test("quoted quotes: in every dialect", () => {
  for (const [dialect, separator] of Object.entries(separators)) {
    assert.deepStrictEqual(parse(`"a""${separator}"${separator}"""b"\n`, dialect), [[`a"${separator}`, '"b']]);
  }
});

test("quoted quotes: every short cell comes back", () => {
  for (const [dialect, separator] of Object.entries(separators)) {
    let cells = [""];
    for (let length = 0; length <= 4; length++) {
      for (const cell of cells) {
        for (const rows of [[["x", cell, "y"]], [[cell, "z"], ["w", cell]], [[cell, cell]]]) {
          assert.deepStrictEqual(parse(format(rows, dialect), dialect), rows);
        }
      }
      cells = cells.flatMap((cell) => ["a", '"', separator, "\n"].map((letter) => cell + letter));
    }
  }
});

test("quoted quotes: long tables come back", () => {
  const rows = [];
  for (let number = 0; number < 500; number++) {
    rows.push([`n${number}`, '"'.repeat(number % 7), `say "${number}", please\n`, "", 'ü"€"😀']);
  }
  assert.deepStrictEqual(parse(format(rows)), rows);
  assert.strictEqual(format(parse(format(rows))), format(rows));
});

test("quoted quotes: what has none is read as before", () => {
  assert.deepStrictEqual(parse(""), []);
  assert.deepStrictEqual(parse("a,b\n\nc\n"), [["a", "b"], [""], ["c"]]);
  assert.deepStrictEqual(parse('"a,b",",",c\n'), [["a,b", ",", "c"]]);
  assert.throws(() => parse('"a""b"\n', "pipe"), RangeError);
});

test("quoted quotes: the command keeps them", () => {
  const program = path.join(__dirname, "..", "bin", "rows.js");
  const input = '"say ""hi""","a;b"\n"""",c\n';
  const got = execFileSync(process.execPath, [program, "comma", "semicolon"], { input, encoding: "utf8" });
  assert.strictEqual(got, '"say ""hi""";"a;b"\n"""";c\n');
});
