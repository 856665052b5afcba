/** Loaded before the program, it makes it the next release: one that knows a migration more. */
import { readFileSync } from "node:fs";

Bun.plugin({
  name: "the next schema",
  setup(build) {
    build.onLoad({ filter: /src\/store\/sqlite\/migrate\.ts$/ }, ({ path }) => {
      const added = '"CREATE TABLE of_the_next_release (id INTEGER PRIMARY KEY) STRICT"';
      const text = readFileSync(path, "utf8");
      const contents = text.replace(
        /(const migrations: readonly string\[\] = \[[^\]]*?),?\s*\];/,
        `$1, ${added}];`,
      );
      if (contents === text) throw new Error("the list of migrations was not found");
      return { contents, loader: "ts" };
    });
  },
});
