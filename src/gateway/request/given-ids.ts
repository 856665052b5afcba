import { type Clock, msPerDay } from "../../base/clock.ts";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { isOwnId } from "../../base/id.ts";
import { Repeating } from "../../base/repeating.ts";
import { inScope } from "../../catalog/catalog.ts";
import type { DeploymentSettings, ModelSettings } from "../../config/settings.ts";
import type { Address, Mentions, Reference } from "../../dialects/names/inspect-body.ts";
import { type ClientDialectName, isSpoken } from "../../dialects/registry.ts";
import type { GivenId, KeyRecord, Store } from "../../store/store.ts";
import { isOwnAddress } from "../../vendors/own-address.ts";
import type { Configured } from "../configured.ts";

/** Whose answer an id came in: to the provider, the accounts of its credentials are strangers. */
export type Giver = Pick<GivenId, "provider" | "credential">;

const keptForMs = 90 * msPerDay;
const mostKept = 1_000_000;
const pruneEveryMs = 10 * 60_000;
const prunedAtOnce = 1000;
const maxReferences = 1000;
/** Vendors' ids have some fifty characters, those of nested gateways a few hundred. */
const maxIdChars = 1024;

/**
 * A provider's ids belong to the key whose answer they came in. To the provider all keys are one account, so without
 * this a key could read another's conversations by naming them.
 */
export class GivenIdRegistry {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #pruning = new Repeating();

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * Call it before settling: the ids are durable once the charge is, and that is before the answer's end leaves.
   */
  remember(keyId: string, giver: Giver, ids: readonly string[], tokens: number): void {
    if (ids.length === 0) return;
    const digests = ids.filter((id) => id.length <= maxIdChars).map(digestOf);
    if (digests.length === 0) return;
    const given = { keyId, ...giver, digests: [...new Set(digests)], tokens, atMs: this.#clock.wallMs() };
    // If it cannot be written, neither can the charge, and the client gets no answer with these ids.
    this.#store.recordGivenIds(given).catch(() => {});
  }

  /**
   * Who gave all of these to the key, and the most tokens that one of them stands for: items of a conversation each stand
   * for all of it up to there, and files and containers for none of it. Null if any provider may be asked. Throws `not_found`
   * for one that was not given to the key.
   */
  async find(key: KeyRecord, references: readonly Reference[]): Promise<GivenId | null> {
    if (references.length > maxReferences) {
      throw invalidRequest(`The request names more than ${maxReferences} stored things.`);
    }
    const digests = references.map(({ id }) => digestOf(id));
    const given = await this.#store.findGivenIds(key.id, digests);
    let provider: string | null = null;
    let credential: string | null = null;
    let tokens = 0;
    for (const [index, { path, kind }] of references.entries()) {
      const found = given[index] ?? null;
      if (found === null) throw notGiven(path);
      if (kind === "comparison") continue;
      provider ??= found.provider;
      credential ??= found.credential;
      if (kind !== "thing") tokens = Math.max(tokens, found.tokens);
      if (found.provider !== provider || (found.credential ?? credential) !== credential) {
        throw notFound(path, `\`${path}\` is of another account than what else the request names.`);
      }
    }
    return provider === null ? null : { provider, credential, tokens };
  }

  startPruning(onError: (error: unknown) => void, everyMs = pruneEveryMs): void {
    this.#pruning.start(everyMs, () => this.prune().catch(onError));
  }

  stopPruning(): void {
    this.#pruning.stop();
  }

  /** Deletes expired ids, and the oldest beyond the limit, in small batches. */
  async prune(keep = mostKept): Promise<void> {
    const beforeMs = Math.floor(this.#clock.wallMs()) - keptForMs;
    let gone: number;
    do gone = await this.#store.pruneGivenIds({ beforeMs, keep, limit: prunedAtOnce });
    while (gone === prunedAtOnce);
  }
}

function digestOf(id: string): string {
  return Bun.SHA256.hash(id, "hex").slice(0, 32);
}

/** What follows from the stored resources that a request names. */
export interface Continuation {
  /** The provider that has them, if the key may use it; otherwise the key's own scope. */
  readonly scope: string;
  /** The id of the provider's credential whose account has them; null if any may be used. */
  readonly credential: string | null;
  /** Tokens of the conversation that the provider adds to the request's own input, and bills. */
  readonly storedInput: number;
}

/** A request that may name stored resources, and where it may go. */
export interface Continuing {
  readonly configured: Configured;
  readonly key: KeyRecord;
  readonly model: ModelSettings;
  readonly dialect: ClientDialectName;
  readonly mentions: Pick<Mentions, "references" | "addresses">;
}

export function continuationOf(
  givenIds: GivenIdRegistry,
  continuing: Continuing,
): Continuation | Promise<Continuation> {
  const { key, mentions } = continuing;
  const { references, addresses } = mentions;
  if (addresses.length > 0) refuseOwnAddresses(continuing, addresses);
  const lookedUp = references.length === 0 ? references : lookedUpOf(continuing, references);
  if (lookedUp.length === 0) return startingAnew(key);
  return continuationAtGiver(givenIds, continuing, lookedUp);
}

function startingAnew({ scope }: KeyRecord): Continuation {
  return { scope, credential: null, storedInput: 0 };
}

/** No answer gives such an address, so no key has been given one. */
function refuseOwnAddresses(continuing: Continuing, addresses: readonly Address[]): void {
  const { providers } = continuing.configured.settings;
  const names = new Set(reachedBy(continuing).map(({ provider }) => provider));
  const reached = [...names].flatMap((name) => providers.get(name) ?? []);
  for (const { path, url } of addresses) {
    if (reached.some((provider) => isOwnAddress(provider, url))) throw notGiven(path);
  }
}

/** Those that a provider would look up. An answer that was written here is known by its id, and to no provider. */
function lookedUpOf(continuing: Continuing, references: readonly Reference[]): readonly Reference[] {
  const isPassed = reachedBy(continuing).some(({ dialects }) => isSpoken(continuing.dialect, dialects));
  return references.filter(({ kind, id }) => {
    if (kind === "comparison") return isPassed && !isOwnId(id);
    return isPassed || kind !== "item";
  });
}

function reachedBy({ configured, key, model }: Continuing): readonly DeploymentSettings[] {
  return configured.catalog.deploymentsOf(model).filter((deployment) => inScope(key.scope, deployment));
}

async function continuationAtGiver(
  givenIds: GivenIdRegistry,
  continuing: Continuing,
  references: readonly Reference[],
): Promise<Continuation> {
  const { configured, key, model } = continuing;
  const given = await givenIds.find(key, references);
  if (given === null) return startingAnew(key);
  const { provider, credential, tokens } = given;
  const path = references[0]?.path ?? "";
  const isServed = reachedBy(continuing).some((deployment) => deployment.provider === provider);
  if (!isServed) throw notFound(path, `\`${path}\` is kept by a provider that does not serve ${model.id}.`);
  if (credential !== null && !configured.upstream.hasCredential(provider, credential)) {
    throw notFound(path, `\`${path}\` is kept in an account that is no longer configured.`);
  }
  return { scope: provider, credential, storedInput: Math.min(tokens, model.contextWindow ?? tokens) };
}

function notGiven(path: string): GatewayError {
  return notFound(
    path,
    `\`${path}\` names nothing that this key was given. Ids belong to the key whose answer they came in.`,
  );
}

/** Clients that recover know an earlier response by a code of its own, and a thread by what Anthropic says of it. */
function notFound(path: string, message: string): GatewayError {
  if (path.startsWith("previous_response_id")) {
    const advice = "Send the whole conversation in `input`.";
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

/** By which Anthropic's SDK knows to send the whole conversation again. */
const threadNotFound = { vendor: { details: { error_code: "thread_not_found" } } };
