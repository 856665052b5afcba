import { randomBytes } from "node:crypto";
import { type Clock, msPerDay, msPerHour } from "../../base/clock.ts";
import { isConversationId } from "../../base/id.ts";
import type { Settings } from "../../config/settings.ts";
import {
  type EndedResponse,
  sizeOf,
  type TurnItem,
} from "../../dialects/openai-responses/client/turn-items.ts";
import type { ReserveMemory, ResponsePart, Store, TurnRecord } from "../../store/store.ts";
import {
  type ConversationPlan,
  planConversation,
  planWhole,
  readEnd,
  writtenConversation,
} from "./conversation-body.ts";
import { moreThanKept, tooLong, tooManyReferenced, tooMuchReferenced } from "./conversation-errors.ts";
import {
  identified,
  identifiedInput,
  idsOf,
  keysOf,
  lookedUp,
  newGroup,
  ownGroupOf,
  responseOfItem,
} from "./item-ids.ts";
import { asItWas, opened } from "./open-turns.ts";
import { type ChangedConversation, type KeptTurn, type Turn, turnPieces } from "./turn-body.ts";
import { type VerbatimFacts, verbatimTurn } from "./verbatim-turn.ts";
import { writtenAhead } from "./write-ahead.ts";

/** Maximum number of stored responses that a request can continue, or refer to items of. */
const maxTurns = 1000;
const prunedAtOnce = 500;
const secretBytes = 32;
/** A shorter turn takes the place of a few others at most. */
const largeTurnBytes = 8 * 1024;
/** How long a named conversation is stored after its last change. */
const conversationMs = 30 * msPerDay;
/** Bytes of its request that each response may repeat (instructions, tools), in addition to items that are sent again. */
const usualHeadBytes = 64 * 1024;

/** A turn to be stored. */
export interface TurnFacts {
  readonly keyId: string;
  readonly model: string;
  readonly provider: string;
  readonly parentId: string | null;
  readonly input: readonly TurnItem[];
  readonly response: EndedResponse;
  readonly conversation: ChangedConversation | null;
}

/** The owner of the turns to read, and the settings. `reserve` is called before large reads. */
export interface TurnReader {
  readonly keyId: string;
  readonly settings: Settings;
  readonly reserve: ReserveMemory;
}

interface TurnsOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Bytes of the key's storage that responses stored for retries use. */
  retryBytes(keyId: string): number;
}

/** The responses and conversations that the gateway keeps, each for the key that got it. */
export class Turns {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #retryBytes: (keyId: string) => number;
  #secret: Promise<Uint8Array> | null = null;

  constructor({ store, clock, retryBytes }: TurnsOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#retryBytes = retryBytes;
  }

  /** A response and all that it continues, oldest first; null if one of them does not exist for this key. */
  async chain({ keyId, settings, reserve }: TurnReader, id: string): Promise<readonly Turn[] | null> {
    if (isConversationId(id)) return null;
    const maxBytes = settings.server.maxBodyBytes;
    const bounds = { nowMs: this.#nowMs(), maxTurns, maxBytes, headBytes: usualHeadBytes, reserve };
    const found = await this.#store.turns.chain({ keyId, id, ...bounds });
    switch (found.kind) {
      case "missing":
        return null;
      case "too_long":
        throw tooLong(`more than ${maxTurns} responses`);
      case "too_large":
        throw tooLong(`more than ${maxBytes} bytes, the maximum per request`);
      case "found": {
        const turns = await opened(found.turns, settings);
        return turns.length === found.turns.length ? asItWas(turns) : null;
      }
    }
  }

  /** All turns before a response, oldest first; null if some are missing. */
  async before(reader: TurnReader, turn: Turn): Promise<readonly Turn[] | null> {
    const { parentId } = turn;
    if (parentId === null) return [];
    if (!isConversationId(parentId)) return this.chain(reader, parentId);
    const conversation = await this.conversation(reader, parentId);
    return conversation === null ? null : (asItWas([conversation, turn])?.slice(0, 1) ?? null);
  }

  async find({ keyId, settings, reserve }: TurnReader, id: string): Promise<KeptTurn | null> {
    const stored = await this.#store.turns.find(keyId, id, this.#nowMs(), reserve);
    const [turn] = stored === null ? [] : await opened([stored], settings);
    return turn ?? null;
  }

  async conversation(reader: TurnReader, id: string): Promise<KeptTurn | null> {
    return isConversationId(id) ? this.find(reader, id) : null;
  }

  /** A conversation's head, with only the items that are stored in its row. That is enough to change it. */
  async conversationEnd(reader: TurnReader, id: string): Promise<KeptTurn | null> {
    const { keyId, settings } = reader;
    if (!isConversationId(id)) return null;
    const stored = await this.#store.turns.end(keyId, id, this.#nowMs());
    const end = stored && (await readEnd(stored, settings.responses.encryptionKey));
    return end ?? (stored && this.conversation(reader, id));
  }

  /** Whether it has neither been changed nor deleted. */
  isCurrent({ no }: { readonly no: number }): Promise<boolean> {
    return this.#store.turns.has(no);
  }

  /** Whether all of these turns are still stored: a client may have deleted one of them, on any gateway. */
  async areStored(keyId: string, turns: readonly Turn[]): Promise<boolean> {
    const ids = new Set(turns.filter(({ isStored }) => isStored).map(({ id }) => id));
    return ids.size === 0 || this.#store.turns.hasAll(keyId, [...ids], this.#nowMs());
  }

  /** Writes part by part: it is not charged, so charges of others come first. Throws if it exceeds the key's storage. */
  async changeConversation(
    { keyId, settings }: Pick<TurnReader, "keyId" | "settings">,
    conversation: ChangedConversation,
  ): Promise<void> {
    const record = await this.#conversationRecord(keyId, conversation, settings);
    if (record === null) throw moreThanKept(settings);
    await this.withRoom([record]);
    await this.#store.recordTurn(record);
  }

  /** The items with these ids that the key has; the newest of each id. */
  async findItems(
    { keyId, settings, reserve }: TurnReader,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, TurnItem>> {
    const found = new Map<string, TurnItem>();
    if (ids.length === 0) return found;
    const wanted = new Set(ids);
    const maxBytes = settings.server.maxBodyBytes;
    const stored = await this.#store.turns.withItems({
      keyId,
      items: [...wanted].flatMap(lookedUp),
      turnIds: [...new Set([...wanted].flatMap((id) => responseOfItem(id) ?? []))],
      nowMs: this.#nowMs(),
      maxTurns,
      maxBytes,
      headBytes: usualHeadBytes,
      reserve,
    });
    if (stored.kind !== "found") {
      throw stored.kind === "too_many" ? tooManyReferenced(maxTurns) : tooMuchReferenced(maxBytes);
    }
    // Oldest first, so that the newest of an id stays.
    for (const { input, output } of await opened(stored.turns, settings)) {
      for (const item of [...input, ...output]) {
        if (item.id !== null && wanted.has(item.id)) found.set(item.id, item);
      }
    }
    return found;
  }

  delete(keyId: string, id: string): Promise<boolean> {
    return this.#store.turns.delete(keyId, id, this.#nowMs());
  }

  /**
   * Returns records for the settle to store: the turns, and the conversation that they are added to if the key has room
   * for it. Call this before settling: a long conversation is written ahead.
   */
  async record(
    { keyId, model, provider, parentId, conversation, ...facts }: TurnFacts,
    settings: Settings,
  ): Promise<readonly TurnRecord[]> {
    const { retention, responses, server } = settings;
    const { input } = facts;
    const { id, head, output } = facts.response;
    // In a conversation, items need different ids even if two responses have the same id.
    const group = conversation === null ? ownGroupOf(id, input) : newGroup();
    const bytes = head.length + sizeOf(input) + sizeOf(output);
    if (bytes > server.maxBodyBytes || isConversationId(id)) return [];
    const changed =
      conversation &&
      (await this.#conversationRecord(
        keyId,
        { ...conversation, items: [...conversation.items, ...identifiedInput(id, input, group), ...output] },
        settings,
      ).catch(() => null));
    // First, and alone if need be, so that the turn does not crowd out the conversation that it belongs to.
    const before = changed === null ? [] : [changed];
    const keyBytes = this.#keyBytes(keyId, settings);
    const hasRoom = bytes + (changed?.bytes ?? 0) <= keyBytes;
    if (!hasRoom || (conversation !== null && changed === null)) return before;
    const createdAtMs = this.#nowMs();
    const pieces = turnPieces(id, { head, input, output }, responses.encryptionKey, group);
    const turn = {
      keyId,
      id,
      parentId,
      model,
      provider,
      createdAtMs,
      expiresAtMs: createdAtMs + retention.responseHours * msPerHour,
      bytes,
      items: keysOf(group, idsOf(input), idsOf(output)),
      keyBytes,
      ...(await writtenAhead(pieces, this.#writeAhead)),
    };
    return [...before, turn];
  }

  /** Reserves room for long turns first, a few at a time: doing this in a settle would delay all others. */
  async withRoom(turns: readonly TurnRecord[]): Promise<readonly TurnRecord[]> {
    const [turn] = turns;
    const bytes = turns.reduce((sum, each) => sum + each.bytes, 0);
    if (turn === undefined || bytes < largeTurnBytes) return turns;
    const { replaces } = turns.find((each) => each.replaces !== undefined) ?? turn;
    const wanted = { keyId: turn.keyId, bytes, keyBytes: turn.keyBytes, replaces };
    // Whatever is missing then, the settles make.
    await this.#store.turns.makeRoom(wanted).catch(() => {});
    return turns;
  }

  /** Records a short turn that continues nothing; null if it has to be split. */
  recordVerbatim(facts: VerbatimFacts, settings: Settings): TurnRecord | null {
    return verbatimTurn(facts, settings, this.#keyBytes(facts.keyId, settings), this.#nowMs());
  }

  /**
   * Null if it exceeds the key's storage. Its items are found only by its id: rewriting a row for each of them would
   * delay the charges of others.
   */
  async #conversationRecord(
    keyId: string,
    changed: ChangedConversation,
    settings: Settings,
  ): Promise<TurnRecord | null> {
    const conversation = { ...changed, items: identified(changed.items) };
    const { id, no } = conversation;
    const keyBytes = this.#keyBytes(keyId, settings);
    const plan = planConversation(conversation);
    if (plan.allBytes > keyBytes) return null;
    const written = await this.#written(conversation, plan, settings.responses.encryptionKey);
    const createdAtMs = this.#nowMs();
    return {
      keyId,
      id,
      parentId: null,
      model: "",
      provider: "",
      createdAtMs,
      expiresAtMs: createdAtMs + conversationMs,
      items: [],
      keyBytes,
      replaces: no ?? undefined,
      ...written,
    };
  }

  /** Parts are never overwritten. A part left by a failed change blocks the next change, which then rewrites all. */
  #written(conversation: ChangedConversation, plan: ConversationPlan, key: Uint8Array | null) {
    const write = (part: ResponsePart) => this.#store.recordResponsePart(part);
    const writing = writtenConversation(conversation, plan, key, write);
    if (plan.kept.recording === null || plan.kept.ahead.length === 0) return writing;
    return writing.catch(() => writtenConversation(conversation, planWhole(conversation), key, write));
  }

  /** Shared with the responses that are stored for retries. */
  #keyBytes(keyId: string, { retention }: Settings): number {
    return retention.responseBytesPerKey - this.#retryBytes(keyId);
  }

  /** A turn with a missing part is not found. */
  readonly #writeAhead = (part: ResponsePart): Promise<void> =>
    this.#store.recordResponsePart(part).catch(() => {});

  /** The key for encrypting summaries. */
  sealingSecret(): Promise<Uint8Array> {
    this.#secret ??= this.#store.turns.sealingSecret(randomBytes(secretBytes)).catch((error) => {
      this.#secret = null;
      throw error;
    });
    return this.#secret;
  }

  async prune(): Promise<void> {
    let pruned = 0;
    let gone: number;
    do {
      gone = await this.#store.turns.prune(this.#nowMs(), prunedAtOnce);
      pruned += gone;
    } while (gone > 0);
    if (pruned > 0) await this.#store.recordPruning({ what: "responses", atMs: this.#nowMs(), pruned });
  }

  #nowMs(): number {
    return Math.floor(this.#clock.wallMs());
  }
}
