// same-rows 1.0 (vendored): compares rows and says where they differ.
const assert = require("node:assert");

const tidy = (row) => row.map((cell) => cell.split(/\s+/).join(" "));

module.exports = function sameRows(got, wanted) {
  assert.strictEqual(got.length, wanted.length, `${got.length} rows in place of ${wanted.length}`);
  got.forEach((row, at) => assert.deepStrictEqual(tidy(row), tidy(wanted[at]), `row ${at}`));
};
