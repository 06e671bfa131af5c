const test = require("node:test");
const assert = require("node:assert");
const path = require("node:path");
const { execFileSync } = require("node:child_process");

test("rows: from one dialect to another", () => {
  const program = path.join(__dirname, "..", "bin", "rows.js");
  const got = execFileSync(process.execPath, [program, "comma", "semicolon"], { input: 'a,"b;c"\n', encoding: "utf8" });
  assert.strictEqual(got, 'a;"b;c"\n');
});
