import { readGoogleKey } from "../google/service-account.ts";
import { dialectPath } from "../http/http-provider.ts";
import type { ProviderOptions } from "../options.ts";
import type { PreparedRequest, ProviderSettings } from "../provider.ts";

export const defaultLocation = "global";

/** Multi-regions have their own kind of host, and `global` has no prefix. */
export function hostOf(location: string): string {
  if (location === "global") return "aiplatform.googleapis.com";
  if (location === "us" || location === "eu") return `aiplatform.${location}.rep.googleapis.com`;
  return `${location}-aiplatform.googleapis.com`;
}

const ownHost = /^(?:([a-z0-9-]+)-)?aiplatform\.(?:(us|eu)\.rep\.)?googleapis\.com$/;

export function settingsIn(host: string): ProviderOptions {
  const found = ownHost.exec(host);
  return found === null ? {} : { location: found[1] ?? found[2] ?? defaultLocation };
}

/** The configured project, or the key file's; null for a key that needs none. */
export function projectOf({ options }: Pick<ProviderSettings, "options">): string | null {
  if (options.project !== undefined) return options.project;
  const key = options.credentials === undefined ? "" : readGoogleKey(options.credentials);
  return typeof key === "string" ? null : key.projectId;
}

/** The request's target. The model's name is part of it, except for open models and for counting Claude's tokens. */
export function targetOf(
  prepared: PreparedRequest,
  project: string | null,
  location = defaultLocation,
): string {
  const place = project === null ? "" : `/projects/${project}/locations/${location}`;
  switch (prepared.dialect) {
    case "messages":
      return `/v1${place}/publishers/anthropic/models/${claudeMethod(prepared)}`;
    case "gemini":
      // With an API key there is no project, and only the first version, which also has all that is metered.
      return `${project === null || prepared.purpose === "metered" ? "/v1" : "/v1beta1"}${place}/${geminiMethod(prepared)}`;
    default:
      return `/v1${place}/endpoints/openapi${dialectPath(prepared)}`;
  }
}

function claudeMethod({ model, purpose, stream }: PreparedRequest): string {
  if (purpose === "countTokens") return "count-tokens:rawPredict";
  return `${segment(model)}:${stream ? "streamRawPredict" : "rawPredict"}`;
}

/** A tuned model is an endpoint, whose name is a number. */
function geminiMethod({ model, purpose, method, stream }: PreparedRequest): string {
  const place = /^\d+$/.test(model) ? `endpoints/${model}` : `publishers/google/models/${segment(model)}`;
  if (purpose !== "generate") return `${place}:${method ?? purpose}`;
  return `${place}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`;
}

/** Versions follow an `@`, which stays unchanged. */
function segment(model: string): string {
  return encodeURIComponent(model).replaceAll("%40", "@");
}
