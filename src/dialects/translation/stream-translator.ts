import type { GatewayError } from "../../base/errors.ts";
import type { JsonObject } from "../../base/json.ts";
import type { Usage } from "../../base/usage/usage.ts";
import type { StreamWriter, WriterContext } from "../contract/client-dialect.ts";
import type { Target } from "../contract/provider-dialect.ts";
import { malformedResponse } from "../errors/failure.ts";
import { BlockOrder } from "../ir/blocks.ts";
import type { IrBlockHead, IrEvent, IrFinish } from "../ir/ir.ts";
import { producedBy } from "../provider-response/produced.ts";
import { StreamFindings } from "../provider-response/stream-findings.ts";
import type { ReadEvent, StreamReader } from "../provider-response/stream-reader.ts";
import type { SseFrame } from "../sse/sse.ts";
import { InputUnwrapper } from "../tools/custom-input.ts";
import type { ClientTool, ToolNames } from "../tools/names.ts";

/** Maps the tool calls of a response back to the client's tools; the reverse of adaptRequest. */
export interface ToolMapping {
  /** Null if the provider got the client's own names. */
  readonly names: ToolNames | null;
  /** The function that was added to force a format: its input is the response's text. */
  readonly formatTool: string | null;
  /** A call's id as the client sees it; generated if the provider gave none. */
  readonly callId: (id: string) => string;
}

function refOf({ namespace, name, kind }: ClientTool): ClientTool {
  return { namespace, name, kind };
}

/**
 * Corrects the finish reason. It is `tool_calls` if and only if there is a call, which providers get wrong in both
 * directions, and a refusal is not a normal stop, although OpenAI reports it as one.
 */
function agreeing(finish: IrFinish, called: boolean, declined: boolean): IrFinish {
  if (finish.reason !== "stop" && finish.reason !== "tool_calls") return finish;
  const reason = called ? "tool_calls" : declined ? "refusal" : "stop";
  return reason === finish.reason ? finish : { ...finish, reason };
}

/** Open blocks are written all at once at the end of a stream, and a response then repeats all of them. */
const maxBlocks = 2000;

/** Restores tool names and inputs, event by event. */
export class EventRestorer {
  readonly #toolMapping: ToolMapping;
  readonly #emit: (event: IrEvent) => void;
  readonly #unwrappers = new Map<number, InputUnwrapper>();
  #called = false;
  #declined = false;
  #blocks = 0;

  constructor(toolMapping: ToolMapping, emit: (event: IrEvent) => void) {
    this.#toolMapping = toolMapping;
    this.#emit = emit;
  }

  push(event: IrEvent): void {
    switch (event.type) {
      case "block_start":
        this.#blocks += 1;
        if (this.#blocks > maxBlocks) throw malformedResponse(`more than ${maxBlocks} blocks`);
        this.#emit({ ...event, block: this.#head(event.index, event.block) });
        return;
      case "delta":
        if (this.#unwrappers.size === 0) this.#emit(event);
        else this.#delta(event.index, event.text);
        return;
      case "block_end":
        this.#flush(event.index);
        this.#emit(event);
        return;
      case "finish":
        this.#emit({ type: "finish", finish: agreeing(event.finish, this.#called, this.#declined) });
        return;
      default:
        this.#emit(event);
    }
  }

  #head(index: number, head: IrBlockHead): IrBlockHead {
    if (head.type === "refusal") this.#declined = true;
    if (head.type !== "tool_call") return head;
    if (head.name === this.#toolMapping.formatTool) return { type: "text" };
    this.#called = true;
    const tool = this.#toolMapping.names?.client(head.name) ?? refOf(head);
    if (tool.kind === "custom" && head.kind !== "custom") this.#unwrappers.set(index, new InputUnwrapper());
    return { type: "tool_call", ...tool, id: this.#toolMapping.callId(head.id) };
  }

  #delta(index: number, fragment: string): void {
    const unwrapper = this.#unwrappers.get(index);
    const text = unwrapper === undefined ? fragment : unwrapper.push(fragment);
    if (text !== "") this.#emit({ type: "delta", index, text });
  }

  #flush(index: number): void {
    const text = this.#unwrappers.get(index)?.end() ?? "";
    this.#unwrappers.delete(index);
    if (text !== "") this.#emit({ type: "delta", index, text });
  }
}

/** The parameters for translating a response from the provider's dialect to the client's. */
export interface TranslationContext {
  readonly target: Target;
  readonly call: WriterContext;
  readonly toolMapping: ToolMapping;
}

/**
 * Translates a stream frame by frame: the provider's stream reader feeds the client's stream writer. `push` never returns
 * the frames that end the client's stream: the caller settles first and then takes them from `terminal`.
 */
export class StreamTranslator {
  readonly found = new StreamFindings();
  readonly #target: Target;
  readonly #reader: StreamReader;
  readonly #writer: StreamWriter;
  readonly #restorer: EventRestorer;
  readonly #order = new BlockOrder();
  readonly #restore = (event: IrEvent) => this.#restorer.push(event);
  #written = "";

  constructor({ target, call, toolMapping }: TranslationContext) {
    this.#target = target;
    this.#writer = call.source.dialect.createStreamWriter(call);
    this.#restorer = new EventRestorer(toolMapping, (event) => this.#write(event));
    this.#reader = target.dialect.createStreamReader({ target });
  }

  /** The client's frames as text, possibly "". Throws a GatewayError if the provider reports a failure or is malformed. */
  push(frame: SseFrame): string {
    return this.#translate(this.#reader.read(frame));
  }

  /** For a provider that sends one JSON body although a stream was requested. */
  pushWhole(body: JsonObject): string {
    const { dialect } = this.#target;
    const events = dialect.readResponse(body, this.#target);
    return this.#translate([
      ...events,
      { type: "written", text: producedBy(events), encryptedChars: 0 },
      { type: "extras", extras: dialect.readExtras(body) },
      { type: "end" },
    ]);
  }

  /** Call at the end of the provider's body. Throws if the stream had no proper end. */
  end(): string {
    return this.ended ? "" : this.#translate(this.#reader.end());
  }

  /** True once the provider's stream has ended properly. */
  get ended(): boolean {
    return this.found.ended;
  }

  /**
   * The response is complete, although the provider has not ended its stream. Only for dialects whose providers omit
   * the end.
   */
  get isComplete(): boolean {
    return this.found.isComplete && this.#reader.missingEnd !== null;
  }

  /** The client is shown this usage in place of what the provider has reported. Called before `terminal`. */
  showUsage(usage: Usage): void {
    this.#written += this.#writer.write({ type: "usage", usage });
  }

  /** The frames that end the client's stream; called once, after `ended`. */
  terminal(): string {
    return this.#take() + this.#writer.terminal();
  }

  /** The client's in-band error; never looks like a proper end. Shows what was charged, null for nothing. */
  failure(error: GatewayError, requestId: string, charged: Usage | null): string {
    return this.#writer.failure(error, requestId, charged);
  }

  /** A heartbeat that is legal after the frames written so far. */
  heartbeat(): string {
    return this.#writer.heartbeat();
  }

  #translate(events: readonly ReadEvent[]): string {
    this.found.addTranslated(events, this.#restore);
    return this.#take();
  }

  #write(event: IrEvent): void {
    if (this.#order.hold(event)) return;
    this.#written += this.#writer.write(event);
    for (const released of this.#order.release()) this.#written += this.#writer.write(released);
  }

  #take(): string {
    const written = this.#written;
    this.#written = "";
    return written;
  }
}
