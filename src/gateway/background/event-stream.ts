import { asBuffer } from "../../base/bytes.ts";
import { isEnd } from "../../dialects/openai-responses/client/background.ts";
import { clientDialect } from "../../dialects/registry.ts";
import type { EventPart } from "../../store/store.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import type { ClientCall, DirectController, StreamSource } from "../exchange/client-call.ts";
import type { Gateway } from "../exchange/gateway.ts";
import { sourceResponse } from "../response/client-stream.ts";
import { commonHeaders } from "../response/headers.ts";
import { streamHeaders } from "../response/pending-response.ts";
import { storedDialect } from "../turns/storage-settings.ts";
import { openBody } from "../turns/turn-body.ts";

/** A gateway that stops is noticed this late, and a silence. */
const maxWaitMs = 1000;

/** The encryption context of a part of the events. */
export function eventsName(id: string, first: number): string {
  return `${id} events ${first}`;
}

/** Null if they were encrypted with another key. */
function readEvents(
  id: string,
  { first, body }: EventPart,
  key: Uint8Array | null,
): Promise<Uint8Array | null> {
  return openBody(eventsName(id, first), body, key);
}

/** The stored events of a response from this position on, followed by new ones. */
export function eventsResponse(call: AdmittedCall, id: string, from: number): Response {
  const { gateway, exchange } = call;
  exchange.call.keepWaiting();
  const source = new StoredEvents(gateway, exchange.call, { keyId: call.keyId, id }, from);
  const headers = { ...commonHeaders(exchange), ...streamHeaders };
  return sourceResponse(source, exchange.call, () => ({ headers }));
}

/** A reader of stored events. Any number of readers can read the same events, each at its own speed. */
class StoredEvents implements StreamSource {
  readonly #gateway: Gateway;
  readonly #call: ClientCall;
  readonly #response: { readonly keyId: string; readonly id: string };
  #next: number;
  #isOver = false;

  constructor(
    gateway: Gateway,
    call: ClientCall,
    response: { readonly keyId: string; readonly id: string },
    from: number,
  ) {
    this.#gateway = gateway;
    this.#call = call;
    this.#response = response;
    this.#next = from;
  }

  async pull(controller: DirectController): Promise<void> {
    const { heartbeatMs } = this.#gateway.configured.settings.server;
    let quietSinceMs = performance.now();
    try {
      while (!this.#isOver) {
        const changed = this.#gateway.backgrounds.changed(this.#response.id);
        const isLast = await this.#isLast();
        if ((await this.#sendStored(controller)) > 0) {
          quietSinceMs = performance.now();
          continue;
        }
        if (isLast) break;
        if (heartbeatMs > 0 && performance.now() - quietSinceMs >= heartbeatMs) {
          await this.#write(controller, clientDialect(storedDialect).heartbeat(false, 0, ""));
          quietSinceMs = performance.now();
        }
        await Promise.race([changed, Bun.sleep(maxWaitMs)]);
      }
    } finally {
      controller.end();
    }
  }

  cancel(): void {
    this.#isOver = true;
  }

  /** Whether no events follow the stored ones, or none at this gateway: the client then continues at another one. */
  async #isLast(): Promise<boolean> {
    const { ongoing, backgrounds } = this.#gateway;
    const { keyId, id } = this.#response;
    if (ongoing.isDraining && backgrounds.running(id) === null) return true;
    const found = await backgrounds.store.background.find(keyId, id);
    return found === null || found.state === "ended";
  }

  /** Returns how many parts there were. */
  async #sendStored(controller: DirectController): Promise<number> {
    const { backgrounds, configured } = this.#gateway;
    const { id } = this.#response;
    const parts = await backgrounds.store.background.events(id, this.#next);
    for (const part of parts) {
      const { first, count } = part;
      const events = await readEvents(id, part, configured.settings.responses.encryptionKey);
      if (events === null) {
        this.#isOver = true;
        break;
      }
      await this.#write(controller, withoutFirst(events, this.#next - first));
      this.#next = first + count;
      if (isEnd(events)) this.#isOver = true;
      if (this.#isOver) break;
    }
    return parts.length;
  }

  async #write(controller: DirectController, piece: Uint8Array | string): Promise<void> {
    const written = controller.write(piece);
    if (!(written instanceof Promise)) return;
    // A reader that stalls is cut off.
    this.#call.disconnect(this.#gateway.configured.settings.server.clientIdleTimeoutMs);
    await written;
    this.#call.keepWaiting();
  }
}

const blankLine = "\n\n";

/** Each event was written here, and has one blank line, at its end. */
function withoutFirst(events: Uint8Array, count: number): Uint8Array {
  const bytes = asBuffer(events);
  let at = 0;
  for (let passed = 0; passed < count; passed += 1) at = bytes.indexOf(blankLine, at) + blankLine.length;
  return bytes.subarray(at);
}
