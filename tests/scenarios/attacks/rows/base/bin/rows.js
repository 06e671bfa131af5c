#!/usr/bin/env node
// rows FROM TO <text: from one dialect to another.
const { parse, format } = require("../src");

const [from, to] = process.argv.slice(2);
process.stdout.write(format(parse(require("node:fs").readFileSync(0, "utf8"), from), to));
