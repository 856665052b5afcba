import { nothingReported, type ReportedExtras } from "../../base/extra-usage.ts";
import type { HostedToolName } from "../../base/hosted-tools.ts";
import type { Json } from "../../base/json.ts";
import { objectOf } from "../json/json-fields.ts";

/** Shared by the dialects: reads what a provider reports of its tier, hosted tools and audio. */

/** Far above any real count; larger figures are wrong. */
const maxCount = 1_000_000;

export function tierOf(tier: Json | undefined): ReportedExtras {
  return typeof tier === "string" ? { tier } : nothingReported;
}

export function audioOf(input: Json | undefined, output: Json | undefined): ReportedExtras {
  const audioInputTokens = countOf(objectOf(input)?.["audio_tokens"]);
  const audioOutputTokens = countOf(objectOf(output)?.["audio_tokens"]);
  return audioInputTokens + audioOutputTokens === 0
    ? nothingReported
    : { audioInputTokens, audioOutputTokens };
}

/** All of these together. */
export function reportedTogether(...parts: readonly ReportedExtras[]): ReportedExtras {
  return parts.every((part) => part === nothingReported) ? nothingReported : Object.assign({}, ...parts);
}

export function countOf(value: Json | undefined): number {
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isCount ? Math.min(value, maxCount) : 0;
}

/** Counts the calls of hosted tools in an answer. */
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
