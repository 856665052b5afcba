import type { GatewayError } from "../../../base/errors.ts";
import { isObject, type Json, type JsonObject } from "../../../base/json.ts";
import { hasTokens, type ReportedUsage } from "../../../base/usage/usage.ts";
import { reportedFailure } from "../../errors/failure.ts";
import { mergeFigures } from "../../usage/usage-figures.ts";
import { figures, readUsage } from "./usage-in.ts";

/** What a stream has reported of its usage, first in `message_start`, last in `message_delta`. */
export class StreamUsage {
  /** Running totals: later ones replace earlier ones. */
  readonly figures: JsonObject = {};
  #hasOutput = false;

  /** Reads the usage of `message_start`. It is sent before there is any output, so its output count is ignored. */
  begin(usage: Json | undefined): ReportedUsage | null {
    mergeFigures(this.figures, usage);
    return this.#read();
  }

  /** Reads the usage of `message_delta`; null if it reports none. */
  update(usage: Json | undefined): ReportedUsage | null {
    if (!isObject(usage)) return null;
    if (usage["output_tokens"] != null) this.#hasOutput = true;
    // Some servers fill in zeros here for the input that they have reported before.
    const repeatsInput = hasInput(usage) || !hasInput(this.figures);
    mergeFigures(this.figures, repeatsInput ? usage : withoutInput(usage));
    return this.#read();
  }

  /** Figures reported with an error complete the earlier ones, unless they are zeros that a server has filled in. */
  failure(event: JsonObject): GatewayError {
    const hasFigures = hasTokens(readUsage(event["usage"])) && this.update(event["usage"]) !== null;
    return reportedFailure(hasFigures ? { ...event, usage: this.figures } : event, figures);
  }

  #read(): ReportedUsage | null {
    const usage = readUsage(this.figures);
    return usage === null || this.#hasOutput ? usage : { ...usage, isOutputDoubtful: true };
  }
}

const inputNames = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"];

function hasInput(figures: JsonObject): boolean {
  return inputNames.some((name) => (figures[name] ?? 0) !== 0);
}

function withoutInput(figures: JsonObject): JsonObject {
  const { cache_creation: _, ...rest } = figures;
  for (const name of inputNames) delete rest[name];
  return rest;
}
