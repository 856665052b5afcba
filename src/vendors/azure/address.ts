import { dialectPath } from "../http/http-provider.ts";
import type { ProviderOptions } from "../options.ts";
import type { PreparedRequest } from "../provider.ts";
import type { ConfiguredSettings } from "../vendor.ts";

/**
 * Azure's URLs for models:
 *
 *     {root}/openai/v1/chat/completions                                       without api_version
 *     {root}/openai/deployments/{deployment}/chat/completions?api-version=…   with one
 *     {root}/models/chat/completions?api-version=…                            Foundry's older endpoint
 *     {root}/anthropic/v1/messages                                            Claude
 *
 * A base URL includes the part after the root, as Azure's portal shows it.
 */
const apiPaths = /\/(?:openai(?:\/v1)?|anthropic(?:\/v1)?|models)\/*$/;

export function rootOf(baseUrl: string): string {
  return baseUrl.replace(apiPaths, "");
}

export function isAnthropicEndpoint(baseUrl: string | undefined): boolean {
  return baseUrl !== undefined && /\/anthropic(?:\/v1)?\/*$/.test(baseUrl);
}

export function isModelsEndpoint(baseUrl: string | undefined): boolean {
  return baseUrl !== undefined && /\/models\/*$/.test(baseUrl);
}

/** Claude is only at the resource's second name. */
export function addressOfResource({ options, dialects }: ConfiguredSettings): string | null {
  if (options.resource === undefined) return null;
  return dialects?.includes("messages") === true
    ? `https://${options.resource}.services.ai.azure.com/${dialects.length === 1 ? "anthropic" : "openai/v1"}`
    : `https://${options.resource}.openai.azure.com/openai${isDated(options.api_version) ? "" : "/v1"}`;
}

const ownHost = /^([a-z0-9-]+)\.(?:openai|services\.ai|cognitiveservices)\.azure\.(?:com|us|cn)$/;

export function settingsIn(host: string): ProviderOptions {
  const resource = ownHost.exec(host)?.[1];
  return resource === undefined ? {} : { resource };
}

/** The date of a version such as 2024-10-21 or 2025-03-01-preview, which are compared as text; null for v1. */
export function dateOf(apiVersion: string | undefined): string | null {
  return /^\d{4}-\d{2}-\d{2}/.exec(apiVersion ?? "")?.[0] ?? null;
}

function isDated(apiVersion: string | undefined): boolean {
  return dateOf(apiVersion) !== null;
}

/** The request's target below the root. */
export function targetOf(prepared: PreparedRequest, baseUrl: string, apiVersion: string | undefined): string {
  const { dialect, model } = prepared;
  const path = dialectPath(prepared);
  if (dialect === "messages") return `/anthropic/v1${path}`;
  const query = apiVersion === undefined || apiVersion === "v1" ? "" : `?api-version=${apiVersion}`;
  if (isModelsEndpoint(baseUrl)) return `/models${path}${query}`;
  if (!isDated(apiVersion)) return `/openai/v1${path}${query}`;
  // Responses name the model in the body, in dated versions too.
  return dialect === "chat"
    ? `/openai/deployments/${encodeURIComponent(model)}${path}${query}`
    : `/openai${path}${query}`;
}
