import { type Clock, msPerDay } from "../../base/clock.ts";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { idKey, isOwnId } from "../../base/id.ts";
import { count } from "../../base/text/plural.ts";
import type { DeploymentSettings, ModelSettings } from "../../config/settings.ts";
import type { FieldVendor } from "../../dialects/names/billed-fields.ts";
import type { Address, Mentions, Reference } from "../../dialects/names/inspect-body.ts";
import { type ClientDialectName, isSpoken } from "../../dialects/registry.ts";
import type { IssuedId, KeyRecord, Store } from "../../store/store.ts";
import { isOwnAddress } from "../../vendors/own-address.ts";
import type { ActiveConfig } from "../active-config.ts";
import { mayActOn, speakersAmong } from "./foreign-fields.ts";

/** The provider and account that issued an id. Accounts of one provider cannot see each other's ids. */
export type Issuer = Pick<IssuedId, "provider" | "credential">;

const keptForMs = 90 * msPerDay;
const maxKept = 1_000_000;
const prunedAtOnce = 1000;
const maxReferences = 1000;
/** Vendors' ids have about fifty characters, nested gateways' ids a few hundred. */
const maxIdChars = 1024;

/**
 * Which key owns an id that a provider issued: the key whose response contained it. To the provider all keys are one
 * account, so without this check a key could read another key's conversations by naming them.
 */
export class ProviderIdOwners {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Call before settling: the ids are then durable with the charge, before the end of the response is sent. */
  remember(keyId: string, issuer: Issuer, ids: readonly string[], tokens: number): void {
    const keys = ids.filter((id) => id.length <= maxIdChars).map(idKey);
    if (keys.length === 0) return;
    const issued = { keyId, ...issuer, idKeys: [...new Set(keys)], tokens, atMs: this.#clock.wallMs() };
    // If it cannot be written, neither can the charge, and the client gets no answer with these ids.
    this.#store.recordIssuedIds(issued).catch(() => {});
  }

  /**
   * Which provider issued these ids to the key, and how many tokens of stored conversation they add: the highest number
   * of any of them, because each item stands for the conversation up to it, and files and containers add none. Null if
   * any provider can be used. Throws `not_found` for an id that the key does not own.
   */
  async find(key: KeyRecord, references: readonly Reference[]): Promise<IssuedId | null> {
    if (references.length > maxReferences) {
      throw invalidRequest(
        `The request references more than ${count(maxReferences)} stored objects (responses, items or files).`,
      );
    }
    const idKeys = references.map(({ id }) => idKey(id));
    const issued = await this.#store.findIssuedIds(key.id, idKeys);
    let provider: string | null = null;
    let credential: string | null = null;
    let tokens = 0;
    for (const [index, reference] of references.entries()) {
      const { path, kind } = reference;
      const found = issued[index] ?? null;
      if (found === null) throw unknown(reference);
      if (kind === "comparison") continue;
      provider ??= found.provider;
      credential ??= found.credential;
      if (kind !== "thing") tokens = Math.max(tokens, found.tokens);
      if (found.provider !== provider || (found.credential ?? credential) !== credential) {
        throw notFound(
          path,
          `\`${path}\` belongs to another provider account than the other ids in this request. Use ids from one account.`,
        );
      }
    }
    return provider === null ? null : { provider, credential, tokens };
  }

  /** Deletes expired ids, and the oldest beyond the limit, in small batches. */
  async prune(keep = maxKept): Promise<void> {
    const beforeMs = Math.floor(this.#clock.wallMs()) - keptForMs;
    let gone: number;
    do gone = await this.#store.pruneIssuedIds({ beforeMs, keep, limit: prunedAtOnce });
    while (gone === prunedAtOnce);
  }
}

/** Routing and billing of a request that names stored resources. */
export interface Continuation {
  /** The provider that stores them. */
  readonly scope: string;
  /** The id of the provider's credential whose account has them; null if any may be used. */
  readonly credential: string | null;
  /** Tokens of the conversation that the provider adds to the request's own input, and bills. */
  readonly storedInput: number;
}

/** A request that may name stored resources, and where it may go. */
export interface ContinuingRequest {
  readonly configured: ActiveConfig;
  readonly key: KeyRecord;
  readonly model: ModelSettings;
  readonly dialect: ClientDialectName;
  readonly isMetered?: true | undefined;
  readonly mentions: Pick<Mentions, "references" | "addresses">;
}

/** Null if any provider within the key's scope can take the request. */
export async function continuationOf(
  idOwners: ProviderIdOwners,
  continuing: ContinuingRequest,
): Promise<Continuation | null> {
  const { references, addresses } = continuing.mentions;
  rejectOwnAddresses(continuing, addresses);
  const lookedUp = lookedUpOf(continuing, references);
  return lookedUp.length === 0 ? null : continuationAtIssuer(idOwners, continuing, lookedUp);
}

/** No response contains such an address, so no key can own one. */
function rejectOwnAddresses(continuing: ContinuingRequest, addresses: readonly Address[]): void {
  const { providers } = continuing.configured.settings;
  const names = new Set(reachedBy(continuing).map(({ provider }) => provider));
  const reached = [...names].flatMap((name) => providers.get(name) ?? []);
  for (const { path, url } of addresses) {
    if (reached.some((provider) => isOwnAddress(provider, url))) throw notIssued(path);
  }
}

/** References that a provider would look up. Ids that the gateway issued are unknown to every provider. */
function lookedUpOf(continuing: ContinuingRequest, references: readonly Reference[]): readonly Reference[] {
  const isPassed = reachedBy(continuing).some(({ dialects }) => isSpoken(continuing.dialect, dialects));
  return references.filter(({ kind, id, vendors }) => {
    if (vendors !== null && !isActedOn(continuing, vendors)) return false;
    if (kind === "comparison") return isPassed && !isOwnId(id);
    return isPassed || kind !== "item";
  });
}

/** Whether the request passes unchanged to a provider that acts on these vendors' fields. */
function isActedOn(continuing: ContinuingRequest, vendors: readonly FieldVendor[]): boolean {
  const { configured, dialect, isMetered } = continuing;
  if (isMetered) return true;
  return speakersAmong(reachedBy(continuing), dialect).some((at) => mayActOn(configured, at, vendors));
}

function reachedBy({ configured, key, model }: ContinuingRequest): readonly DeploymentSettings[] {
  return configured.catalog.reached(model, key.scope);
}

async function continuationAtIssuer(
  idOwners: ProviderIdOwners,
  continuing: ContinuingRequest,
  references: readonly Reference[],
): Promise<Continuation | null> {
  const { configured, key, model } = continuing;
  const issued = await idOwners.find(key, references);
  if (issued === null) return null;
  const { provider, credential, tokens } = issued;
  const path = references[0]?.path ?? "";
  const isServed = reachedBy(continuing).some((deployment) => deployment.provider === provider);
  if (!isServed)
    throw notFound(path, `\`${path}\` is stored at a provider that does not serve model "${model.id}".`);
  if (credential !== null && !configured.upstream.hasCredential(provider, credential)) {
    throw notFound(path, `\`${path}\` is stored in a provider account that is no longer configured.`);
  }
  return { scope: provider, credential, storedInput: Math.min(tokens, model.contextWindow ?? tokens) };
}

/** Whether it stands for an item of the conversation. */
export function isItem({ kind, path }: Reference): boolean {
  return kind === "conversation" && path.startsWith("input[");
}

export function noSuchItem(path: string, id: string | null): GatewayError {
  const advice = "Items are not stored with `store: false`; send the item itself.";
  return notFound(path, `\`${path}\` is not a stored item of this API key: ${JSON.stringify(id)}. ${advice}`);
}

/** As if nothing was issued to the key. */
export function rejectReferences(references: readonly Reference[]): void {
  const [first] = references;
  if (first !== undefined) throw unknown(first);
}

function unknown(reference: Reference): GatewayError {
  const { path, id } = reference;
  return isItem(reference) ? noSuchItem(path, id) : notIssued(path);
}

export function noSuchResponse(): GatewayError {
  return notIssued("previous_response_id");
}

/** One text for unknown ids and ids of other keys, so that a client cannot find out which ids other keys have. */
function notIssued(path: string): GatewayError {
  const message =
    path === "previous_response_id"
      ? `\`${path}\` must be a stored response of this API key, and no response in its chain may have expired or been deleted.`
      : `\`${path}\` is not an id that was issued to this API key. Ids are valid only for the key that received them.`;
  return notFound(path, message);
}

/** Clients recover on these: OpenAI's code for a missing response, and Anthropic's detail for a missing thread. */
function notFound(path: string, message: string): GatewayError {
  if (path.startsWith("previous_response_id")) {
    const advice = "Send the full conversation in `input`.";
    return new GatewayError(
      "previous_response_not_found",
      `Previous response not found. ${message} ${advice}`,
      {
        param: path,
      },
    );
  }
  const isThread = path.startsWith("thread.");
  return new GatewayError("not_found", message, { param: path, ...(isThread ? threadNotFound : {}) });
}

/** Makes Anthropic's SDK send the whole conversation again. */
const threadNotFound = { vendor: { details: { error_code: "thread_not_found" } } };
