import { isObject, type JsonObject } from "../../base/json.ts";

/** In seconds; null for those that the file does not have. */
export interface LiteLlmTimeouts {
  /** For the whole call. */
  readonly total: number | null;
  /** Until the first byte of a stream. */
  readonly streamFirstByte: number | null;
}

/** Timeouts of deployments without their own. The router's settings take precedence over the library's. */
export function defaultTimeouts(root: JsonObject): LiteLlmTimeouts {
  const router = isObject(root["router_settings"]) ? root["router_settings"] : {};
  const library = isObject(root["litellm_settings"]) ? root["litellm_settings"] : {};
  return {
    total: secondsOf(router["timeout"]) ?? secondsOf(library["request_timeout"]),
    streamFirstByte: secondsOf(router["stream_timeout"]) ?? secondsOf(library["stream_timeout"]),
  };
}

/** The settings that `defaultTimeouts` has read. */
export const defaultTimeoutNames: ReadonlySet<string> = new Set([
  "router_settings.timeout",
  "router_settings.stream_timeout",
  "litellm_settings.request_timeout",
  "litellm_settings.stream_timeout",
]);

export function timeoutsOf(parameters: JsonObject, usual: LiteLlmTimeouts): LiteLlmTimeouts {
  return {
    total: secondsOf(parameters["timeout"]) ?? usual.total,
    streamFirstByte: secondsOf(parameters["stream_timeout"]) ?? usual.streamFirstByte,
  };
}

/** LiteLLM accepts numbers, also as strings. */
function secondsOf(value: unknown): number | null {
  const seconds = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  return typeof seconds === "number" && Number.isFinite(seconds) && seconds > 0 ? seconds : null;
}
