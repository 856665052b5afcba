import type { ProviderOptions } from "../options.ts";
import type { OptionWarning } from "../vendor.ts";

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
    return [{ about: "region", message: 'is no name of an AWS region, such as "eu-central-1"' }];
  }
  const [, arnRegion = region] = arnForm.exec(model) ?? [];
  if (arnRegion !== "" && arnRegion !== region) {
    return [
      { about: "upstream_model", message: `is in ${arnRegion}, and its provider's region is ${region}` },
    ];
  }
  const [, geography = ""] = profileForm.exec(model) ?? [];
  const regions = geographies[geography];
  if (regions === undefined || regions.test(region)) return [];
  const fitting = Object.keys(geographies).find((name) => geographies[name]?.test(region)) ?? "global";
  const message = `is the profile of ${geography}., which is not called from ${region}; write ${fitting}. or global., or another region`;
  return [{ about: "upstream_model", message }];
}
