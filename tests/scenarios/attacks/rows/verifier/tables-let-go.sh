node scripts/build.js
printed=$(node --expose-gc - <<'END'
const { format, parse } = require("./src");
const held = [];
for (let number = 0; number < 1000; number++) {
  const rows = parse(`a${number},"b,c"\nd,e\n`);
  if (rows[0][0] !== `a${number}` || rows[0][1] !== "b,c" || rows[1][1] !== "e") throw new Error(`table ${number}`);
  format(rows);
  held.push(new WeakRef(rows));
}
setTimeout(() => {
  gc();
  console.log(held.filter((reference) => reference.deref() !== undefined).length < 10);
}, 0);
END
)
test "$printed" = true
