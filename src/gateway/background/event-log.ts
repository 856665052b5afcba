import type { BackgroundRecords, EventPart, OwnedBackground } from "../../store/store.ts";
import { eventsName } from "../turns/event-readers.ts";
import { bodyPieces } from "../turns/turn-body.ts";

/** How long events are collected before they are written together. */
const gatherMs = 100;
const maxPartBytes = 64 * 1024;
/** More than this waits to be written: the provider has to wait, too. */
const maxWaitingBytes = 1024 * 1024;
/** Interval and number of attempts while the store cannot be written. */
const [retryMs, maxRetries] = [500, 60];

interface EventLogOptions {
  readonly records: Pick<BackgroundRecords, "addEvents">;
  readonly owned: OwnedBackground;
  readonly key: Uint8Array | null;
  onStored(): void;
}

/**
 * Stores the events of a response as they arrive. Readers only get stored events, so an event that one reader saw is
 * still there after a crash, and all see the same.
 */
export class EventLog {
  readonly #options: EventLogOptions;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  /** The place of the next event, and of the first that waits. */
  #next: number;
  #first: number;
  #writing: Promise<void> | null = null;
  #hasRoom = Promise.withResolvers<void>();
  readonly #closing = Promise.withResolvers<void>();
  /** Events could not be stored, and storing later ones would leave a gap. */
  isBroken = false;

  /** Continues after the existing events. */
  constructor(options: EventLogOptions, next = 0) {
    this.#options = options;
    this.#next = this.#first = next;
  }

  /** The sequence number of the next event. */
  get next(): number {
    return this.#next;
  }

  add(event: string): void {
    this.#next += 1;
    if (this.isBroken) return;
    const bytes = Buffer.from(event);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#writing ??= this.#write();
  }

  /** Undefined while there is room for more. */
  room(): Promise<void> | undefined {
    return this.#waitingBytes > maxWaitingBytes ? this.#hasRoom.promise : undefined;
  }

  /**
   * The last event, to be stored with the end of the response: all earlier ones are stored by then. Null if it would
   * leave a gap.
   */
  async last(event: string): Promise<EventPart | null> {
    this.#closing.resolve();
    await this.#writing;
    return this.isBroken ? null : this.#partOf([Buffer.from(event)]);
  }

  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      await this.#store(this.#takePart());
      this.#hasRoom.resolve();
      this.#hasRoom = Promise.withResolvers();
      this.#options.onStored();
      await Promise.race([Bun.sleep(gatherMs), this.#closing.promise]);
    }
    this.#writing = null;
  }

  #takePart(): readonly Uint8Array[] {
    let bytes = 0;
    let count = 0;
    for (const event of this.#waiting) {
      bytes += event.length;
      if (count > 0 && bytes > maxPartBytes) break;
      count += 1;
    }
    const part = this.#waiting.splice(0, count);
    for (const event of part) this.#waitingBytes -= event.length;
    return part;
  }

  async #store(events: readonly Uint8Array[]): Promise<void> {
    const { records, owned } = this.#options;
    const part = this.#partOf(events);
    for (let tries = 0; !this.isBroken; tries += 1) {
      try {
        this.isBroken = !(await records.addEvents(owned, part));
        if (!this.isBroken) return;
      } catch {
        if (tries >= maxRetries) this.isBroken = true;
        else await Bun.sleep(retryMs);
      }
    }
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #partOf(events: readonly Uint8Array[]): EventPart {
    const { owned, key } = this.#options;
    const first = this.#first;
    this.#first += events.length;
    const body = Buffer.concat([...bodyPieces(eventsName(owned.id, first), events, key)]);
    return { first, count: events.length, body };
  }
}
