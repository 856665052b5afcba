/**
 * Loaded before the program, it makes it a later release: one whose schema has a column and a table more, and, if
 * `SLUICE_TEST_RELEASE` is `breaking`, a step more that programs without it must not use.
 */
import { readFileSync } from "node:fs";

const steps = [
  "ALTER TABLE keys ADD COLUMN of_the_next_release text; CREATE TABLE of_the_next_release (id int PRIMARY KEY)",
  ...(process.env["SLUICE_TEST_RELEASE"] === "breaking"
    ? ["-- needs: 3\nDROP TABLE of_the_next_release"]
    : []),
];

Bun.plugin({
  name: "the next schema",
  setup(build) {
    build.onLoad({ filter: /src\/store\/(?:sqlite|postgres)\/migrate\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = text.replace(
        /(const migrations: readonly string\[\] = \[[^\]]*?),?\s*\];/,
        (_, known: string) => `${known}, ${steps.map((step) => JSON.stringify(step)).join(", ")}];`,
      );
      if (contents === text) throw new Error("the list of migrations was not found");
      return { contents, loader: "ts" };
    });
  },
});
