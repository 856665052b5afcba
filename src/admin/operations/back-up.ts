import { statSync } from "node:fs";
import type { OperationContext } from "./context.ts";

export interface BackUp {
  readonly file: string;
  readonly bytes: number;
}

/** A whole copy in one file, made while others go on; it appears under its name only when it is complete. */
export async function backUp({ store }: OperationContext, file: string): Promise<BackUp> {
  await store.backup(file);
  return { file, bytes: statSync(file).size };
}
