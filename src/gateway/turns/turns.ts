import { randomBytes } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { invalidRequest } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import { Repeating } from "../../base/repeating.ts";
import type { Settings } from "../../config/settings.ts";
import type { EndedResponse, TurnItem } from "../../dialects/openai-responses/client/turn-items.ts";
import type { Store, StoredTurn, TurnRecord } from "../../store/store.ts";
import { readTurn, type Turn, writeTurn } from "./turn-body.ts";

const mostTurns = 1000;
const pruneEveryMs = 10 * 60_000;
const prunedAtOnce = 500;
const secretBytes = 32;
/** Longer bodies are written ahead in parts of this size, so that charges of others need not wait for them. */
const partBytes = 256 * 1024;

/** What a response repeats of its request, instructions and tools, counts as far as it is longer. */
const usualHeadBytes = 64 * 1024;

/**
 * Items without an id get one. Those of a turn begin alike, so that one digest finds all of them: rows for ten thousand would
 * delay the charges of others.
 */
const mintedPrefix = "item_";
const placeChars = 6;

/** Of a turn with more items that have ids of their own, the newest can be found. */
const mostFound = 2000;

const nothing = { input: [], output: [] };

/** What is to be kept, beside the turn's content. */
export interface TurnFacts {
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  readonly parentId: string | null;
  readonly input: readonly TurnItem[];
  readonly response: EndedResponse;
}

/** Whether the gateway keeps responses for the clients that continue them. */
export function keepsResponses({ routes, responses, retention }: Settings): boolean {
  return routes.stored_responses && responses.state === "gateway" && retention.responsesMs > 0;
}

/** The responses that the gateway keeps, each for the key that got it. */
export class Turns {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #pruning = new Repeating();
  #secret: Promise<Uint8Array> | null = null;

  constructor({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
    this.#store = store;
    this.#clock = clock;
  }

  /** A response and all that it continues, oldest first; null if one of them is not there for this key. */
  async chain(keyId: string, id: string, settings: Settings): Promise<readonly Turn[] | null> {
    const mostBytes = settings.server.maxBodyBytes;
    const found = await this.#store.turns.chain({ keyId, id, nowMs: this.#nowMs(), mostTurns, mostBytes });
    switch (found.kind) {
      case "missing":
        return null;
      case "too_long":
        throw tooLong(`more than ${mostTurns} responses`);
      case "too_large":
        throw tooLong(`more than the ${mostBytes} bytes that a request may have`);
      case "found": {
        const turns = found.turns.map((stored) => opened(stored, settings));
        return turns.every((turn) => turn !== null) ? turns : null;
      }
    }
  }

  async find(keyId: string, id: string, settings: Settings): Promise<Turn | null> {
    const stored = await this.#store.turns.find(keyId, id, this.#nowMs());
    return stored === null ? null : opened(stored, settings);
  }

  /** Those of these items that are there for this key, by their ids; the newest of each id. */
  async findItems(
    keyId: string,
    ids: readonly string[],
    settings: Settings,
  ): Promise<ReadonlyMap<string, TurnItem>> {
    const found = new Map<string, TurnItem>();
    if (ids.length === 0) return found;
    const wanted = new Set(ids);
    const mostBytes = settings.server.maxBodyBytes;
    const query = { keyId, digests: [...wanted].flatMap(lookedUp), nowMs: this.#nowMs(), mostBytes };
    const turns = await this.#store.turns.withItems(query);
    if (turns === null) throw tooMuchReferenced(mostBytes);
    // Oldest first, so that the newest of an id stays.
    for (const stored of turns) {
      const { input, output } = opened(stored, settings) ?? nothing;
      for (const item of [...input, ...output]) {
        if (item.id !== null && wanted.has(item.id)) found.set(item.id, item);
      }
    }
    return found;
  }

  delete(keyId: string, id: string): Promise<boolean> {
    return this.#store.turns.delete(keyId, id, this.#nowMs());
  }

  /** For the settle, which stores it; null if it is too large. Call it before that: a long one is written ahead. */
  record({ keyId, model, provider, parentId, ...facts }: TurnFacts, settings: Settings): TurnRecord | null {
    const { retention, responses, server } = settings;
    const { id, head, output } = facts.response;
    const group = newId(mintedPrefix).slice(0, -placeChars);
    const input = facts.input.map((item, place) =>
      item.id === null ? { ...item, id: group + place.toString(36).padStart(placeChars, "0") } : item,
    );
    const items = [...input, ...output];
    const ofItems = items.reduce((sum, { raw }) => sum + raw.length, 0);
    const bytes = ofItems + Math.max(0, head.length - usualHeadBytes);
    if (bytes > server.maxBodyBytes) return null;
    const createdAtMs = this.#nowMs();
    const record = {
      keyId,
      id,
      parentId,
      model,
      provider,
      createdAtMs,
      expiresAtMs: createdAtMs + retention.responsesMs,
      bytes,
      items: digestsOf(group, facts.input, output),
      keyBytes: retention.responseBytesPerKey,
    };
    const body = writeTurn(id, { head, input, output }, responses.encryptionKey);
    if (body.length <= partBytes) return { ...record, body };
    return { ...record, ...this.#writeAhead(body) };
  }

  #writeAhead(body: Uint8Array): Pick<TurnRecord, "body" | "recording"> {
    const id = newId("rec_");
    const parts = Math.floor(body.length / partBytes);
    for (let sequence = 0; sequence < parts; sequence += 1) {
      const part = body.slice(sequence * partBytes, (sequence + 1) * partBytes);
      // Not awaited: a turn with a missing part is not found.
      this.#store.recordResponsePart({ recordingId: id, sequence, body: part }).catch(() => {});
    }
    return { body: body.slice(parts * partBytes), recording: { id, parts } };
  }

  /** What summaries are sealed with. */
  sealingSecret(): Promise<Uint8Array> {
    this.#secret ??= this.#store.turns.sealingSecret(randomBytes(secretBytes)).catch((error) => {
      this.#secret = null;
      throw error;
    });
    return this.#secret;
  }

  startPruning(onError: (error: unknown) => void, everyMs = pruneEveryMs): void {
    this.#pruning.start(everyMs, () => this.prune().catch(onError));
  }

  stopPruning(): void {
    this.#pruning.stop();
  }

  async prune(): Promise<void> {
    let pruned = 0;
    let gone: number;
    do {
      gone = await this.#store.turns.prune(this.#nowMs(), prunedAtOnce);
      pruned += gone;
    } while (gone === prunedAtOnce);
    if (pruned > 0) await this.#store.recordPruning({ what: "responses", atMs: this.#nowMs(), pruned });
  }

  #nowMs(): number {
    return Math.floor(this.#clock.wallMs());
  }
}

function opened({ id, parentId, body }: StoredTurn, { responses }: Settings): Turn | null {
  const content = readTurn(id, body, responses.encryptionKey);
  return content === null ? null : { id, parentId, ...content };
}

function digestsOf(group: string, input: readonly TurnItem[], output: readonly TurnItem[]): string[] {
  const ids = new Set(input.some(({ id }) => id === null) ? [group] : []);
  for (const { id } of [...output, ...input.toReversed()]) if (id !== null) ids.add(id);
  return [...ids].slice(0, mostFound).map(digestOf);
}

/** An id that was made here is found by its own digest where it was sent again, and else by its group's. */
function lookedUp(id: string): string[] {
  const group = id.startsWith(mintedPrefix) ? [digestOf(id.slice(0, -placeChars))] : [];
  return [digestOf(id), ...group];
}

function digestOf(id: string): string {
  return Bun.SHA256.hash(id, "hex").slice(0, 32);
}

function tooLong(what: string): Error {
  const advice = "Begin a new conversation, with what matters of this one in `input`.";
  return invalidRequest(`The conversation has ${what}. ${advice}`, "previous_response_id");
}

/** Items are found in whole responses, and all of those would be in memory. */
function tooMuchReferenced(mostBytes: number): Error {
  const message = `The responses that \`input\` refers to items of have more than the ${mostBytes} bytes that a request may have. Send the items themselves.`;
  return invalidRequest(message, "input");
}
