import type { MemberChanges } from "../../dialects/json/patch.ts";
import { issueByChain } from "../aws/chain.ts";
import { fixedAwsCredential, issuedAwsCredential } from "../aws/signing-credential.ts";
import { droppedBetas } from "../claude/headers.ts";
import { compatibleFormats } from "../compatible/index.ts";
import { clockBehindMs, clockProblem } from "../credentials/clock-problem.ts";
import { type Credential, keySchemes } from "../credentials/credential.ts";
import type { TokenSources } from "../credentials/token-sources.ts";
import { overHttp } from "../http/http-provider.ts";
import { byApiKey } from "../options.ts";
import type { ErrorResponse, ProviderSettings } from "../provider.ts";
import type { Vendor } from "../vendor.ts";
import { addressOf, lintRegion, mantleTarget, runtimeTarget, settingsIn } from "./address.ts";
import { bedrockBetas, claudeChanges } from "./claude-body.ts";
import { EventStreamReceiver } from "./event-stream-receiver.ts";
import { bedrockModelLists } from "./model-list.ts";
import { exceptionOf, readBedrockError } from "./provider-error.ts";

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
  genAiName: () => "aws.bedrock",
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
  credentialKeywords: ["chain"],
  checkOptions: ({ region, credentials }) => [
    ...(region === undefined
      ? [{ option: "region" as const, message: "missing; the URL and signatures need it" }]
      : []),
    ...(credentials === undefined || credentials === "chain"
      ? []
      : [{ option: "credentials" as const, message: 'must be "chain"' }]),
  ],
  lint: lintRegion,
  countingDialect: ({ endpoint }) => (endpoint === "mantle" ? null : "converse"),
  strictDialects: ["messages", "converse", "responses"],
  sellsBatches: true,
  fieldsOf: ["Amazon", "Anthropic", "OpenAI"],
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
    pathWarning: (path) => (path === "/" ? null : "has a path; Bedrock's base URLs have none"),
  },
  bodyChanges(dialect, { endpoint, guardrail }) {
    if (endpoint === "mantle") return null;
    if (dialect === "messages") return claudeChanges;
    return guardrail === undefined ? null : () => guardrailChange(guardrail);
  },
  droppedHeaders: (dialect, headers, { endpoint }) =>
    dialect === "messages" && endpoint !== "mantle" ? droppedBetas(bedrockBetas(headers)) : [],
  modelLists: bedrockModelLists,
  create: overHttp((settings, { tokens }) => ({
    credential: keySchemes.bearer,
    credentials: bedrockCredentials(settings, tokens),
    target: settings.options.endpoint === "mantle" ? mantleTarget : runtimeTarget,
    receive: (receiver) => new EventStreamReceiver(receiver),
    readProviderError: readBedrockError,
    advise: (answer, model) => adviseOnBedrock(answer, model, settings.options.region ?? ""),
  })),
};

function isClaude(model: string): boolean {
  return /claude/.test(model);
}

/** `id@version`, in the configuration's form. */
function guardrailChange(guardrail: string): MemberChanges {
  const [guardrailIdentifier = "", guardrailVersion = ""] = guardrail.split("@");
  return { guardrailConfig: { guardrailIdentifier, guardrailVersion } };
}

/** Advice for an operator if Bedrock rejects a small request. */
export function adviseOnBedrock(answer: ErrorResponse, model: string, region: string): string | null {
  const { head, receivedAtMs } = answer;
  const { message } = readBedrockError(answer);
  const name = JSON.stringify(model);
  switch (exceptionOf(answer)) {
    case "ExpiredTokenException":
      return 'the temporary key has expired; set a new one, or use credentials = "chain", which renews it';
    case "UnrecognizedClientException":
      return "AWS does not know this key; check access_key_id (or api_key, which is valid in one region only)";
    case "InvalidSignatureException":
      return (
        clockProblem(clockBehindMs(head.get("date"), receivedAtMs)) ??
        (/Signature (?:expired|not yet current)/i.test(message)
          ? "this machine's clock is wrong; correct it"
          : "the secret does not belong to the key; check secret_access_key")
      );
    case "AccessDeniedException":
      // IAM names the action, bedrock:InvokeModel, which says nothing about the model.
      return /model/i.test(message) && !/not authorized to perform/i.test(message)
        ? `the model ${name} is not enabled in ${region}; request access in the Bedrock console, or check the IAM policy`
        : "the IAM policy does not allow bedrock:InvokeModel and bedrock:InvokeModelWithResponseStream";
    case "ResourceNotFoundException":
      return `model ${name} does not exist in ${region}; check upstream_model and region`;
    case "ValidationException":
      if (/on-demand throughput/i.test(message))
        return `${name} needs an inference profile: add the prefix of your region to its id, such as eu. or us.`;
      return /model identifier is invalid|invalid model/i.test(message)
        ? `Bedrock does not know ${name}; check upstream_model`
        : null;
    default:
      return null;
  }
}

/** The alternative to an API key; undefined if there is a key, or nothing at all. */
function bedrockCredentials(
  { name, options }: ProviderSettings,
  tokens: TokenSources,
): readonly Credential[] | undefined {
  const { region = "", access_key_id: id, secret_access_key: secret, session_token: token } = options;
  const scope = { region, service: options.endpoint === "mantle" ? "bedrock-mantle" : "bedrock" };
  if (id !== undefined && secret !== undefined) {
    const key = { accessKeyId: id, secretAccessKey: secret, sessionToken: token ?? null };
    return [fixedAwsCredential(key, scope)];
  }
  if (options.credentials !== "chain") return undefined;
  const source = tokens.source(name, { issuer: "aws chain", region }, issueByChain(region));
  return [issuedAwsCredential(source, scope)];
}
