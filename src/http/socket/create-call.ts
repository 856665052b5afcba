import type { Json } from "../../base/json.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import { eventType } from "../../dialects/openai-responses/event-type.ts";
import { largeEventBytes } from "../../dialects/sse/event.ts";
import type {
  ClientCall,
  DirectController,
  Piece,
  ReadableRequest,
  Route,
  StreamSource,
} from "../../gateway/exchange/client-call.ts";
import type { CreateFrame } from "../../gateway/socket/create-frame.ts";
import { SocketOrigin } from "../../gateway/socket/socket-origin.ts";
import type { Turn } from "../../gateway/turns/turn-body.ts";
import { errorFrame, eventsIn, onStream, textOf } from "./event-frames.ts";

/** The socket, as a request on it sees it. */
export interface Carrier {
  readonly url: string;
  /** The headers of the handshake. */
  readonly headers: Headers;
  readonly address: string;
  readonly route: Route;
  /** Sends frames together. A promise if the client has to read first, these frames or what was sent before them. */
  send(frames: readonly string[]): Promise<number> | number;
  terminate(): void;
  chain(id: string): readonly Turn[] | null;
}

/** One request on a socket, and the frames of its response. */
export class CreateCall implements ClientCall, DirectController {
  readonly origin: SocketOrigin;
  readonly request: ReadableRequest;
  readonly body: Uint8Array;
  readonly route: Route;
  readonly address: string;
  /** A proxy cannot resend a frame to another gateway, so a draining gateway rejects it. */
  readonly isForwarded = false;
  /** The conversation including its response; null until that has ended without an error. */
  answered: readonly Turn[] | null = null;
  isKeyRefused = false;
  readonly #carrier: Carrier;
  readonly #streamId: string | null;
  readonly #leaving = new AbortController();
  #source: StreamSource | null = null;
  /** The pending write of a large frame; later frames wait for it. */
  #sending: Promise<number> | null = null;
  #conversation: readonly Turn[] | null = null;

  constructor(carrier: Carrier, { body, streamId }: CreateFrame) {
    const { url, headers, address, route } = carrier;
    this.body = body;
    this.#carrier = carrier;
    this.#streamId = streamId;
    this.route = route;
    this.address = address;
    this.request = {
      url,
      headers,
      signal: this.#leaving.signal,
      body: null,
      bytes: async () => body.slice(),
    };
    this.origin = new SocketOrigin({
      chain: (id) => carrier.chain(id),
      remember: (chain) => {
        this.#conversation = chain;
      },
    });
  }

  keepWaiting(): void {}

  /** The socket itself cuts off a reader that has stalled for long. */
  disconnect(stalledMs?: number): void {
    if (stalledMs === undefined) this.#carrier.terminate();
  }

  readonly takeStream = (source: StreamSource): void => {
    this.#source = source;
  };

  /** The socket is closed. */
  leave(): void {
    this.#leaving.abort();
    this.#source?.cancel();
  }

  /** Sends the contents of the response; resolves when it has ended. */
  async deliver(response: Response): Promise<void> {
    const { status } = response;
    if (status !== 200) {
      const refusal = { status, headers: response.headers.toJSON(), body: await response.text() };
      const { error } = JSON.parse(refusal.body);
      // A key that cannot use a model gets a 403 too, but can continue with other models.
      this.isKeyRefused = status === 401 || (status === 403 && error.param === null);
      await this.#carrier.send([errorFrame(refusal, this.#streamId)]);
    } else if (this.#source === null) {
      await this.write(await response.bytes());
    } else if (this.request.signal.aborted) {
      this.#source.cancel();
    } else {
      await this.#source.pull(this);
      await this.#sending;
    }
  }

  /** Large data is sent event by event, so that the ends of many long responses do not add up in one iteration. */
  write(piece: Piece): number | Promise<number> {
    if (this.#sending === null && piece.length < largeEventBytes)
      return this.#carrier.send(this.#framesOf(piece));
    const sending = this.#sendLarge(piece, this.#sending).finally(() => {
      if (this.#sending === sending) this.#sending = null;
    });
    this.#sending = sending;
    return sending;
  }

  async #sendLarge(piece: Piece, before: Promise<number> | null): Promise<number> {
    await before;
    await bodyPacer.wait();
    let buffered = 0;
    for (const frame of this.#framesOf(piece)) {
      buffered = await this.#carrier.send([frame]);
      if (frame.length >= largeEventBytes) await bodyPacer.wait();
    }
    return buffered;
  }

  end(): void {}

  #framesOf(piece: Piece): readonly string[] {
    return eventsIn(textOf(piece)).map((event) => {
      if (ends.includes(eventType(event))) this.answered = this.#conversation;
      return onStream(event, this.#streamId);
    });
  }
}

const ends: readonly (Json | undefined)[] = ["response.completed", "response.incomplete"];
