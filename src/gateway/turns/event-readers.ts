import { GatewayError } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { isEnd } from "../../dialects/openai-responses/client/background.ts";
import { Gates, type Slot } from "../../limits/concurrency.ts";
import type { EventPart } from "../../store/store.ts";
import type { Backgrounds } from "./backgrounds.ts";
import { openBody } from "./turn-body.ts";

/** A gateway that stops is noticed this late, and a silence. */
const maxWaitMs = 1000;

/** More than the clients that show one response to a user. */
const maxPerResponse = 16;

/** Four for each background response that a key can have running by default. */
const maxPerKey = 64;

/** Parts that are kept for readers that come a little later. */
const maxKeptBytes = 256 * 1024;

/** The encryption context of a part of the events. */
export function eventsName(id: string, first: number): string {
  return `${id} events ${first}`;
}

interface EventReadersOptions {
  readonly backgrounds: Pick<Backgrounds, "store" | "running" | "changed">;
  encryptionKey(): Uint8Array | null;
  isDraining(): boolean;
}

/** The readers of the events of background responses at this gateway. */
export class EventReaders {
  readonly #options: EventReadersOptions;
  readonly #events = new Map<string, SharedEvents>();
  readonly #byKey = new Gates({ limit: maxPerKey, queueLimit: 0, waitMs: 0 });

  constructor(options: EventReadersOptions) {
    this.#options = options;
  }

  /** Number of responses with readers. */
  get size(): number {
    return this.#events.size;
  }

  readersOf(id: string): number {
    return this.#events.get(id)?.readers ?? 0;
  }

  /** A reader of this response, which has to `leave`. `isFirst`: it has created the response, and is never one too many. */
  enter(keyId: string, id: string, isFirst: boolean): EventReader {
    const shared = this.#events.get(id) ?? new SharedEvents(this.#options, keyId, id);
    if (!isFirst && shared.readers >= maxPerResponse) throw tooMany("This response has", maxPerResponse);
    const slot = isFirst ? null : this.#byKey.tryTake(keyId);
    if (!isFirst && slot === null) throw tooMany("This key has", maxPerKey);
    shared.readers += 1;
    this.#events.set(id, shared);
    return new EventReader(shared, slot, () => this.#leave(id, shared));
  }

  #leave(id: string, shared: SharedEvents): void {
    shared.readers -= 1;
    if (shared.readers === 0) this.#events.delete(id);
  }
}

function tooMany(who: string, max: number): GatewayError {
  const message = `${who} ${max} readers of events, which is the maximum. Retry when one has finished.`;
  return new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds: 5 });
}

export class EventReader {
  readonly #shared: SharedEvents;
  readonly #slot: Slot | null;
  #onLeave: (() => void) | null;

  constructor(shared: SharedEvents, slot: Slot | null, onLeave: () => void) {
    this.#shared = shared;
    this.#slot = slot;
    this.#onLeave = onLeave;
  }

  /** What is stored from this position on. */
  from(position: number): Promise<FollowingEvents> {
    return this.#shared.from(position);
  }

  /** Safe to call more than once. */
  leave(): void {
    this.#slot?.release();
    this.#onLeave?.();
    this.#onLeave = null;
  }
}

/** Successive events, with a blank line after each. */
interface OpenedPart extends Omit<EventPart, "body"> {
  readonly events: Uint8Array;
  readonly isEnd: boolean;
}

export interface FollowingEvents {
  /** Null if nothing is stored yet. */
  readonly part: OpenedPart | null;
  /** Nothing follows, or nothing at this gateway: the client then continues at another one. */
  readonly isOver: boolean;
  /** Resolves when there may be more. */
  readonly changed: Promise<void>;
}

const now = Promise.resolve();

/** The events of one response: each part is read and opened once for all readers that have come equally far. */
class SharedEvents {
  readers = 0;
  readonly #options: EventReadersOptions;
  readonly #keyId: string;
  readonly #id: string;
  /** What readers at these positions wait for. */
  readonly #looking = new Map<number, Promise<FollowingEvents>>();
  #kept: OpenedPart[] = [];

  constructor(options: EventReadersOptions, keyId: string, id: string) {
    this.#options = options;
    this.#keyId = keyId;
    this.#id = id;
  }

  from(position: number): Promise<FollowingEvents> {
    const part = this.#kept.find(({ first, count }) => first <= position && position < first + count);
    if (part !== undefined) return Promise.resolve({ part, isOver: false, changed: now });
    return this.#looking.getOrInsertComputed(position, () => this.#look(position));
  }

  async #look(position: number): Promise<FollowingEvents> {
    try {
      const { backgrounds } = this.#options;
      const part = await this.#read(position);
      if (part !== null) return this.#found(position, part);
      // In this order: what is stored meanwhile is found, and its last event is stored with its end.
      const changed = Promise.race([backgrounds.changed(this.#id), Bun.sleep(maxWaitMs)]);
      const isOver = await this.#isOver();
      const late = await this.#read(position);
      if (late !== null) return this.#found(position, late);
      // Until then all readers at the end wait for this.
      void changed.then(() => this.#looking.delete(position));
      return { part: null, isOver, changed };
    } catch (error) {
      this.#looking.delete(position);
      throw error;
    }
  }

  async #read(position: number): Promise<EventPart | null> {
    await bodyPacer.wait();
    return this.#options.backgrounds.store.background.eventsFrom(this.#id, position);
  }

  async #found(position: number, { first, count, body }: EventPart): Promise<FollowingEvents> {
    const events = await openBody(eventsName(this.#id, first), body, this.#options.encryptionKey());
    this.#looking.delete(position);
    // It was encrypted with another key.
    if (events === null) return { part: null, isOver: true, changed: now };
    const part = { first, count, events, isEnd: isEnd(events) };
    this.#keep(part);
    return { part, isOver: false, changed: now };
  }

  /** A large one is not kept: it goes to those that wait for it. */
  #keep(part: OpenedPart): void {
    this.#kept.push(part);
    let bytes = 0;
    const firstKept = this.#kept.findLastIndex(({ events }) => {
      bytes += events.length;
      return bytes > maxKeptBytes;
    });
    this.#kept.splice(0, firstKept + 1);
  }

  async #isOver(): Promise<boolean> {
    const { backgrounds, isDraining } = this.#options;
    if (isDraining() && backgrounds.running(this.#id) === null) return true;
    const found = await backgrounds.store.background.find(this.#keyId, this.#id);
    return found === null || found.state === "ended";
  }
}
