import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { whyUnwritable } from "../../base/files/problem.ts";
import { systemCode } from "../../base/system/system-code.ts";
import { invalidInput, type OperationContext } from "../context.ts";

interface BackUp {
  readonly file: string;
  readonly bytes: number;
}

/** Copies the database to one file while it is in use. The file appears under its name only when it is complete. */
export async function backUp({ store }: OperationContext, file: string): Promise<BackUp> {
  if (!existsSync(dirname(file))) {
    throw invalidInput(`folder ${dirname(file)} does not exist`);
  }
  if (store.files === null) {
    throw invalidInput(
      "the data is in PostgreSQL, not in files; back it up with `pg_dump`, or with base backups " +
        "and archived logs for point-in-time recovery",
    );
  }
  try {
    await store.files.backup(file);
  } catch (error) {
    if (!/^E[A-Z]/.test(systemCode(error) ?? "")) throw error;
    throw invalidInput(`${file} cannot be written: ${whyUnwritable(error)}`);
  }
  return { file, bytes: statSync(file).size };
}
