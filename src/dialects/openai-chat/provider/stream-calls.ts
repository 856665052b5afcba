import { malformedAnswer } from "../../errors/failure.ts";
import type { IrEvent } from "../../ir/ir.ts";
import type { Target } from "../../provider-dialect.ts";
import { googleProof } from "../../reasoning/google-proof.ts";
import type { CallFragment } from "./delta-in.ts";

interface Call {
  readonly custom: boolean;
  id: string | null;
  /** Null until the name is known and the block begins. */
  block: number | null;
  /** Input that arrived before the name, or that may be a placeholder. */
  held: string;
  empty: boolean;
}

/**
 * Assembles calls from fragments. Providers differ in what a fragment has: an index or none, the id and name on the
 * first or on all of them, input before the name, or no input at all.
 */
export class CallAssembler {
  readonly #emit: (event: IrEvent) => void;
  readonly #nextIndex: () => number;
  readonly #target: Target;
  readonly #calls: Call[] = [];
  /** The latest call of each index and of each id: there may be as many calls as a provider likes. */
  readonly #byKey = new Map<number, Call>();
  readonly #byId = new Map<string, Call>();

  constructor(emit: (event: IrEvent) => void, nextIndex: () => number, target: Target) {
    this.#emit = emit;
    this.#nextIndex = nextIndex;
    this.#target = target;
  }

  push(fragment: CallFragment): void {
    const call = this.#find(fragment) ?? this.#add(fragment);
    if (call.id === null && fragment.id !== null) this.#identify(call, fragment.id);
    if (call.block === null && fragment.name !== null) {
      if (fragment.signature !== null) this.#prove(fragment.signature);
      this.#begin(call, fragment.name);
    }
    if (fragment.input === "") return;
    if (call.block === null || mayBePlaceholder(call, fragment.input)) call.held += fragment.input;
    else this.#input(call, call.block, fragment.input);
  }

  /** A function call without input gets an empty object. */
  end(): void {
    for (const call of this.#calls) {
      if (call.block === null) throw malformedAnswer("a tool call without a name");
      if (call.held !== "") this.#input(call, call.block, call.held);
      if (call.empty && !call.custom) this.#input(call, call.block, "{}");
      this.#emit({ type: "block_end", index: call.block, proof: null });
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
    const call: Call = { custom, id: null, block: null, held: "", empty: true };
    this.#calls.push(call);
    if (index !== null) this.#byKey.set(index, call);
    return call;
  }

  #identify(call: Call, id: string): void {
    call.id = id;
    this.#byId.set(id, call);
  }

  /** Google sends a call whole, so the signature comes with the name. */
  #prove(signature: string): void {
    const index = this.#nextIndex();
    this.#emit({ type: "block_start", index, block: { type: "reasoning" } });
    this.#emit({ type: "block_end", index, proof: googleProof(signature, this.#target) });
  }

  #begin(call: Call, name: string): void {
    call.block = this.#nextIndex();
    this.#emit({
      type: "block_start",
      index: call.block,
      block: {
        type: "tool_call",
        id: call.id ?? "",
        kind: call.custom ? "custom" : "function",
        namespace: null,
        name,
      },
    });
    const { held } = call;
    call.held = "";
    if (held !== "") this.#input(call, call.block, held);
  }

  #input(call: Call, index: number, text: string): void {
    call.empty = false;
    call.held = "";
    this.#emit({ type: "delta", index, text });
  }
}

/** Some builds of vLLM and GLM's servers begin with `{}` and then send the real arguments. */
function mayBePlaceholder(call: Call, input: string): boolean {
  return call.empty && call.held === "" && !call.custom && input === "{}";
}
