import { assert } from "../../../base/assert.ts";
import { type ErrorCode, errorKinds, type GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { Usage } from "../../../base/usage/usage.ts";
import type { StreamPosition, StreamWriter, WriterContext } from "../../contract/client-dialect.ts";
import type { IrBlockHead, IrCitation, IrEvent, IrFinish, ReasoningSignature } from "../../ir/ir.ts";
import { dataFrame, keepaliveComment } from "../../sse/sse.ts";
import { completedAt, type ResponseProgress, requestEcho, responseHead } from "./envelope-out.ts";
import { callItemPrefix, type ItemStatus, incompleteReason } from "./items-out.ts";
import { unwrittenRefusal } from "./response-out.ts";
import {
  CallStreamItem,
  Frames,
  MessageStreamItem,
  ReasoningStreamItem,
  type StreamItem,
} from "./stream-items-out.ts";

interface OpenBlock {
  readonly item: StreamItem;
  readonly part: number;
}

/**
 * Writes every event that the protocol defines, because the official helper rejects a stream that lacks one. An item is
 * closed only when the next one begins or the response ends, because only `finish` tells whether it is incomplete.
 */
export class ResponsesStreamWriter implements StreamWriter {
  readonly #call: WriterContext;
  readonly #frames = new Frames();
  readonly #id: string;
  readonly #items: StreamItem[] = [];
  /** The block whose deltas are written at the moment. */
  #open: OpenBlock | null = null;
  #begun = false;
  #refused = false;
  #finish: IrFinish | null = null;
  #usage: Usage | null = null;
  #serviceTier: string | null = null;
  #echo: string | undefined;

  constructor(call: WriterContext) {
    this.#call = call;
    this.#id = call.mint("resp_");
  }

  write(event: IrEvent): string {
    switch (event.type) {
      case "start":
        this.#usage = event.usage;
        return this.#begin();
      case "block_start":
        return this.#beginBlock(event.block);
      case "delta": {
        const { item, part } = this.#block();
        return item.delta(part, event.text);
      }
      case "part": {
        const { item } = this.#block();
        return item instanceof ReasoningStreamItem ? item.beginPart() : "";
      }
      case "block_end":
        return this.#endBlock(event.signature, event.citations ?? []);
      case "usage":
        this.#usage = event.usage;
        return "";
      case "service_tier":
        this.#serviceTier = event.tier;
        return "";
      case "finish":
        return this.#end(event.finish);
    }
  }

  terminal(): string {
    const incomplete = this.#finish === null ? null : incompleteReason(this.#finish.reason);
    const status = incomplete === null ? "completed" : "incomplete";
    return this.#lifecycle(`response.${status}`, { status, incomplete }) + endMarker;
  }

  failure(error: GatewayError, requestId: string, charged: Usage | null): string {
    this.#usage = charged;
    const written = { ...responseError(error), request_id: requestId };
    return (
      this.#begin() + this.#lifecycle("response.failed", { status: "failed", error: written }) + endMarker
    );
  }

  heartbeat(): string {
    return heartbeat(this.#begun, this.#begun ? this.#frames.takeNumber() : 0);
  }

  #begin(): string {
    if (this.#begun) return "";
    this.#begun = true;
    const progress = { status: "in_progress" } as const;
    return this.#lifecycle("response.created", progress) + this.#lifecycle("response.in_progress", progress);
  }

  #beginBlock(head: IrBlockHead): string {
    if (head.type === "text" || head.type === "refusal") return this.#beginResponsePart(head.type);
    const closing = this.#closeNewest("completed");
    return closing + this.#openItem(this.#newItem(head));
  }

  /** Adjacent texts and refusals are parts of one message. */
  #beginResponsePart(type: "text" | "refusal"): string {
    if (type === "refusal") this.#refused = true;
    const newest = this.#items.at(-1);
    if (newest instanceof MessageStreamItem) {
      this.#open = { item: newest, part: newest.nextPart };
      return newest.beginPart(type);
    }
    const closing = this.#closeNewest("completed");
    const message = new MessageStreamItem(this.#frames, this.#call.mint("msg_"), this.#items.length);
    return closing + this.#openItem(message) + message.beginPart(type);
  }

  #newItem(head: Exclude<IrBlockHead, { type: "text" | "refusal" }>): StreamItem {
    const at = this.#items.length;
    if (head.type === "reasoning") return new ReasoningStreamItem(this.#frames, this.#call.mint("rs_"), at);
    return new CallStreamItem(this.#frames, this.#call.mint(callItemPrefix(head.kind)), at, head);
  }

  #openItem(item: StreamItem): string {
    this.#items.push(item);
    this.#open = { item, part: 0 };
    return item.begin();
  }

  #endBlock(signature: ReasoningSignature | null, citations: readonly IrCitation[]): string {
    const { item, part } = this.#block();
    this.#open = null;
    return item.end(part, signature, citations);
  }

  #closeNewest(status: ItemStatus): string {
    return this.#items.at(-1)?.done(status) ?? "";
  }

  #end(finish: IrFinish): string {
    this.#finish = finish;
    const explanation = unwrittenRefusal(finish, this.#refused);
    const refusal = explanation === null ? "" : this.#sayRefusal(explanation);
    return refusal + this.#closeNewest(incompleteReason(finish.reason) === null ? "completed" : "incomplete");
  }

  #sayRefusal(text: string): string {
    const opening = this.#beginResponsePart("refusal");
    const { item, part } = this.#block();
    return opening + item.delta(part, text) + this.#endBlock(null, []);
  }

  #block(): OpenBlock {
    assert(this.#open !== null, "no block is open");
    return this.#open;
  }

  /** The echo may be long (all tools of the client) and is sent three times, so it is serialized once. */
  #lifecycle(type: string, progress: ResponseProgress): string {
    const head = JSON.stringify(
      responseHead(this.#id, this.#call.source.nowSeconds, {
        ...progress,
        completedAtSeconds: progress.status === "completed" ? completedAt(this.#call) : null,
        usage: this.#usage,
        serviceTier: this.#serviceTier,
      }),
    );
    const items = this.#items.map((item) => item.json).filter((json) => json !== "");
    const { body, model, kept } = this.#call.source;
    this.#echo ??= JSON.stringify(requestEcho(body, model, kept)).slice(1);
    return this.#frames.write(
      type,
      `"response":${head.slice(0, -1)},"output":[${items.join(",")}],${this.#echo}`,
    );
  }
}

const endMarker = dataFrame("[DONE]");

/**
 * Codex ignores an `error` event and reconnects, so the failure is sent as a response, then the end marker. If bytes
 * pass through, the request is no longer known, so the fields that would echo it have their defaults.
 */
export function inBandError(error: GatewayError, _requestId: string, position: StreamPosition): string {
  const head = responseHead(position.responseId, position.createdAtSeconds, {
    status: "failed",
    error: responseError(error),
    usage: position.usage,
  });
  const event: JsonObject = {
    type: "response.failed",
    sequence_number: position.sequenceNumber,
    response: { ...head, output: [], ...requestEcho({}, position.model) },
  };
  return `event: response.failed\ndata: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`;
}

/** The `error` of a response that has failed. */
export function responseError(error: GatewayError): JsonObject {
  return {
    code: error.vendor?.code ?? responsesErrorCodes[error.code] ?? "server_error",
    message: error.message,
    type: errorKinds[error.code].type,
    param: error.param ?? null,
  };
}

/** Codex decides by these codes whether to retry. All other errors become server errors. */
const responsesErrorCodes: { readonly [Code in ErrorCode]?: string } = {
  rate_limit_exceeded: "rate_limit_exceeded",
  limit_reached: "insufficient_quota",
  insufficient_credit: "insufficient_quota",
  invalid_request: "invalid_prompt",
  previous_response_not_found: "previous_response_not_found",
  conversation_locked: "conversation_locked",
  invalid_encrypted_content: "invalid_encrypted_content",
  invalid_stream_id: "invalid_prompt",
  websocket_stream_limit_reached: "invalid_prompt",
  websocket_connection_limit_reached: "invalid_prompt",
  context_length_exceeded: "context_length_exceeded",
  service_unavailable: "server_is_overloaded",
};

export function heartbeat(hasBegun: boolean, sequenceNumber: number): string {
  if (!hasBegun) return keepaliveComment;
  return `event: keepalive\ndata: {"type":"keepalive","sequence_number":${sequenceNumber}}\n\n`;
}
