import { wholeFromText } from "../text/typed-number.ts";
import { modelPatternForm } from "./model-pattern.ts";

/** A limit of tokens per minute for a key or an account. */
export interface TpmLimit {
  readonly limit: number;
  /** Only models that match; null means all of them together. */
  readonly models: string | null;
}

type WrittenTpm = Pick<TpmLimit, "limit"> & { readonly models?: string | null | undefined };

/** Every request is checked against each of them. */
export const maxTpmLimits = 20;

/** `60000`, or `20000:claude-opus-*`. Null if it is not written like one. */
export function tpmFromText(text: string): TpmLimit | null {
  const [, amount = "", models = null] = /^([\d,_]+)(?::(.+))?$/.exec(text.trim()) ?? [];
  const tpm = { limit: wholeFromText(amount) ?? 0, models };
  return isTpmLimit(tpm) ? tpm : null;
}

/** Limits in the notation that operators write. */
export function tpmText(limits: readonly WrittenTpm[]): string {
  return limits
    .map(({ limit, models }) => (models == null ? String(limit) : `${limit}:${models}`))
    .join(", ");
}

/** Whether the limits are valid together: each must be for different models. */
export function areTpmLimits(limits: readonly TpmLimit[]): boolean {
  const named = new Set(limits.map(({ models }) => models));
  return named.size === limits.length && limits.length <= maxTpmLimits && limits.every(isTpmLimit);
}

function isTpmLimit({ limit, models }: TpmLimit): boolean {
  const isNamed = models === null || modelPatternForm.test(models);
  return Number.isSafeInteger(limit) && limit >= 1 && isNamed;
}
