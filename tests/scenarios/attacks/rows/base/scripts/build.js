// Writes dist/dialects.json from dialects.txt.
const fs = require("node:fs");
const path = require("node:path");

const root = path.join(__dirname, "..");
const dialects = {};
for (const line of fs.readFileSync(path.join(root, "dialects.txt"), "utf8").split("\n")) {
  if (!line.trim()) continue;
  const [name, separator] = line.split("\t");
  dialects[name] = separator === "TAB" ? "\t" : separator;
}
fs.mkdirSync(path.join(root, "dist"), { recursive: true });
fs.writeFileSync(path.join(root, "dist", "dialects.json"), JSON.stringify(dialects));
