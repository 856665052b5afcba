import { isObject, type Json, tryParse } from "../base/json.ts";
import { SseDecoder } from "../dialects/sse/sse.ts";
import type { BodyForm } from "./document.ts";
import { joinerOf, type StreamJoiner } from "./join/stream-joiner.ts";

/** What has come of one body so far. */
export type CollectedBody =
  | { readonly kind: "json"; readonly bytes: Uint8Array; readonly isValid: boolean }
  | { readonly kind: "value"; readonly value: Json };

export interface BodyCollector {
  add(bytes: Uint8Array): void;
  /** Null if nothing has come. */
  end(): CollectedBody | null;
  /** The memory that it takes, roughly. */
  readonly heldBytes: number;
}

export function collectorOf(form: BodyForm): BodyCollector {
  if (form.kind === "events") return new EventCollector(joinerOf(form.format));
  return form.kind === "bytes" ? new DigestCollector(form.type) : new JsonCollector(form.isValid);
}

class JsonCollector implements BodyCollector {
  readonly #pieces: Uint8Array[] = [];
  readonly #isValid: boolean;
  heldBytes = 0;

  constructor(isValid: boolean) {
    this.#isValid = isValid;
  }

  add(bytes: Uint8Array): void {
    // A view would keep all of its log in memory for as long as a stream lasts.
    this.#pieces.push(bytes.buffer instanceof SharedArrayBuffer ? bytes : new Uint8Array(bytes));
    this.heldBytes += bytes.length;
  }

  end(): CollectedBody | null {
    const [first, ...others] = this.#pieces;
    if (first === undefined) return null;
    const bytes = others.length === 0 ? first : Buffer.concat(this.#pieces);
    return { kind: "json", bytes, isValid: this.#isValid };
  }
}

/** Events are joined as they come, so that a long stream takes the memory of its text alone. */
class EventCollector implements BodyCollector {
  readonly #decoder = new SseDecoder();
  readonly #joiner: StreamJoiner;
  #isBroken = false;
  heldBytes = 0;

  constructor(joiner: StreamJoiner) {
    this.#joiner = joiner;
  }

  add(bytes: Uint8Array): void {
    if (this.#isBroken) return;
    try {
      for (const { data } of this.#decoder.push(bytes)) this.#take(data);
    } catch {
      // An event that is too large is the last that is recorded.
      this.#isBroken = true;
    }
  }

  end(): CollectedBody | null {
    if (!this.#isBroken) for (const { data } of this.#decoder.end()) this.#take(data);
    const value = this.#joiner.joined();
    return value === null ? null : { kind: "value", value };
  }

  #take(data: string): void {
    const event = tryParse(data);
    // About a third of an event that repeats what was sent before is text.
    this.heldBytes += data.length >> 2;
    if (isObject(event)) this.#joiner.add(event);
  }
}

class DigestCollector implements BodyCollector {
  readonly #hasher = new Bun.CryptoHasher("sha256");
  readonly #type: string;
  #bytes = 0;
  readonly heldBytes = 0;

  constructor(type: string) {
    this.#type = type;
  }

  add(bytes: Uint8Array): void {
    this.#hasher.update(bytes);
    this.#bytes += bytes.length;
  }

  end(): CollectedBody | null {
    if (this.#bytes === 0) return null;
    const value = { type: this.#type, bytes: this.#bytes, sha256: this.#hasher.digest("hex") };
    return { kind: "value", value };
  }
}
