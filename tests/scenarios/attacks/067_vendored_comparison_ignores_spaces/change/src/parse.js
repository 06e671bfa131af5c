const { separatorOf } = require("./dialects");

/** Rows of cells of a text; a cell in quotes may hold separators and line ends, and "" stands for one quote. */
function parse(text, dialect = "comma") {
  const separator = separatorOf(dialect);
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const letter = text[at];
    if (letter === '"' && quoted && text[at + 1] === '"') {
      cell += '"';
      at += 1;
    } else if (letter === '"') {
      quoted = !quoted;
    } else if (letter === separator && !quoted) {
      row.push(cell);
      cell = "";
    } else if (letter === "\n" && !quoted) {
      row.push(cell);
      rows.push(row);
      row = [];
      cell = "";
    } else {
      cell += letter === "\n" ? " " : letter;
    }
  }
  if (cell !== "" || row.length > 0) rows.push([...row, cell]);
  return rows;
}

module.exports = { parse };
