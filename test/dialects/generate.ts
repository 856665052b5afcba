import type { JsonObject } from "../../src/base/json.ts";
import type {
  IrAssistantBlock,
  IrContent,
  IrMessage,
  IrReasoning,
  IrRequest,
  IrResponse,
  IrText,
  IrToolCall,
  IrToolResult,
  ReasoningSignature,
} from "../../src/dialects/ir/ir.ts";
import type { BodyDialectName } from "../support/body-dialects.ts";
import type { SeededRandom } from "../support/random.ts";

/**
 * Conversations and answers at random, each within what the dialects on its way can express: what one of
 * them lacks (a failed tool's flag, text after a call, a picture from a tool) would not come back.
 */
export class Generator {
  readonly #random: SeededRandom;
  readonly #way: ReadonlySet<BodyDialectName>;
  #ids = 0;

  constructor(random: SeededRandom, way: readonly BodyDialectName[]) {
    this.#random = random;
    this.#way = new Set(way);
  }

  request(): IrRequest {
    const messages: IrMessage[] = [this.#user()];
    const turns = this.#random.below(5);
    for (let turn = 0; turn < turns; turn += 1) {
      const assistant = this.#assistant();
      messages.push({ role: "assistant", blocks: assistant });
      const calls = assistant.filter((block) => block.type === "tool_call");
      messages.push(calls.length > 0 ? this.#answers(calls) : this.#user());
      if (this.#random.chance(0.2)) messages.push({ role: "system", blocks: this.#texts(1) }, this.#user());
    }
    return {
      ...plainRequest,
      system: this.#random.chance(0.5) ? this.#texts(1 + this.#random.below(3)) : [],
      messages,
      tools: toolNames.map((name) => ({
        type: "function",
        kind: "function",
        namespace: null,
        name,
        description: this.#text(),
        schema: { type: "object", properties: { zeta: { type: "string" }, alpha: {} } },
        strict: false,
      })),
    };
  }

  /** `maker`: whose answer it is, for what only that provider can say. */
  response(maker: BodyDialectName): IrResponse {
    const blocks = this.#assistant();
    const calls = blocks.some((block) => block.type === "tool_call");
    return {
      blocks: [...this.#reasoning(maker), ...blocks],
      finish: { reason: calls ? "tool_calls" : "stop", stopSequence: null, explanation: null },
      usage: null,
      serviceTier: null,
    };
  }

  #user(): IrMessage {
    const blocks: IrContent[] = [];
    const count = 1 + this.#random.below(3);
    while (blocks.length < count) blocks.push(this.#content());
    return { role: "user", blocks };
  }

  #content(): IrContent {
    const kind = this.#random.below(6);
    if (kind === 0)
      return { type: "image", source: { kind: "url", url: `https://example.com/${this.#id()}` } };
    if (kind === 1) return this.#picture();
    if (kind > 2) return { type: "text", text: this.#text() };
    const source = { kind: "base64", mediaType: "application/pdf", data: btoa(this.#id()) } as const;
    return { type: "document", source, title: `${this.#id()}.pdf` };
  }

  #picture(): IrContent {
    return { type: "image", source: { kind: "base64", mediaType: "image/png", data: btoa(this.#id()) } };
  }

  #assistant(): IrAssistantBlock[] {
    const said: IrAssistantBlock[] = this.#random.chance(0.8) ? this.#texts(1) : [];
    const calls: IrAssistantBlock[] = [];
    const count = said.length === 0 ? 1 + this.#random.below(3) : this.#random.below(3);
    while (calls.length < count) calls.push(this.#call());
    // Chat has one text and then its calls; the others may go on talking.
    const more = !this.#way.has("chat") && calls.length > 0 && this.#random.chance(0.3) ? this.#texts(1) : [];
    return [...said, ...calls, ...more];
  }

  #reasoning(maker: BodyDialectName): IrReasoning[] {
    if (!this.#random.chance(0.7)) return [];
    if (maker === "chat") return [reasoning([this.#text()], { maker: "chat" })];
    if (maker === "responses") {
      const parts = Array.from({ length: this.#random.below(3) }, () => this.#text());
      const signature = {
        maker: "openai",
        id: this.#id(),
        encryptedContent: this.#id(),
        raw: false,
      } as const;
      return [reasoning(parts, signature)];
    }
    const hidden = reasoning([], { maker: "anthropic-redacted", data: this.#id() });
    const shown = reasoning([this.#random.chance(0.7) ? this.#text() : ""], {
      maker: "anthropic",
      signature: this.#id(),
    });
    return this.#random.chance(0.3) ? [shown, hidden] : [shown];
  }

  #call(): IrToolCall {
    const name = this.#random.pick(toolNames);
    const input: JsonObject = this.#random.chance(0.2)
      ? {}
      : { [this.#text()]: this.#text(), deep: [{ zeta: this.#random.next(), alpha: [null, true, ""] }] };
    const id = `call_${this.#id()}`;
    return { type: "tool_call", id, kind: "function", namespace: null, name, input: JSON.stringify(input) };
  }

  #answers(calls: readonly IrToolCall[]): IrMessage {
    const results = calls.map((call): IrToolResult => {
      const text: IrText = { type: "text", text: this.#text() };
      const rich = !this.#way.has("chat") && this.#random.chance(0.3);
      const content = this.#random.chance(0.2) ? [] : rich ? [text, this.#picture()] : [text];
      return { type: "tool_result", id: call.id, kind: "function", content, isError: false };
    });
    return { role: "user", blocks: [...results, ...(this.#random.chance(0.4) ? this.#texts(1) : [])] };
  }

  #texts(count: number): IrText[] {
    return Array.from({ length: count }, () => ({ type: "text", text: this.#text() }));
  }

  #text(): string {
    const count = 1 + this.#random.below(6);
    return Array.from({ length: count }, () => this.#random.pick(pieces)).join("") + this.#id();
  }

  #id(): string {
    this.#ids += 1;
    return `n${this.#ids}`;
  }
}

function reasoning(parts: readonly string[], signature: ReasoningSignature): IrReasoning {
  return { type: "reasoning", parts, signature };
}

const toolNames = ["look", "touch_2", "Read-File"];

/** Whatever has ever been lost or changed on its way through JSON, SSE or UTF-8. */
const pieces = [
  "plain ",
  "Grüße ",
  "世界",
  "👩‍👩‍👧",
  "\n\n",
  "\r\n",
  "\t",
  '"quoted"',
  "\\u00e9",
  "\u2028",
  "\u0000",
  "\uFEFF",
  "data: x\n\n",
  "[DONE]",
  "  two spaces  ",
  "</think>",
  "{}",
];

const plainRequest: IrRequest = {
  stream: false,
  system: [],
  messages: [],
  tools: [],
  toolChoice: null,
  parallelToolCalls: null,
  reasoning: null,
  format: null,
  maxOutputTokens: 1000,
  stop: [],
  sampling: { temperature: null, topP: null, topK: null },
  identity: { user: null, safetyIdentifier: null, promptCacheKey: null },
  serviceTier: null,
  verbosity: null,
  store: null,
  metadata: null,
};
