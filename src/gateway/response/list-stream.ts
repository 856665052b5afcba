import { SseDecoder, type SseFrame } from "../../dialects/sse/sse.ts";
import { bytesOf, type DirectController, type Piece } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { streamHeaders } from "./pending-response.ts";

/**
 * Serves a stream of events as one JSON list, whose items leave as the events do. Other responses stay as they are. What keeps a
 * connection open is white space in a list.
 */
export async function asList(
  exchange: Exchange,
  isHeartbeat: (data: string) => boolean,
  run: () => Promise<Response>,
): Promise<Response> {
  exchange.call.reframe = ({ source, head }) => ({
    source: {
      pull: (controller) => source.pull(new ListController(controller, isHeartbeat)),
      cancel: () => source.cancel(),
    },
    head: asListHead(head),
  });
  const response = await run();
  if (response.headers.get("content-type") !== streamHeaders["content-type"]) return response;
  const items: Piece[] = [];
  const list = new ListController({ write: (piece) => items.push(piece), end() {} }, isHeartbeat);
  list.write(await response.bytes());
  list.end();
  return new Response(items.join(""), asListHead(response));
}

function asListHead(head: ResponseInit): ResponseInit {
  const { status, headers } = new Response(null, head);
  headers.set("content-type", "application/json");
  return { status, headers };
}

class ListController implements DirectController {
  readonly #controller: DirectController;
  readonly #isHeartbeat: (data: string) => boolean;
  readonly #decoder = new SseDecoder();
  #separator = "[";

  constructor(controller: DirectController, isHeartbeat: (data: string) => boolean) {
    this.#controller = controller;
    this.#isHeartbeat = isHeartbeat;
  }

  write(piece: Piece): number | Promise<number> {
    const text = this.#itemsOf(this.#decoder.push(bytesOf(piece)));
    return text === "" ? 0 : this.#controller.write(text);
  }

  /** The last event may lack its blank line. */
  end(): void {
    const last = this.#itemsOf(this.#decoder.end());
    this.#controller.write(last + (this.#separator === "[" ? "[]" : "]"));
    this.#controller.end();
  }

  #itemsOf(events: readonly SseFrame[]): string {
    return events.map(({ data }) => this.#itemOf(data)).join("");
  }

  #itemOf(data: string): string {
    if (this.#isHeartbeat(data)) return "\n";
    const item = this.#separator + data;
    this.#separator = ",\r\n";
    return item;
  }
}
