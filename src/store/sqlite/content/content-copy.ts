import { Database } from "bun:sqlite";
import { existsSync } from "node:fs";
import { copyDatabase } from "../files/backup.ts";
import { contentFile } from "../files/folder.ts";
import { openSqliteContent } from "./content-database.ts";

const columns = "id, at_ms, key_id, owner, model, outcome, body";

/** The content file next to a backup of the ledger. */
function contentBackup(file: string): string {
  return file.endsWith(".db") ? file.replace(/\.db$/, ".content.db") : `${file}.content`;
}

/**
 * Copies recorded content as stored, encrypted or not, while a gateway writes. Returns the copy's path; null if there
 * is no content.
 */
export function backUpContent(dir: string, file: string): string | null {
  if (!existsSync(contentFile(dir))) return null;
  const database = new Database(contentFile(dir), { readwrite: true, strict: true });
  try {
    database.run("PRAGMA busy_timeout = 10000");
    copyDatabase(database, contentBackup(file));
    return contentBackup(file);
  } finally {
    database.close();
  }
}

/** Replaces the recorded content by the copy next to a backup, also while a gateway runs. False if there is none. */
export async function restoreContent(dir: string, file: string): Promise<boolean> {
  const copy = contentBackup(file);
  if (!existsSync(copy)) return false;
  // Creates the tables.
  await openSqliteContent(dir).close();
  const database = new Database(contentFile(dir), { readwrite: true, strict: true });
  try {
    database.run("PRAGMA busy_timeout = 10000");
    database.run("PRAGMA secure_delete = ON");
    database.run("ATTACH ? AS copy", [copy]);
    database
      .transaction(() => {
        for (const table of ["content", "content_mark"]) database.run(`DELETE FROM main.${table}`);
        database.run(`INSERT INTO main.content (${columns}) SELECT ${columns} FROM copy.content ORDER BY no`);
        database.run("INSERT INTO main.content_mark (value) SELECT value FROM copy.content_mark");
      })
      .immediate();
    database.run("PRAGMA wal_checkpoint(TRUNCATE)");
    return true;
  } finally {
    database.close();
  }
}
