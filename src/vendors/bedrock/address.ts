import { dialectPath } from "../http/http-provider.ts";
import type { ProviderOptions } from "../options.ts";
import type { PreparedRequest } from "../provider.ts";
import type { ConfiguredSettings, OptionWarning } from "../vendor.ts";

/** The URL of a region's models. China has its own domain. */
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

/** Claude uses Messages by InvokeModel; everything else is Converse. */
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

/** The regions that each geography of inference profiles is called from. `global` is called from everywhere. */
const geographies: Readonly<Record<string, RegExp>> = {
  us: /^(?:us|ca)-(?!gov-)/,
  "us-gov": /^us-gov-/,
  eu: /^eu-/,
  apac: /^ap-/,
  jp: /^ap-northeast-[13]$/,
  au: /^ap-southeast-[24]$/,
  ca: /^ca-/,
  sa: /^sa-/,
};

const regionForm =
  /^(?:us(?:-gov|-iso[a-z]?)?|ca|mx|sa|eu(?:-isoe)?|eusc-de|il|me|af|ap|cn)-(?:central|north|south|(?:north|south)?(?:east|west))-\d$/;
const profileForm = /^([a-z-]+)\.[a-z0-9-]+\./;
const arnForm = /^arn:[^:]*:bedrock:([^:]*):/;

/** Detects a model name that belongs to another region than the configured one; Bedrock would not find it. */
export function lintRegion({ region }: ProviderOptions, model: string): readonly OptionWarning[] {
  if (region === undefined) return [];
  if (!regionForm.test(region)) {
    return [{ about: "region", message: 'is not an AWS region, such as "eu-central-1"' }];
  }
  const [, arnRegion = region] = arnForm.exec(model) ?? [];
  if (arnRegion !== "" && arnRegion !== region) {
    return [
      { about: "upstream_model", message: `is in ${arnRegion}, but the provider's region is ${region}` },
    ];
  }
  const [, geography = ""] = profileForm.exec(model) ?? [];
  const regions = geographies[geography];
  if (regions === undefined || regions.test(region)) return [];
  const fitting = Object.keys(geographies).find((name) => geographies[name]?.test(region)) ?? "global";
  const message = `is a profile for ${geography}., which cannot be called from ${region}; use ${fitting}. or global., or another region`;
  return [{ about: "upstream_model", message }];
}
