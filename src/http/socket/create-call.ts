import type { DirectController, StreamSource } from "../../gateway/answer/client-stream.ts";
import type { Piece } from "../../gateway/answer/stream-relayer.ts";
import type { ClientCall, Route } from "../../gateway/client-call.ts";
import type { CreateFrame } from "../../gateway/socket/create-frame.ts";
import type { RememberedTurns, Turn } from "../../gateway/turns/turn-body.ts";
import { endsResponse, errorFrame, eventsIn, onLane } from "./event-frames.ts";

/** The socket, as a request on it sees it. */
export interface Carrier {
  readonly url: string;
  /** Those of the handshake. */
  readonly headers: Headers;
  readonly address: string;
  readonly route: Route;
  /** Sends frames together. A promise if the client has to read some of them first. */
  send(frames: readonly string[]): Promise<number> | number;
  terminate(): void;
  chain(id: string): readonly Turn[] | null;
}

/** One request on a socket, and the frames that answer it. */
export class CreateCall implements ClientCall, DirectController {
  readonly request: Request;
  readonly body: Uint8Array;
  readonly route: Route;
  readonly address: string;
  /** A proxy that has passed on the handshake repeats no frame elsewhere: a draining gateway refuses it. */
  readonly isForwarded = false;
  readonly remembered: RememberedTurns;
  /** The conversation up to its response; null as long as that has not ended properly. */
  answered: readonly Turn[] | null = null;
  isKeyRefused = false;
  readonly #carrier: Carrier;
  readonly #streamId: string | null;
  readonly #leaving = new AbortController();
  #source: StreamSource | null = null;
  #conversation: readonly Turn[] | null = null;
  #hasEnded = false;

  constructor(carrier: Carrier, { body, streamId }: CreateFrame) {
    const { url, headers, address, route } = carrier;
    this.body = body;
    this.#carrier = carrier;
    this.#streamId = streamId;
    this.route = route;
    this.address = address;
    this.request = new Request(url, { method: "POST", headers, signal: this.#leaving.signal });
    this.remembered = {
      chain: (id) => carrier.chain(id),
      remember: (chain) => {
        this.#conversation = chain;
      },
    };
  }

  keepWaiting(): void {}

  disconnect(): void {
    this.#carrier.terminate();
  }

  readonly takeStream = (source: StreamSource): void => {
    this.#source = source;
  };

  /** The socket is closed. */
  leave(): void {
    this.#leaving.abort();
    this.#source?.cancel();
  }

  /** Sends what the response says; resolves when it has ended. */
  async deliver(response: Response): Promise<void> {
    const { status } = response;
    if (status !== 200) {
      const refusal = { status, headers: response.headers.toJSON(), body: await response.text() };
      const { error } = JSON.parse(refusal.body);
      // A key that may not use a model is refused with 403 too, and can go on.
      this.isKeyRefused = status === 401 || (status === 403 && error.param === null);
      this.#carrier.send([errorFrame(refusal, this.#streamId)]);
    } else if (this.#source === null) {
      this.write(await response.bytes());
    } else if (this.request.signal.aborted) {
      this.#source.cancel();
    } else {
      await this.#source.pull(this);
    }
  }

  write(piece: Piece): number | Promise<number> {
    return this.#carrier.send(this.#framesOf(piece));
  }

  end(): void {}

  /** A provider may have more behind the end. */
  #framesOf(piece: Piece): string[] {
    const frames: string[] = [];
    for (const event of eventsIn(piece)) {
      if (this.#hasEnded) break;
      const end = endsResponse(event);
      if (end !== null) this.#hasEnded = true;
      if (end === "completed") this.answered = this.#conversation;
      frames.push(onLane(event, this.#streamId));
    }
    return frames;
  }
}
