const test = require("node:test");
const assert = require("node:assert");
const { parse } = require("../src");
const sameRows = require("../lib/same-rows");
const cases = require("../fixtures/cases.json");

for (const { name, text, rows } of cases) {
  test(`parse: ${name}`, () => sameRows(parse(text), rows));
}

test("parse: other dialects", () => {
  assert.deepStrictEqual(parse("a;b\n", "semicolon"), [["a", "b"]]);
  assert.deepStrictEqual(parse("a\tb\n", "tab"), [["a", "b"]]);
});

test("parse: unknown dialect", () => {
  assert.throws(() => parse("a", "pipe"), RangeError);
});
