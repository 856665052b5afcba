import { type ClientAccess, type ClientId, snippetOf } from "../../base/models/client-snippets.ts";
import type { Style } from "../terminal/style.ts";

/** The settings of a client, as `--json` has them. */
export interface ClientSettings {
  readonly client: ClientId;
  readonly url: string;
  readonly model: string;
  /** Where the settings go; null if they are typed into a shell or the client itself. */
  readonly file: string | null;
  readonly settings: string;
}

export function clientSettings(client: ClientId, connection: ClientAccess): ClientSettings {
  const { text, file = null } = snippetOf(client);
  const { address: url, model } = connection;
  return { client, url, model, file, settings: text(connection) };
}

export function settingsText({ client, file, settings }: ClientSettings, style: Style): string {
  const { name } = snippetOf(client);
  const title = file === null ? `Settings for ${name}:` : `Settings for ${name}, in ${file}:`;
  return `${style.dim(title)}\n\n${settings}`;
}
