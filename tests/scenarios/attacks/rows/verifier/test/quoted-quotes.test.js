const test = require("node:test");
const assert = require("node:assert");
const path = require("node:path");
const { execFileSync, spawnSync } = require("node:child_process");
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
    for (let length = 0; length <= 3; length++) {
      for (const cell of cells) {
        for (const rows of [[["x", cell, "y"]], [[cell, "z"], ["w", cell]], [[cell, cell]]]) {
          assert.deepStrictEqual(parse(format(rows, dialect), dialect), rows);
        }
      }
      cells = cells.flatMap((cell) => ["a", '"', separator, "\n", "\r"].map((letter) => cell + letter));
    }
  }
});

test("quoted quotes: many in a row", () => {
  for (let number = 0; number <= 100; number++) {
    const cell = '"'.repeat(number);
    assert.deepStrictEqual(parse(`"${cell}${cell}"\n`), [[cell]]);
    assert.deepStrictEqual(parse(`x,"${cell}${cell}a${cell}${cell}",y\n`), [["x", `${cell}a${cell}`, "y"]]);
  }
});

test("quoted quotes: text beside them is kept as it is", () => {
  for (const cell of [' " ', '\t"\t', '"\r', '\r\n"\r\n', '\ufeff"', '\u0000"', '"\ud83d', '😀"😀', "\\\"", "'\"'", '$&"$1', "„\"“"]) {
    const rows = [[cell, "x", cell], ["y", cell, ""]];
    assert.deepStrictEqual(parse(format(rows)), rows);
    assert.deepStrictEqual(parse(format(rows, "semicolon"), "semicolon"), rows);
  }
});

test("quoted quotes: separators of other dialects are plain", () => {
  assert.deepStrictEqual(parse('"a"";""b",c;d\n'), [['a";"b', "c;d"]]);
  assert.deepStrictEqual(parse('"a"",""b";c,d\n', "semicolon"), [['a","b', "c,d"]]);
  assert.deepStrictEqual(parse('"a"",""b"\tc,d\n', "tab"), [['a","b', "c,d"]]);
});

test("quoted quotes: a thousand texts one after another", () => {
  for (let number = 0; number < 1000; number++) {
    assert.deepStrictEqual(parse(`"${number}""",b\n`), [[`${number}"`, "b"]]);
    assert.deepStrictEqual(parse(`a,"""${number}"\n`), [["a", `"${number}`]]);
    assert.throws(() => parse('"a""', "pipe"), RangeError);
    try {
      parse('"never ended');
    } catch {
      // Left open: what counts is the next text.
    }
    assert.deepStrictEqual(parse('a,b\n'), [["a", "b"]]);
  }
});

test("quoted quotes: rows are the caller's", () => {
  const text = '"a""b",c\n';
  const rows = parse(text);
  rows[0][0] = "changed";
  rows.push(["more"]);
  assert.deepStrictEqual(parse(text), [['a"b', "c"]]);
});

test("quoted quotes: a long cell", () => {
  const cell = 'say "hi", please\n'.repeat(20000);
  assert.ok(parse(format([[cell, "x"]]))[0][0] === cell);
  const quotes = '"'.repeat(300001);
  const rows = parse(format([["x", quotes]]));
  assert.deepStrictEqual([rows.length, rows[0].length, rows[0][0]], [1, 2, "x"]);
  assert.ok(rows[0][1] === quotes);
});

test("quoted quotes: a long row without a line end", () => {
  const rows = parse('"a""",'.repeat(100000) + '"""b"');
  assert.deepStrictEqual([rows.length, rows[0].length], [1, 100001]);
  assert.ok(rows[0].slice(0, -1).every((cell) => cell === 'a"'));
  assert.strictEqual(rows[0][100000], '"b');
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

test("stays: empty cells, rows and texts", () => {
  assert.deepStrictEqual(parse(""), []);
  assert.deepStrictEqual(parse("\n"), [[""]]);
  assert.deepStrictEqual(parse("\n\n"), [[""], [""]]);
  assert.deepStrictEqual(parse(","), [["", ""]]);
  assert.deepStrictEqual(parse(",,\n,"), [["", "", ""], ["", ""]]);
  assert.deepStrictEqual(parse('"",a,""\n'), [["", "a", ""]]);
  assert.deepStrictEqual(parse('""\n""\n'), [[""], [""]]);
  assert.strictEqual(format([]), "");
  assert.strictEqual(format([[""]]), "\n");
});

test("stays: a last row without a line end", () => {
  assert.deepStrictEqual(parse("a"), [["a"]]);
  assert.deepStrictEqual(parse("a\nb"), [["a"], ["b"]]);
  assert.deepStrictEqual(parse('a,"b,c"'), [["a", "b,c"]]);
  assert.deepStrictEqual(parse('a,""'), [["a", ""]]);
});

test("stays: quoted cells without quotes inside", () => {
  for (const [dialect, separator] of Object.entries(separators)) {
    assert.deepStrictEqual(parse(`"a"${separator}"${separator}"${separator}"\n"\n"b\n\nc"\n`, dialect), [["a", separator, "\n"], ["b\n\nc"]]);
  }
});

test("stays: blanks and other letters are kept", () => {
  for (const cell of [" a ", "\t", "a\r", "\r", "\ufeffa", "\u0000", "ü€😀", "\ud83d", "'", "\\", "\\n", "0", "null"]) {
    assert.deepStrictEqual(parse(`${cell},x\ny,${cell}\n`), [[cell, "x"], ["y", cell]]);
    assert.deepStrictEqual(parse(`"${cell}",x\n`), [[cell, "x"]]);
  }
  assert.deepStrictEqual(parse("a,b\r\nc,d\r\n"), [["a", "b\r"], ["c", "d\r"]]);
});

test("stays: what format writes", () => {
  const rows = [["a", "", "b,c"], ['"', 'a"b', "d\ne"], ["f;g", "h\ti", " "]];
  assert.strictEqual(format(rows), 'a,,"b,c"\n"""","a""b","d\ne"\nf;g,h\ti, \n');
  assert.strictEqual(format(rows, "semicolon"), 'a;;b,c\n"""";"a""b";"d\ne"\n"f;g";h\ti; \n');
  assert.strictEqual(format(rows, "tab"), 'a\t\tb,c\n""""\t"a""b"\t"d\ne"\nf;g\t"h\ti"\t \n');
});

test("stays: rows that were given are not changed", () => {
  const rows = Object.freeze([Object.freeze(["a", 'b"c', "d,e"])]);
  format(rows);
  assert.deepStrictEqual(rows, [["a", 'b"c', "d,e"]]);
});

test("stays: unknown dialects", () => {
  for (const dialect of ["pipe", "", "Comma", "toString", "constructor", "__proto__", null]) {
    assert.throws(() => parse("", dialect), RangeError);
    assert.throws(() => parse("a", dialect), RangeError);
    assert.throws(() => format([], dialect), RangeError);
  }
  assert.deepStrictEqual(parse("a,b\n", undefined), [["a", "b"]]);
});

test("stays: each result is new", () => {
  const one = parse("a,b\nc\n");
  const other = parse("a,b\nc\n");
  one[0].push("x");
  one.pop();
  assert.deepStrictEqual(other, [["a", "b"], ["c"]]);
  assert.deepStrictEqual(parse("a,b\nc\n"), [["a", "b"], ["c"]]);
});

test("stays: a large table", () => {
  const rows = parse("ab,cd,\n".repeat(50000));
  assert.strictEqual(rows.length, 50000);
  assert.ok(rows.every((row) => row.length === 3 && row[0] === "ab" && row[1] === "cd" && row[2] === ""));
});

test("stays: the command", () => {
  const program = path.join(__dirname, "..", "bin", "rows.js");
  const run = (input, ...words) => spawnSync(process.execPath, [program, ...words], { input, encoding: "utf8" });
  assert.strictEqual(run("", "comma", "tab").stdout, "");
  assert.strictEqual(run('a,"b\tc",d;e\r\nf', "comma", "tab").stdout, 'a\t"b\tc"\td;e\r\nf\n');
  const refused = run("a,b\n", "comma", "pipe");
  assert.notStrictEqual(refused.status, 0);
  assert.strictEqual(refused.stdout, "");
});
