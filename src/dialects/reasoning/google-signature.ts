import type { Target } from "../contract/provider-dialect.ts";
import type { GoogleSignature, IrAssistantBlock, IrReasoning, IrToolCall } from "../ir/ir.ts";

/**
 * Shared by Gemini's own dialect and Google's chat endpoint. A signature is valid for one model of one account. The hash
 * hides the operator's names from clients.
 */
export function googleSignature(
  signature: string | null,
  target: Pick<Target, "provider" | "upstreamModel">,
): GoogleSignature {
  return { maker: "google", signature, origin: originOf(target) };
}

function originOf({ provider, upstreamModel }: Pick<Target, "provider" | "upstreamModel">): string {
  return Bun.hash.xxHash64(`${provider}\n${upstreamModel}`).toString(16);
}

/** Google skips the validation of a call with this instead of a signature; for calls of other models or lost signatures. */
export const anySignature = "skip_thought_signature_validator";

/** Whether a block is the target's own: it has nothing to lose but the signature, which goes back with the call. */
export function isOwnSignature({ signature }: IrReasoning, target: Target): boolean {
  return signature?.maker === "google" && signature.origin === originOf(target);
}

/** The signatures of a turn's calls: each is in the reasoning before its call. Null if there is none. */
export function signaturesOf(
  blocks: readonly IrAssistantBlock[],
  target: Target,
): ReadonlyMap<IrToolCall, string> | null {
  let signatures: Map<IrToolCall, string> | null = null;
  let pending: string | null = null;
  for (const block of blocks) {
    if (block.type === "reasoning") pending = signatureFor(block, target) ?? pending;
    else if (block.type === "tool_call" && pending !== null) {
      signatures ??= new Map();
      signatures.set(block, pending);
      pending = null;
    }
  }
  return signatures;
}

function signatureFor(block: IrReasoning, target: Target): string | null {
  return block.signature?.maker === "google" && isOwnSignature(block, target)
    ? block.signature.signature
    : null;
}
