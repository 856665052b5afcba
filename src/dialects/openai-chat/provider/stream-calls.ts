import type { Target } from "../../contract/provider-dialect.ts";
import { malformedResponse } from "../../errors/failure.ts";
import type { BlockEmitter, OpenBlock } from "../../ir/blocks.ts";
import { googleSignature } from "../../reasoning/google-signature.ts";
import type { CallFragment } from "./delta-in.ts";

interface Call {
  readonly custom: boolean;
  id: string | null;
  /** Null until the name is known. */
  block: OpenBlock | null;
  /** Input that arrived before the name, or that may be a placeholder. */
  held: string;
}

/**
 * Assembles calls from fragments. Providers differ in the contents of a fragment: an index or none, the id and name on
 * the first or on all of them, input before the name, or no input at all.
 */
export class CallAssembler {
  readonly #blocks: BlockEmitter;
  readonly #target: Target | null;
  readonly #calls: Call[] = [];
  /** The latest call of each index and of each id: there may be as many calls as a provider likes. */
  readonly #byKey = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();

  constructor(blocks: BlockEmitter, target: Target | null) {
    this.#blocks = blocks;
    this.#target = target;
  }

  push(fragment: CallFragment): void {
    const call = this.#find(fragment) ?? this.#add(fragment);
    if (call.id === null && fragment.id !== null) this.#identify(call, fragment.id);
    if (call.block === null && fragment.name !== null) {
      if (fragment.signature !== null) this.#prove(fragment.signature);
      call.block = this.#begin(call, fragment.name);
      this.#release(call, call.block);
    }
    if (fragment.input === "") return;
    if (call.block === null || mayBePlaceholder(call, call.block, fragment.input))
      call.held += fragment.input;
    else {
      call.held = "";
      this.#blocks.append(call.block, fragment.input);
    }
  }

  end(): void {
    for (const call of this.#calls) {
      if (call.block === null) throw malformedResponse("a tool call without a name");
      this.#release(call, call.block);
      this.#blocks.end(call.block);
    }
  }

  /** Some providers give every call the index 0, so another id with the same index is another call. */
  #find(fragment: CallFragment): Call | undefined {
    const { index, id } = fragment;
    if (index === null && id === null) return this.#calls.at(-1);
    const named = id === null ? undefined : this.#byId.get(id);
    if (index === null) return named;
    const found = this.#byKey.get(index);
    if (found === undefined || id === null || found.id === null || found.id === id) return found;
    return fragment.name === null ? found : named;
  }

  #add(fragment: CallFragment): Call {
    const { index, custom } = fragment;
    const call: Call = { custom, id: null, block: null, held: "" };
    this.#calls.push(call);
    if (index !== null) this.#byKey.set(index, call);
    return call;
  }

  #identify(call: Call, id: string): void {
    call.id = id;
    this.#byId.set(id, call);
  }

  /** Google sends a call as a whole, so the signature comes with the name. */
  #prove(signature: string): void {
    const reasoning = this.#blocks.begin({ type: "reasoning" });
    this.#blocks.end(reasoning, this.#target && googleSignature(signature, this.#target));
  }

  #begin({ id, custom }: Call, name: string): OpenBlock {
    const kind = custom ? "custom" : "function";
    return this.#blocks.begin({ type: "tool_call", id: id ?? "", kind, namespace: null, name });
  }

  #release(call: Call, block: OpenBlock): void {
    this.#blocks.append(block, call.held);
    call.held = "";
  }
}

/** Some builds of vLLM and GLM's servers begin with `{}` and then send the real arguments. */
function mayBePlaceholder({ held, custom }: Call, { isEmpty }: OpenBlock, input: string): boolean {
  return isEmpty && held === "" && !custom && input === "{}";
}
