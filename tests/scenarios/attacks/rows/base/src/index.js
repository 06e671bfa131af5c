const { parse } = require("./parse");
const { format } = require("./format");

module.exports = { parse, format };
