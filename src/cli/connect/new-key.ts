import type { KnownNames } from "../../admin/keys/known-names.ts";
import { addressFor, type ClientId } from "../../base/models/client-snippets.ts";
import { preferredModel } from "../../base/models/preferred-model.ts";
import type { IssuedKey } from "../../keys/issue.ts";
import { servedAddress } from "../serve/files-for-commands.ts";
import { findIssuedConnection, type OfferedModel } from "./find-connection.ts";
import { type ClientSettings, clientSettings } from "./settings-text.ts";

/** The address of a gateway that has not run yet. */
const defaultAddress = "http://127.0.0.1:8787";

/** A client's settings with a new key, and the model that suits the client best of those that the key can use. */
export async function newKeyConnect(
  client: ClientId,
  { key, secret }: IssuedKey,
  dir: string,
  known: KnownNames | null,
): Promise<ClientSettings> {
  const address = addressFor(servedAddress(dir) ?? defaultAddress, key.mode);
  const { models } = await findIssuedConnection(address, secret);
  const names = (key.models ?? known?.models ?? []).filter((name) => !name.includes("*"));
  const named = names.map((id) => ({ id, provider: null, limits: null }));
  const choice: readonly OfferedModel[] = models === null || models.length === 0 ? named : models;
  const { id: model, limits } = preferredModel(client, choice) ?? { id: "MODEL", limits: null };
  return clientSettings(client, { address, key: secret, model, limits });
}
