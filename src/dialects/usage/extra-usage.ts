import type { ReportedExtras } from "../../base/extra-usage.ts";
import type { HostedToolName, ToolCalls } from "../../base/hosted-tools.ts";
import type { Json } from "../../base/json.ts";
import { objectOf } from "../json/json-fields.ts";

/** What the dialects share in reading a provider's figures of its tier, its hosted tools and its audio. */

/** No call comes near this; a provider that reports more has reported nonsense. */
const maxCount = 1_000_000;

export function tierOf(tier: Json | undefined): ReportedExtras {
  return typeof tier === "string" ? { tier } : {};
}

export function audioOf(input: Json | undefined, output: Json | undefined): ReportedExtras {
  const audioInputTokens = countOf(objectOf(input)?.["audio_tokens"]);
  const audioOutputTokens = countOf(objectOf(output)?.["audio_tokens"]);
  return audioInputTokens + audioOutputTokens === 0 ? {} : { audioInputTokens, audioOutputTokens };
}

export function countOf(value: Json | undefined): number {
  const isCount = typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
  return isCount ? Math.min(value, maxCount) : 0;
}

/** Counts the calls of hosted tools that an answer shows. */
export class CallCounter {
  #calls: { [Name in HostedToolName]?: number } | null = null;

  get isEmpty(): boolean {
    return this.#calls === null;
  }

  report(): { readonly calls?: ToolCalls } {
    return this.#calls === null ? {} : { calls: this.#calls };
  }

  atLeast(name: HostedToolName, count: number): void {
    if (count > (this.#calls?.[name] ?? 0)) this.#calls = { ...this.#calls, [name]: count };
  }

  add(name: HostedToolName): void {
    this.atLeast(name, (this.#calls?.[name] ?? 0) + 1);
  }
}
