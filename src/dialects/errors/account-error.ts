import type { ProviderErrorBody } from "./error-body.ts";

/** A vendor's way to report a problem of the operator's account: by a code or type, or only in the message. */
interface Wording {
  readonly codes: ReadonlySet<string | undefined>;
  /** Matched at the beginning of the message, because later parts may quote the request. */
  readonly start: RegExp;
}

function says({ codes, start }: Wording, { code, type, message }: ProviderErrorBody): boolean {
  return codes.has(code) || codes.has(type) || start.test(message);
}

const unknownModel: Wording = {
  codes: new Set([
    // OpenAI, Cerebras and Hugging Face
    ...["model_not_found", "model_not_supported"],
    // Groq
    "model_decommissioned",
    // Mistral and Perplexity
    "invalid_model",
    // Together
    "model_not_available",
    // GitHub
    ...["unknown_model", "unavailable_model"],
    // Azure
    "DeploymentNotFound",
  ]),
  // DeepSeek, OpenRouter, xAI, llama-server.
  start:
    /^(?:the )?(?:requested |specified |provided )?(?:(?:invalid|unknown) model(?: name| id)?(?::| ?['"`]|$)|model(?: name)? not (?:exist|found|supported)|model .{0,200}?(?:does(?: not|n't) exist|(?:(?:is|was) )?not (?:found|available|loaded)|(?:has been|is|was) (?:deprecated|decommissioned|retired|discontinued|shut ?down)|(?:is )?no longer (?:available|supported))|\S{1,200} is not a valid model id)/i,
};

/**
 * Whether the provider does not have the model, or no longer has it. Only the deployment's model counts, which the
 * operator named. A model within a tool is the client's choice.
 */
export function isUnknownModel(error: ProviderErrorBody): boolean {
  return (error.param === undefined || error.param === "model") && says(unknownModel, error);
}

const unpaid: Wording = {
  codes: new Set([
    // OpenAI
    ...["insufficient_quota", "billing_not_active", "billing_hard_limit_reached"],
    // Anthropic
    "billing_error",
    // Moonshot
    "exceeded_current_quota_error",
    // Alibaba
    "Arrearage",
  ]),
  // Google says "exceeded your current quota" for a per-minute quota as well, so that text does not count.
  start:
    /^(?:your credit balance is too low|you have reached your specified (?:workspace )?api usage limits|this organization has been disabled|your team \S+ has either used all available credits|insufficient balance)/i,
};

/** Whether the account is out of credit, or has reached its spending limit. Vendors use 400, 402, 403 and 429 for it. */
export function isUnpaid(error: ProviderErrorBody): boolean {
  return says(unpaid, error);
}
