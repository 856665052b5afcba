import { assert } from "../../../base/assert.ts";
import type { GatewayError } from "../../../base/errors.ts";
import type { JsonObject } from "../../../base/json.ts";
import type { Usage } from "../../../base/usage/usage.ts";
import type { StreamWriter, WriterContext } from "../../contract/client-dialect.ts";
import type { IrBlockHead, IrEvent, IrFinish } from "../../ir/ir.ts";
import { partSeparator } from "../../reasoning/reasoning-envelope.ts";
import { Grounding } from "./citations-out.ts";
import { googleErrors } from "./error-format.ts";
import {
  identityOf,
  showsThoughts,
  signedText,
  writeCall,
  writeCandidate,
  writeUsage,
} from "./response-out.ts";
import { SignedReasoning } from "./signature.ts";

interface OpenBlock {
  readonly head: IrBlockHead;
  /** Only reasoning may have several. */
  readonly parts: string[];
}

/** Writes chunks of a response, each with some of its parts. A call is written whole. */
export class GeminiStreamWriter implements StreamWriter {
  readonly #visible: boolean;
  /** The end of every chunk. */
  readonly #identity: string;
  #open: OpenBlock | null = null;
  readonly #signed: SignedReasoning;
  readonly #grounding = new Grounding();
  #finish: IrFinish | null = null;
  #usage: Usage | null = null;

  constructor(call: WriterContext) {
    this.#visible = showsThoughts(call);
    this.#signed = new SignedReasoning(call);
    this.#identity = JSON.stringify(identityOf(call)).slice(1);
  }

  write(event: IrEvent): string {
    switch (event.type) {
      case "start":
      case "usage":
        this.#usage = event.usage ?? this.#usage;
        return "";
      case "block_start":
        this.#open = { head: event.block, parts: [""] };
        return "";
      case "part":
        this.#block().parts.push("");
        return this.#visible ? this.#part({ text: partSeparator, thought: true }) : "";
      case "delta":
        return this.#delta(event.text);
      case "block_end":
        return this.#end(event);
      case "finish":
        this.#finish = event.finish;
        return "";
      case "service_tier":
        return "";
    }
  }

  terminal(): string {
    const signature = this.#signed.take();
    const parts = signature === null ? [] : [signedText(signature)];
    const candidate = { ...writeCandidate(parts, this.#finish), ...this.#grounding.write() };
    return this.#chunk(candidate, writeUsage(this.#usage));
  }

  failure(error: GatewayError, requestId: string): string {
    return inBandError(error, requestId);
  }

  heartbeat(): string {
    return this.#chunk(writeCandidate([], null));
  }

  #block(): OpenBlock {
    assert(this.#open !== null, "a block is open");
    return this.#open;
  }

  #delta(text: string): string {
    const { head, parts } = this.#block();
    parts[parts.length - 1] += text;
    if (head.type === "tool_call") return "";
    if (head.type !== "reasoning") return this.#part({ text });
    return this.#visible ? this.#part({ text, thought: true }) : "";
  }

  #end({ signature, citations }: Extract<IrEvent, { type: "block_end" }>): string {
    const { head, parts } = this.#block();
    this.#open = null;
    if (head.type === "reasoning") this.#signed.add(signature, parts);
    if (head.type === "text") this.#grounding.add(parts.join(""), citations);
    if (head.type !== "tool_call") return "";
    return this.#part(writeCall(head.name, head.id, parts.join(""), this.#signed.take()));
  }

  #part(part: JsonObject): string {
    return this.#chunk(writeCandidate([part], null));
  }

  #chunk(candidate: JsonObject, usage: JsonObject | null = null): string {
    const used = usage === null ? "" : `"usageMetadata":${JSON.stringify(usage)},`;
    return `data: {"candidates":[${JSON.stringify(candidate)}],${used}${this.#identity}\r\n\r\n`;
  }
}

export function inBandError(error: GatewayError, requestId: string): string {
  return `data: ${JSON.stringify(googleErrors.body(error, requestId))}\r\n\r\n`;
}

/** A comment breaks two of Google's own packages. All clients skip a chunk that adds nothing. */
export function heartbeat(_hasBegun: boolean, _sequenceNumber: number, model: string): string {
  return `data: ${JSON.stringify({ candidates: [writeCandidate([], null)], modelVersion: model })}\r\n\r\n`;
}

/** A chunk that adds nothing, here or in the middle of a translated stream. */
export function isHeartbeat(data: string): boolean {
  return emptyChunk.test(data);
}

const emptyChunk =
  /^\{"candidates":\[\{"content":\{"parts":\[\{"text":""\}\],"role":"model"\},"index":0\}\],"modelVersion":"[^"]*"(?:,"responseId":"[^"]*")?\}$/;
