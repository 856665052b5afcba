import { dialectPath } from "../http/dialect-path.ts";
import type { ProviderOptions } from "../options.ts";
import type { PreparedRequest } from "../provider.ts";
import type { ConfiguredSettings } from "../vendor.ts";

/** Where a region's models are. China has a domain of its own. */
export function addressOf({ options: { region, endpoint } }: ConfiguredSettings): string | null {
  if (region === undefined) return null;
  if (endpoint === "mantle") return `https://bedrock-mantle.${region}.api.aws`;
  return `https://bedrock-runtime.${region}.amazonaws.com${region.startsWith("cn-") ? ".cn" : ""}`;
}

/** Matches public hosts, FIPS hosts and VPC endpoints. */
const ownHost = /(?:^|\.)bedrock-(runtime|mantle)(?:-fips)?\.([a-z0-9-]+)\./;

export function settingsIn(host: string): ProviderOptions {
  const [, service, region] = ownHost.exec(host) ?? [];
  if (region === undefined) return {};
  return { region, endpoint: service === "mantle" ? "mantle" : "runtime" };
}

/** Claude answers in Messages by InvokeModel; everything else is Converse. */
export function runtimeTarget(prepared: PreparedRequest): string {
  const { dialect, model, stream } = prepared;
  if (dialect !== "messages") return dialectPath(prepared);
  return `/model/${encodeURIComponent(model)}/${stream ? "invoke-with-response-stream" : "invoke"}`;
}

/** OpenAI's own models have another endpoint than the open ones. */
const ownModels = /(?:^|\.)gpt-\d/;

export function mantleTarget(prepared: PreparedRequest): string {
  if (prepared.dialect === "messages") return `/anthropic/v1${dialectPath(prepared)}`;
  return `${ownModels.test(prepared.model) ? "/openai/v1" : "/v1"}${dialectPath(prepared)}`;
}
