import type { KnownNames } from "../../admin/keys/known-names.ts";
import { addressFor, type ClientId } from "../../base/models/client-snippets.ts";
import type { IssuedKey } from "../../keys/issue.ts";
import { servedAddress } from "../serve/files-for-commands.ts";
import { listModels } from "./find-connection.ts";
import { type ClientSettings, clientSettings } from "./settings-text.ts";

/** The address of a gateway that has not run yet. */
const defaultAddress = "http://127.0.0.1:8787";

/**
 * A client's settings with a new key. The public model list is used, because a running gateway may not know the key
 * yet.
 */
export async function newKeyConnect(
  client: ClientId,
  { key, secret }: IssuedKey,
  dir: string,
  known: KnownNames | null,
): Promise<ClientSettings> {
  const address = addressFor(servedAddress(dir) ?? defaultAddress, key.mode);
  const answer = await listModels(address, null);
  const listed = Array.isArray(answer) ? answer : [];
  const allowed = key.models?.find((model) => !model.includes("*"));
  const model = allowed ?? listed[0]?.id ?? known?.models[0] ?? "MODEL";
  const limits = listed.find(({ id }) => id === model)?.limits ?? null;
  return clientSettings(client, { address, key: secret, model, limits });
}
