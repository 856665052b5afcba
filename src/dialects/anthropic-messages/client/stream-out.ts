import { assert } from "../../../base/assert.ts";
import type { GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import { noUsage, type Usage } from "../../../base/usage.ts";
import type { ClientCall, StreamWriter } from "../../client-dialect.ts";
import type { IrBlockHead, IrEvent, IrFinish, ReasoningProof } from "../../ir/ir.ts";
import { partSeparator } from "../../reasoning/reasoning-envelope.ts";
import { namedFrame } from "../../sse/sse.ts";
import { type FrameTemplate, fillTemplate } from "../../translation/shortcut.ts";
import { addFinish } from "../finish.ts";
import { heartbeat, inBandError } from "./in-band.ts";
import { signatureOf } from "./response-out.ts";
import { writeUsage } from "./usage-out.ts";

interface Block {
  readonly head: IrBlockHead;
  /** The lengths of its parts; only reasoning may have several. */
  readonly parts: number[];
  /** Text that arrived while another block was open. */
  held: string;
  /** The client's index; null until something of the block has been written. */
  written: number | null;
  ended: boolean;
  proof: ReasoningProof | null;
}

/**
 * Writes Messages events. The dialect allows one open block at a time, so the first one is streamed and the others are
 * buffered until it ends.
 */
export class MessagesStreamWriter implements StreamWriter {
  readonly #call: ClientCall;
  /** In the order in which they began; the first one is streamed. */
  readonly #queue = new Map<number, Block>();
  #nextIndex = 0;
  #begun = false;
  #usage: Usage | null = null;
  #tier: string | null = null;
  #finish: IrFinish | null = null;

  constructor(call: ClientCall) {
    this.#call = call;
  }

  write(event: IrEvent): string {
    switch (event.type) {
      case "start":
        return this.#start(event.usage);
      case "block_start":
        return this.#add(event.index, event.block);
      case "delta":
        return this.#append(event.index, event.text);
      case "part":
        return this.#part(event.index);
      case "block_end":
        return this.#end(event.index, event.proof);
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

  template(index: number): FrameTemplate | null {
    const block = this.#block(index);
    return this.#isFirst(block) && block.written !== null ? templateOf(block.head, block.written) : null;
  }

  recordDeltas(index: number, text: string): void {
    measure(this.#block(index), text);
  }

  terminal(): string {
    assert(this.#finish !== null, "a stream ends properly only after its finish");
    const usage = this.#usage ?? { ...noUsage, inputTokens: this.#call.source.estimatedInputTokens };
    const delta: JsonObject = {};
    addFinish(delta, this.#finish);
    const end = { type: "message_delta", delta, usage: writeUsage(usage, this.#tier) };
    return frame(end) + frame({ type: "message_stop" });
  }

  failure(error: GatewayError, requestId: string): string {
    return inBandError(error, requestId);
  }

  heartbeat(): string {
    return heartbeat(this.#begun);
  }

  /** Clients show how full their context is by this first figure, so an estimate is better than 0. */
  #start(usage: Usage | null): string {
    this.#begun = true;
    this.#usage = usage;
    const shown = usage ?? { ...noUsage, inputTokens: this.#call.source.estimatedInputTokens };
    return frame({
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

  #add(index: number, head: IrBlockHead): string {
    const block: Block = { head, parts: [], held: "", written: null, ended: false, proof: null };
    this.#queue.set(index, block);
    // A call is written at once; other blocks wait for their first text, which may never arrive.
    return head.type === "tool_call" && this.#isFirst(block) ? this.#open(block) : "";
  }

  #append(index: number, text: string): string {
    const block = this.#block(index);
    measure(block, text);
    return this.#text(block, text);
  }

  #part(index: number): string {
    const block = this.#block(index);
    if (block.parts.length === 0) block.parts.push(0);
    block.parts.push(0);
    return this.#text(block, partSeparator);
  }

  #text(block: Block, text: string): string {
    if (this.#isFirst(block)) return this.#open(block) + this.#delta(block, text);
    block.held += text;
    return "";
  }

  #end(index: number, proof: ReasoningProof | null): string {
    const block = this.#block(index);
    block.ended = true;
    block.proof = proof;
    return this.#isFirst(block) ? this.#advance() : "";
  }

  /** Closes the blocks that have ended and opens the next one. */
  #advance(): string {
    let text = "";
    for (const [index, block] of this.#queue) {
      if (block.held !== "" || block.head.type === "tool_call") text += this.#open(block);
      if (block.held !== "") text += this.#delta(block, block.held);
      block.held = "";
      if (!block.ended) return text;
      text += this.#close(block);
      this.#queue.delete(index);
    }
    return text;
  }

  #open(block: Block): string {
    if (block.written !== null) return "";
    block.written = this.#nextIndex;
    this.#nextIndex += 1;
    return frame({ type: "content_block_start", index: block.written, content_block: beginning(block) });
  }

  #delta(block: Block, text: string): string {
    assert(block.written !== null, "a block is opened before its deltas are written");
    return fillTemplate(templateOf(block.head, block.written), text);
  }

  /** Signed reasoning is written even without text; other empty blocks are not. */
  #close(block: Block): string {
    let text = "";
    if (block.head.type === "reasoning" && block.proof !== null) {
      text += this.#open(block);
      if (block.proof.maker !== "anthropic-redacted") {
        const signature = signatureOf(block.proof, block.parts);
        const delta = { type: "signature_delta", signature };
        text += frame({ type: "content_block_delta", index: block.written, delta });
      }
    }
    if (block.written === null) return text;
    return text + frame({ type: "content_block_stop", index: block.written });
  }

  #isFirst(block: Block): boolean {
    return this.#queue.values().next().value === block;
  }

  #block(index: number): Block {
    const block = this.#queue.get(index);
    assert(block !== undefined, `block ${index} is not open`);
    return block;
  }
}

function measure(block: Block, text: string): void {
  const last = Math.max(block.parts.length - 1, 0);
  block.parts[last] = (block.parts[last] ?? 0) + text.length;
}

/** All content is sent as deltas: clients ignore what is in the start event. */
function beginning({ head, proof }: Block): JsonObject {
  if (proof?.maker === "anthropic-redacted") return { type: "redacted_thinking", data: proof.data };
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

/** Nearly all events of a stream are deltas, so only their text is serialized. */
function templateOf(head: IrBlockHead, index: number): FrameTemplate {
  const { type, field } = deltas[head.type];
  const data = `{"type":"content_block_delta","index":${index},"delta":{"type":"${type}","${field}":"`;
  return { before: `event: content_block_delta\ndata: ${data}`, after: '"}}\n\n' };
}

function frame(data: JsonObject & { readonly type: string }): string {
  return namedFrame(data.type, JSON.stringify(data));
}
