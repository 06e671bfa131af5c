const { separatorOf } = require("./dialects");

/** The text of rows. */
function format(rows, dialect = "comma") {
  const separator = separatorOf(dialect);
  const quote = (cell) => {
    const needs = cell.includes(separator) || cell.includes('"') || cell.includes("\n");
    return needs ? `"${cell.replaceAll('"', '""')}"` : cell;
  };
  return rows.map((row) => row.map(quote).join(separator) + "\n").join("");
}

module.exports = { format };
