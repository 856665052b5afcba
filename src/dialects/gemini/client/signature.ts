import type { WriterContext } from "../../contract/client-dialect.ts";
import type { IrReasoning, ReasoningSignature } from "../../ir/ir.ts";
import { isReasoningEnvelope, unwrapReasoning, wrapReasoning } from "../../reasoning/reasoning-envelope.ts";

/**
 * Reasoning of any provider travels in `thoughtSignature`, because clients drop thoughts and keep this field. It is padded base64:
 * Google's SDK for Python decodes the field, and sends it back in the alphabet of URLs. A step of the model may have reasoned several
 * times, with an envelope for each.
 */
export class SignedReasoning {
  readonly #keepsSignatures: boolean;
  readonly #envelopes: string[] = [];
  /** Google's, for the provider that it came from. */
  #own: string | null = null;

  constructor({ keepsSignatures }: Pick<WriterContext, "keepsSignatures">) {
    this.#keepsSignatures = keepsSignatures === true;
  }

  add(signature: ReasoningSignature | null, parts: readonly string[]): void {
    if (signature === null) return;
    if (this.#keepsSignatures && signature.maker === "google") this.#own = signature.signature ?? this.#own;
    else this.#envelopes.push(wrapReasoning(signature, parts));
  }

  /** The signature of all since the last call; null if there was none. */
  take(): string | null {
    const envelopes = this.#envelopes.splice(0);
    const own = this.#own;
    this.#own = null;
    return envelopes.length === 0 ? own : Buffer.from(envelopes.join(separator)).toString("base64");
  }
}

const separator = "\n";

/** Node reads both alphabets. */
function decoded(signature: string): string {
  return Buffer.from(signature, "base64").toString();
}

export function isForeign(signature: string): boolean {
  return isReasoningEnvelope(decoded(signature));
}

/** The reasoning in an envelope. Only Google can use its own signatures, and clients' placeholders hold none. */
export function readSignature(signature: string): IrReasoning[] {
  const text = decoded(signature);
  if (!isReasoningEnvelope(text)) return [];
  return text.split(separator).flatMap((envelope) => unwrapReasoning(envelope, "") ?? []);
}
