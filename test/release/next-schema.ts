/**
 * Loaded before the program, it makes it a later release: one whose schema has a column and a table more, and, if
 * `SLUICE_TEST_RELEASE` is `breaking`, a step more that programs without it must not use.
 */
import { readFileSync } from "node:fs";

/** `known` is how many migrations this release has. */
const stepsAfter = (known: number) => [
  "ALTER TABLE keys ADD COLUMN of_the_next_release text; CREATE TABLE of_the_next_release (id int PRIMARY KEY)",
  ...(process.env["SLUICE_TEST_RELEASE"] === "breaking"
    ? [`-- needs: ${known + 2}\nDROP TABLE of_the_next_release`]
    : []),
];

Bun.plugin({
  name: "the next schema",
  setup(build) {
    build.onLoad({ filter: /src\/store\/(?:sqlite|postgres)\/migrate\.ts$/ }, ({ path }) => {
      const text = readFileSync(path, "utf8");
      const contents = text.replace(
        /(const migrations: readonly string\[\] = \[)([^\]]*?),?\s*\];/,
        (_, list: string, known: string) => {
          const steps = stepsAfter(known.split(",").length).map((step) => JSON.stringify(step));
          return `${list}${known}, ${steps.join(", ")}];`;
        },
      );
      if (contents === text) throw new Error("the list of migrations was not found");
      return { contents, loader: "ts" };
    });
  },
});
