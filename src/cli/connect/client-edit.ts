import type { Json } from "../../base/json.ts";
import type { ClientAccess } from "../../base/models/client-snippets.ts";
import type { Environment } from "../../base/system/environment.ts";

/** One setting that was written, without its value: that may be the key. */
export interface WrittenSetting {
  /** As the person is shown it: `env.ANTHROPIC_BASE_URL`. */
  readonly name: string;
  readonly digest: string;
  /** What was there before; null if nothing was. */
  readonly before: Json;
}

export interface EditedFile {
  readonly text: string;
  readonly settings: readonly WrittenSetting[];
}

/** Without a model, the client keeps the one that it has. */
export type ClientConnection = Omit<ClientAccess, "model" | "limits"> & { readonly model: string | null };

/** A client whose own configuration file can be changed. Both functions throw `UnreadableClientFile`. */
export interface ClientFileFormat {
  readonly path: (env: Environment) => string;
  /** Which of the gateway's models the client picks by itself. */
  readonly ownModels: RegExp;
  readonly write: (text: string, connection: ClientConnection) => EditedFile;
  /** Removes the settings that are still as they were written, and puts back what was there before. */
  readonly remove: (text: string, settings: readonly WrittenSetting[]) => string;
}

/** The file is not what the client would accept, or is laid out in a way that we cannot change safely. */
export class UnreadableClientFile extends Error {
  override readonly name = "UnreadableClientFile";
}

export function digestOf(text: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
