import type { Json, JsonObject } from "../../base/json.ts";
import type { HostedToolName } from "../../base/usage/hosted-tools.ts";
import { maxTokens, nothingReported, type ReportedExtras, tierFields } from "../../base/usage/usage.ts";
import { objectOf } from "../json/json-fields.ts";
import { isTokenCount } from "./reported-usage.ts";

/** Shared by the dialects: reads what a provider reports of its tier, hosted tools, audio and images. */

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

/** Tokens that have a price of their own, by what they are of. */
export interface MediaTokens {
  readonly audio: number;
  readonly image: number;
}

/**
 * The parts of a call's tokens that are audio or images. Providers count cached tokens among the input, so the cached parts are
 * subtracted from it.
 */
export function mediaTokens(input: MediaTokens, cached: MediaTokens, output: MediaTokens): ReportedExtras {
  const images = input.image + output.image + cached.image;
  if (images + input.audio + output.audio + cached.audio === 0) return nothingReported;
  return {
    audioInputTokens: Math.max(0, input.audio - cached.audio),
    audioOutputTokens: output.audio,
    ...(cached.audio > 0 ? { cachedAudioInputTokens: cached.audio } : {}),
    ...(images > 0
      ? { imageInputTokens: Math.max(0, input.image - cached.image), imageOutputTokens: output.image }
      : {}),
    ...(cached.image > 0 ? { cachedImageInputTokens: cached.image } : {}),
  };
}

/** OpenAI's details of input and output tokens. */
export function mediaOf(input: Json | undefined, output: Json | undefined): ReportedExtras {
  const details = objectOf(input);
  return mediaTokens(
    mediaAmong(details),
    mediaAmong(objectOf(details?.["cached_tokens_details"])),
    mediaAmong(objectOf(output)),
  );
}

function mediaAmong(details: JsonObject | null | undefined): MediaTokens {
  return { audio: tokensOf(details?.["audio_tokens"]), image: tokensOf(details?.["image_tokens"]) };
}

/** Cache writes that stay for a day, which OpenAI's responses report by the retention of the whole prompt. */
export function dayWritesOf(
  { prompt_cache_retention: retention }: JsonObject,
  input: Json | undefined,
): ReportedExtras {
  const written = retention === "24h" ? tokensOf(objectOf(input)?.["cache_write_tokens"]) : 0;
  return written === 0 ? nothingReported : { cacheWriteDayTokens: written };
}

/** A count of tokens; 0 if it is not one. */
export function tokensOf(value: Json | undefined): number {
  return isTokenCount(value) ? Math.min(value, maxTokens) : 0;
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
