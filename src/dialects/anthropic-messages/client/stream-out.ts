import { assert } from "../../../base/assert.ts";
import type { GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import { noUsage, type Usage } from "../../../base/usage/usage.ts";
import type { StreamPosition, StreamWriter, WriterContext } from "../../contract/client-dialect.ts";
import type { IrBlockHead, IrCitation, IrEvent, IrFinish, ReasoningSignature } from "../../ir/ir.ts";
import { partSeparator } from "../../reasoning/reasoning-envelope.ts";
import { keepaliveComment, namedFrame } from "../../sse/sse.ts";
import { writeCitation } from "../citations.ts";
import { addFinish } from "../finish.ts";
import { anthropicErrors } from "./error-format.ts";
import { signatureOf, writeUsage } from "./response-out.ts";

interface Block {
  readonly head: IrBlockHead;
  /** The lengths of its parts; only reasoning may have several. */
  readonly parts: number[];
  /** The client's index; null until something of the block has been written. */
  written: number | null;
}

/** Writes Messages events. */
export class MessagesStreamWriter implements StreamWriter {
  readonly #call: WriterContext;
  #open: Block | null = null;
  #nextIndex = 0;
  #begun = false;
  #usage: Usage | null = null;
  #tier: string | null = null;
  #finish: IrFinish | null = null;

  constructor(call: WriterContext) {
    this.#call = call;
  }

  write(event: IrEvent): string {
    switch (event.type) {
      case "start":
        return this.#start(event.usage);
      case "block_start":
        return this.#begin(event.block);
      case "delta":
        return this.#append(event.text);
      case "part":
        return this.#beginPart();
      case "block_end":
        return this.#end(event.signature, event.citations ?? []);
      case "usage":
        this.#usage = event.usage;
        return "";
      case "service_tier":
        this.#tier = event.tier;
        return "";
      case "finish":
        this.#finish = event.finish;
        return "";
    }
  }

  terminal(): string {
    assert(this.#finish !== null, "a stream ends properly only after its finish");
    const usage = this.#usage ?? { ...noUsage, inputTokens: this.#call.source.estimatedInputTokens };
    const delta: JsonObject = {};
    addFinish(delta, this.#finish);
    const end = { type: "message_delta", delta, usage: writeUsage(usage, this.#tier) };
    return eventFrame(end) + eventFrame({ type: "message_stop" });
  }

  failure(error: GatewayError, requestId: string, usage: Usage | null): string {
    return inBandError(error, requestId, { hasBegun: this.#begun, usage });
  }

  heartbeat(): string {
    return heartbeat(this.#begun);
  }

  /** Clients show how full their context is by this first figure, so an estimate is better than 0. */
  #start(usage: Usage | null): string {
    this.#begun = true;
    this.#usage = usage;
    const shown = usage ?? { ...noUsage, inputTokens: this.#call.source.estimatedInputTokens };
    return eventFrame({
      type: "message_start",
      message: {
        id: this.#call.mint("msg_"),
        type: "message",
        role: "assistant",
        model: this.#call.source.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: writeUsage(shown, this.#tier),
      },
    });
  }

  /** A call is written at once; other blocks wait for their first text, which may never arrive. */
  #begin(head: IrBlockHead): string {
    const block: Block = { head, parts: [], written: null };
    this.#open = block;
    return head.type === "tool_call" ? this.#writeStart(block, beginning(head)) : "";
  }

  #append(text: string): string {
    const block = this.#block();
    measure(block, text);
    return this.#writeDelta(block, text);
  }

  #beginPart(): string {
    const block = this.#block();
    if (block.parts.length === 0) block.parts.push(0);
    block.parts.push(0);
    return this.#writeDelta(block, partSeparator);
  }

  #writeDelta(block: Block, text: string): string {
    const start = block.written === null ? this.#writeStart(block, beginning(block.head)) : "";
    assert(block.written !== null, "a block is written before its deltas");
    const { type, field } = deltas[block.head.type];
    // Nearly all events of a stream are deltas, so only their text is serialized.
    const delta = `{"type":"${type}","${field}":${JSON.stringify(text)}}`;
    const data = `{"type":"content_block_delta","index":${block.written},"delta":${delta}}`;
    return start + namedFrame("content_block_delta", data);
  }

  /** Signed reasoning is written even without text; other empty blocks are not. */
  #end(signature: ReasoningSignature | null, citations: readonly IrCitation[]): string {
    const block = this.#block();
    this.#open = null;
    const written = signature === null ? "" : this.#writeSignature(block, signature);
    const index = block.written;
    if (index === null) return "";
    const cited = citations.map((citation) => {
      const delta = { type: "citations_delta", citation: writeCitation(citation) };
      return eventFrame({ type: "content_block_delta", index, delta });
    });
    return written + cited.join("") + eventFrame({ type: "content_block_stop", index });
  }

  #writeSignature(block: Block, signature: ReasoningSignature): string {
    const isRedacted = signature.maker === "anthropic-redacted";
    const content = isRedacted ? { type: "redacted_thinking", data: signature.data } : beginning(block.head);
    const start = block.written === null ? this.#writeStart(block, content) : "";
    if (isRedacted) return start;
    const delta = { type: "signature_delta", signature: signatureOf(signature, block.parts) };
    return start + eventFrame({ type: "content_block_delta", index: block.written, delta });
  }

  #writeStart(block: Block, content: JsonObject): string {
    block.written = this.#nextIndex;
    this.#nextIndex += 1;
    return eventFrame({ type: "content_block_start", index: block.written, content_block: content });
  }

  #block(): Block {
    assert(this.#open !== null, "no block is open");
    return this.#open;
  }
}

function measure(block: Block, text: string): void {
  const last = Math.max(block.parts.length - 1, 0);
  block.parts[last] = (block.parts[last] ?? 0) + text.length;
}

/** All content is sent as deltas: clients ignore what is in the start event. */
function beginning(head: IrBlockHead): JsonObject {
  if (head.type === "tool_call") return { type: "tool_use", id: head.id, name: head.name, input: {} };
  return head.type === "reasoning"
    ? { type: "thinking", thinking: "", signature: "" }
    : { type: "text", text: "" };
}

/** The delta type of each block. A refusal shows in the stop reason; its text is ordinary text. */
const deltas = {
  tool_call: { type: "input_json_delta", field: "partial_json" },
  reasoning: { type: "thinking_delta", field: "thinking" },
  text: { type: "text_delta", field: "text" },
  refusal: { type: "text_delta", field: "text" },
} as const;

/**
 * A message starts with an estimate of its input, or with the provider's count so far. So the charged usage follows here, without
 * a stop reason, because the message did not end.
 */
export function inBandError(
  error: GatewayError,
  requestId: string,
  { hasBegun, usage }: Pick<StreamPosition, "hasBegun" | "usage">,
): string {
  const charged = usage === null || !hasBegun ? "" : usageFrame(usage);
  return charged + namedFrame("error", JSON.stringify(anthropicErrors.body(error, requestId)));
}

function usageFrame(usage: Usage): string {
  const delta = { stop_reason: null, stop_sequence: null };
  return eventFrame({ type: "message_delta", delta, usage: writeUsage(usage, null) });
}

export function heartbeat(hasBegun: boolean): string {
  return hasBegun ? 'event: ping\ndata: {"type":"ping"}\n\n' : keepaliveComment;
}

/** An event of a Messages stream, which is named by its type. */
function eventFrame(event: JsonObject & { readonly type: string }): string {
  return namedFrame(event.type, JSON.stringify(event));
}
