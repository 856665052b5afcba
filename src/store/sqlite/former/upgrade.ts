import type { Database } from "bun:sqlite";
import { collectPruned } from "../../former-usage.ts";
import first from "../migrations/001.sql" with { type: "text" };
import { sqliteText } from "../queries.ts";
import upgrade from "./upgrade.sql" with { type: "text" };

/** The fingerprint of 001.sql in the last build that changed it. */
export const formerFingerprint = "c67569096770097782eb598d8f266d02a531438aa8025c35f7120cfca6facaa0";

/** Carries a database of that build to the schema of 001.sql, with all that it has counted. Inside the caller's transaction. */
export function upgradeFormer(database: Database): void {
  database.run(definition("TABLE pruned_usage"));
  for (const statement of collectPruned) database.run(sqliteText(statement));
  database.run(upgrade);
  database.run(definition("TABLE state"));
  database.run(
    `INSERT INTO state (id, revision, moved_to, moved_at_ms) SELECT id, revision, moved_to, moved_at_ms FROM former_state`,
  );
  database.run("DROP TABLE former_state");
  database.run(definition("VIEW attempt_totals"));
}

/** Its definition in 001.sql. */
function definition(what: string): string {
  const from = first.indexOf(`CREATE ${what} `);
  return first.slice(from, first.indexOf(";\n", from));
}
