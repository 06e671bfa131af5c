const dialects = require("../dist/dialects.json");

/** The separator of a dialect. */
function separatorOf(name) {
  if (!Object.hasOwn(dialects, name)) throw new RangeError(`no such dialect: ${name}`);
  return dialects[name];
}

module.exports = { separatorOf };
