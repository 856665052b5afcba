import type { Json } from "../../base/json.ts";
import type { ClientAccess } from "../../base/models/client-snippets.ts";
import type { Environment } from "../../base/system/environment.ts";

/** A setting that Sluice wrote, without its value, which may be the key. */
export interface WrittenSetting {
  /** The name shown to the user: `env.ANTHROPIC_BASE_URL`. */
  readonly name: string;
  readonly digest: string;
  /** The previous value; null if there was none. */
  readonly before: Json;
}

export interface EditedFile {
  readonly text: string;
  readonly settings: readonly WrittenSetting[];
}

/** Without a model, the client keeps its own. */
export type ClientConnection = Omit<ClientAccess, "model" | "limits"> & { readonly model: string | null };

/** A client whose own configuration file can be changed. Both functions throw `UnreadableClientFile`. */
export interface ClientFileFormat {
  readonly path: (env: Environment) => string;
  /** Models that the client's recent releases ask for without a setting. */
  readonly defaultModels: readonly string[];
  /** The model in the user's own settings; null if the client chooses. */
  readonly modelIn: (text: string) => string | null;
  readonly write: (text: string, connection: ClientConnection) => EditedFile;
  /** Removes the settings that have not been edited since, and restores the previous values. */
  readonly remove: (text: string, settings: readonly WrittenSetting[]) => string;
}

/** The client would not accept the file, or its layout cannot be edited safely. */
export class UnreadableClientFile extends Error {
  override readonly name = "UnreadableClientFile";
}

export function digestOf(text: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(text).digest("hex");
}
