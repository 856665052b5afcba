import { type ExportFormat, exportEntries } from "../../ledger/export.ts";
import type { OperationContext } from "./context.ts";
import { findKey } from "./find-key.ts";

/** The entries as text, a chunk at a time; all of them, or those of one key. */
export async function* exportLedger(
  context: OperationContext,
  format: ExportFormat,
  idOrPrefix?: string,
): AsyncGenerator<string> {
  const keyId = idOrPrefix === undefined ? undefined : (await findKey(context, idOrPrefix)).id;
  yield* exportEntries(context.store, format, keyId);
}
