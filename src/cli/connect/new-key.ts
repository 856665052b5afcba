import type { IssuedKeyView } from "../../admin/key-terms/schema.ts";
import { addressFor, type ClientId } from "../../base/models/client-snippets.ts";
import { preferredModel } from "../../base/models/preferred-model.ts";
import { isAffordable } from "./affordable.ts";
import { findIssuedConnection, type OfferedModel } from "./find-connection.ts";
import { type ClientSettings, clientSettings } from "./settings-text.ts";

/** The address of a gateway that has not run yet. */
const defaultAddress = "http://127.0.0.1:8787";

interface NewKeyPlace {
  /** Where clients reach the gateway; null if none has run. */
  readonly address: string | null;
  /** The models that the configuration names. */
  readonly knownModels: readonly string[];
}

/** A client's settings with a new key, and the best model for the client among those that the key can use. */
export async function newKeyConnect(
  client: ClientId,
  { mode, models: allowed, key: secret }: IssuedKeyView,
  { address: gateway, knownModels }: NewKeyPlace,
): Promise<ClientSettings> {
  const address = addressFor(gateway ?? defaultAddress, mode);
  const { models, spendable } = await findIssuedConnection(address, secret);
  const names = (allowed ?? knownModels).filter((name) => !name.includes("*"));
  const named = names.map((id) => ({ id, provider: null, limits: null, defaultHold: null }));
  const choice: readonly OfferedModel[] = models === null || models.length === 0 ? named : models;
  const affordable = (each: OfferedModel) => isAffordable(each, spendable);
  const { id: model, limits } = preferredModel(client, choice, affordable) ?? { id: "MODEL", limits: null };
  return clientSettings(client, { address, key: secret, model, limits });
}
