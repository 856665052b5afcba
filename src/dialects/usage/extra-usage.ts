import type { Json, JsonObject } from "../../base/json.ts";
import type { HostedToolName } from "../../base/usage/hosted-tools.ts";
import { nothingReported, type ReportedExtras, tierFields } from "../../base/usage/usage.ts";
import { objectOf } from "../json/json-fields.ts";

/** Shared by the dialects: reads what a provider reports of its tier, hosted tools and audio. */

/** Far above any real count; larger figures are wrong. */
const maxCount = 1_000_000;

/** The tiers reported in any of these parts of a response. */
export function tiersIn(...parts: readonly (JsonObject | null)[]): ReportedExtras {
  let extras = nothingReported;
  for (const part of parts) {
    for (const field of tierFields) {
      const name = part?.[field];
      if (typeof name === "string" && name !== "") extras = { tiers: { [field]: name, ...extras.tiers } };
    }
  }
  return extras;
}

/** For dialects that report their tier under another name. */
export function serviceTier(tier: string | null): ReportedExtras {
  return tier === null ? nothingReported : { tiers: { service_tier: tier } };
}

export function audioOf(input: Json | undefined, output: Json | undefined): ReportedExtras {
  const audioInputTokens = countOf(objectOf(input)?.["audio_tokens"]);
  const audioOutputTokens = countOf(objectOf(output)?.["audio_tokens"]);
  return audioInputTokens + audioOutputTokens === 0
    ? nothingReported
    : { audioInputTokens, audioOutputTokens };
}

const isNothing = (part: ReportedExtras) => part === nothingReported;

/** Merges the reported extras. */
export function reportedTogether(...parts: readonly ReportedExtras[]): ReportedExtras {
  return parts.every(isNothing) ? nothingReported : Object.assign({}, ...parts);
}

export function countOf(value: Json | undefined): number {
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isCount ? Math.min(value, maxCount) : 0;
}

export class CallCounter {
  #calls: { [Name in HostedToolName]?: number } | null = null;

  get isEmpty(): boolean {
    return this.#calls === null;
  }

  report(): ReportedExtras {
    return this.#calls === null ? nothingReported : { calls: this.#calls };
  }

  atLeast(name: HostedToolName, count: number): void {
    if (count > (this.#calls?.[name] ?? 0)) this.#calls = { ...this.#calls, [name]: count };
  }

  add(name: HostedToolName): void {
    this.atLeast(name, (this.#calls?.[name] ?? 0) + 1);
  }
}
