import { expect, test } from "bun:test";
import { fingerprintOf } from "../../../src/store/fingerprint.ts";
import { migrations as postgres } from "../../../src/store/postgres/migrate.ts";
import { migrations as sqlite } from "../../../src/store/sqlite/migrate.ts";

/**
 * Databases exist that were made by these. If this test fails, put the change into the next file instead (CONTRIBUTING.md).
 * A release adds the fingerprints of its own migrations here.
 */
const frozen = {
  sqlite: [
    "6435a8f260f12f938f1b9a0c84df13648a5602d4b1fbb6eacef6e2bfa906737f",
    "deddc53bf9218e876ab9c3ed1dafc8f41c5011e31ba877659fcadf524a72d929",
    "8e354320f659e3a58882fef173631235597366ac450065de0cb1a0f2fcfd7915",
    "4f042dc2f14e4b21ef113111e93e22de9afbf0165c8ce60b613af397674b8c0d",
    "8c21824163ca029044f4def39e58df4be13871f767a5f4e38255ad411c7e8b35",
  ],
  postgres: [
    "76ae1e2808107db8729bf8235398b0d7d8fd1cda18bd8018ee6604ef7c731493",
    "98d1b6a5b0797d07c1be340336ff574ba09f88a951cabb2403cee31680b41f80",
    "9daebac857224db5f482f840dd11c71a5becc6c949d23b277034fdf84e128183",
    "90c230baba4e8270bb9832c24a996e717fd2bab7f826b5b23ef74d3a3d205afe",
    "ff6d3b5eb5e45dba02c5a316d6a9e134fa06e045018d66377e57a88f3b300fa0",
  ],
};

for (const [store, migrations] of Object.entries({ sqlite, postgres }))
  test(`no migration of ${store} that made a database is ever changed`, () => {
    const known = frozen[store as keyof typeof frozen];
    expect(migrations.slice(0, known.length).map(fingerprintOf)).toEqual(known);
  });

test("a change of the schema is a migration of both stores", () => {
  expect(sqlite).toHaveLength(postgres.length);
});
