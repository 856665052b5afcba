import { malformedResponse } from "../errors/failure.ts";
import type { IrBlockHead, IrEvent, IrFinish } from "../ir/ir.ts";
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
