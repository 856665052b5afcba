import type { GatewayError } from "../../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { hasTokens, type ReportedUsage } from "../../../base/usage/usage.ts";
import { reportedFailure } from "../../errors/failure.ts";
import { mergeReported } from "../../usage/reported-usage.ts";
import { readUsage, usageReader } from "./usage-in.ts";

/** The usage that a stream has reported so far, first in `message_start`, last in `message_delta`. */
export class StreamUsage {
  /** Running totals: later ones replace earlier ones. */
  readonly reported: JsonObject = {};
  #hasOutput = false;

  /** Reads the usage of `message_start`. It is sent before there is any output, so its output count is ignored. */
  begin(usage: Json | undefined): ReportedUsage | null {
    mergeReported(this.reported, usage);
    return this.#read();
  }

  /** Reads the usage of `message_delta`; null if it reports none. */
  update(usage: Json | undefined): ReportedUsage | null {
    if (!isObject(usage)) return null;
    if (usage["output_tokens"] != null) this.#hasOutput = true;
    // Some servers fill in zeros here for the input that they have reported before.
    const repeatsInput = hasInput(usage) || !hasInput(this.reported);
    mergeReported(this.reported, repeatsInput ? usage : withoutInput(usage));
    return this.#read();
  }

  /** Figures reported with an error complete the earlier ones, unless they are zeros that a server has filled in. */
  failure(event: JsonObject): GatewayError {
    const isReported = hasTokens(readUsage(event["usage"])) && this.update(event["usage"]) !== null;
    return reportedFailure(isReported ? { ...event, usage: this.reported } : event, usageReader);
  }

  #read(): ReportedUsage | null {
    const usage = readUsage(this.reported);
    return usage === null || this.#hasOutput ? usage : { ...usage, isOutputDoubtful: true };
  }
}

const inputNames = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];

function hasInput(reported: JsonObject): boolean {
  return inputNames.some((name) => (reported[name] ?? 0) !== 0);
}

function withoutInput(reported: JsonObject): JsonObject {
  const { cache_creation: _, ...rest } = reported;
  for (const name of inputNames) delete rest[name];
  return rest;
}
