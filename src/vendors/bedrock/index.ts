import type { MemberChanges } from "../../dialects/json/patch.ts";
import { leftOutBetas } from "../claude/headers.ts";
import { compatibleFormats } from "../compatible/index.ts";
import { keySchemes } from "../credentials/static-header.ts";
import { overHttp } from "../http/http-provider.ts";
import { byApiKey } from "../options.ts";
import type { Vendor } from "../vendor.ts";
import { addressOf, mantleTarget, runtimeTarget, settingsIn } from "./address.ts";
import { adviseOnBedrock } from "./advice.ts";
import { bedrockBetas, claudeChanges } from "./claude-body.ts";
import { bedrockCredentials } from "./credentials.ts";
import { EventStreamReceiver } from "./event-stream-receiver.ts";
import { readBedrockRefusal } from "./refusal.ts";
import { doubtsAboutRegion } from "./region.ts";

/**
 * Amazon Bedrock: Claude by InvokeModel, which speaks Messages, all other models by Converse; or, with `endpoint = "mantle"`, every
 * model in its maker's dialect. https://docs.aws.amazon.com/bedrock/latest/APIReference/welcome.html
 */
export const bedrock: Vendor = {
  defaults: { dialects: ["converse", "messages"], maxTokensField: "max_tokens", countTokens: true },
  defaultsFor: ({ options }) =>
    options.endpoint === "mantle" ? { dialects: ["messages", "chat", "responses"] } : {},
  modelDefaults: (model, { options }) =>
    options.endpoint === "mantle"
      ? { dialects: isClaude(model) ? ["messages"] : ["chat"] }
      : { dialects: isClaude(model) ? ["messages"] : ["converse"] },
  keys: "required",
  options: [
    ...(["region", "endpoint", "guardrail", "api_version", "access_key_id", "secret_access_key"] as const),
    ...(["session_token", "credentials"] as const),
  ],
  optionDefaults: { endpoint: "runtime" },
  authentication: [
    byApiKey,
    { needs: ["access_key_id", "secret_access_key"], mayHave: ["session_token"] },
    { needs: ["credentials"] },
  ],
  credentialWords: ["chain"],
  checkOptions: ({ region, credentials }) => [
    ...(region === undefined
      ? [{ option: "region" as const, message: "missing; it is part of the address and of signatures" }]
      : []),
    ...(credentials === undefined || credentials === "chain"
      ? []
      : [{ option: "credentials" as const, message: 'must be "chain"' }]),
  ],
  doubtsAbout: doubtsAboutRegion,
  countingDialect: ({ endpoint }) => (endpoint === "mantle" ? null : "converse"),
  strictDialects: ["messages", "converse", "responses"],
  meteredFormats: (name, { options }) => {
    if (options.endpoint === "mantle") return compatibleFormats;
    return /(?:^|\.)cohere\./.test(name) ? ["bedrock_cohere", "bedrock"] : ["titan", "bedrock"];
  },
  baseUrl: {
    default: null,
    derive: addressOf,
    settingsIn,
    example: "https://bedrock-runtime.eu-central-1.amazonaws.com",
    alternative: "region",
    pathWarning: (path) => (path === "/" ? null : "has a path; Bedrock's addresses have none"),
  },
  bodyChanges(dialect, { endpoint, guardrail }) {
    if (endpoint === "mantle") return null;
    if (dialect === "messages") return claudeChanges;
    return guardrail === undefined ? null : () => guardrailChange(guardrail);
  },
  leftOut: (dialect, headers, { endpoint }) =>
    dialect === "messages" && endpoint !== "mantle" ? leftOutBetas(bedrockBetas(headers)) : [],
  create: overHttp((settings, { tokens }) => ({
    credential: keySchemes.bearer,
    credentials: bedrockCredentials(settings, tokens),
    target: settings.options.endpoint === "mantle" ? mantleTarget : runtimeTarget,
    receive: (receiver) => new EventStreamReceiver(receiver),
    readRefusal: readBedrockRefusal,
    advise: (answer, model) => adviseOnBedrock(answer, model, settings.options.region ?? ""),
  })),
};

function isClaude(model: string): boolean {
  return /claude/.test(model);
}

/** `id@version`, as it is configured. */
function guardrailChange(guardrail: string): MemberChanges {
  const [guardrailIdentifier = "", guardrailVersion = ""] = guardrail.split("@");
  return { guardrailConfig: { guardrailIdentifier, guardrailVersion } };
}
