import { SseDecoder } from "../../dialects/sse/sse.ts";
import { bytesOf, type DirectController, type Piece, type StreamSource } from "../exchange/client-call.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { commonHeaders } from "./headers.ts";
import { streamHeaders } from "./pending-response.ts";

const listHeaders = { ...streamHeaders, "content-type": "application/json" };

/** Serves a stream of events as one JSON list, whose items leave as the events do. Other responses stay as they are. */
export async function asList(exchange: Exchange, run: () => Promise<Response>): Promise<Response> {
  const taken: StreamSource[] = [];
  exchange.call.takeStream = (source) => taken.push(source);
  const response = await run();
  const [source] = taken;
  if (source !== undefined) {
    const body = new ReadableStream({
      type: "direct",
      pull: (controller) => source.pull(new ListController(controller)),
      cancel: () => source.cancel(),
    });
    return new Response(body, { headers: { ...commonHeaders(exchange), ...listHeaders } });
  }
  if (response.headers.get("content-type") !== streamHeaders["content-type"]) return response;
  const items: Piece[] = [];
  const list = new ListController({ write: (piece) => items.push(piece), end() {} });
  list.write(await response.bytes());
  list.end();
  const headers = new Headers(response.headers);
  headers.set("content-type", listHeaders["content-type"]);
  return new Response(items.join(""), { status: response.status, headers });
}

/** A chunk that adds nothing keeps a connection open, which white space does in a list. */
const heartbeat =
  /^\{"candidates":\[\{"content":\{"parts":\[\{"text":""\}\],"role":"model"\},"index":0\}\],"modelVersion":"[^"]*"(?:,"responseId":"[^"]*")?\}$/;

class ListController implements DirectController {
  readonly #controller: DirectController;
  readonly #decoder = new SseDecoder();
  #separator = "[";

  constructor(controller: DirectController) {
    this.#controller = controller;
  }

  write(piece: Piece): number | Promise<number> {
    let text = "";
    for (const { data } of this.#decoder.push(bytesOf(piece))) text += this.#itemOf(data);
    return text === "" ? 0 : this.#controller.write(text);
  }

  end(): void {
    this.#controller.write(this.#separator === "[" ? "[]" : "]");
    this.#controller.end();
  }

  #itemOf(data: string): string {
    if (heartbeat.test(data)) return "\n";
    const item = this.#separator + data;
    this.#separator = ",\r\n";
    return item;
  }
}
