import type { Refusal } from "./refusal.ts";

/** Codes and types of vendors that do not have the model, or have it no more. */
const codes: ReadonlySet<string | undefined> = new Set([
  // OpenAI, Cerebras and Hugging Face
  "model_not_found",
  "model_not_supported",
  // Groq
  "model_decommissioned",
  // Mistral and Perplexity
  "invalid_model",
  // Together
  "model_not_available",
  // GitHub
  "unknown_model",
  "unavailable_model",
  // Azure
  "DeploymentNotFound",
]);

/** Where only the message says so: DeepSeek, OpenRouter, xAI. At its beginning, because further on it may quote the request. */
const wording =
  /^(?:the )?(?:requested |specified |provided )?(?:(?:invalid|unknown) model(?: name| id)?(?::| ?['"`]|$)|model(?: name)? not (?:exist|found|supported)|model .{0,200}?(?:does(?: not|n't) exist|(?:is|was) not (?:found|available)|(?:has been|is|was) (?:deprecated|decommissioned|retired|discontinued|shut ?down)|(?:is )?no longer (?:available|supported))|\S{1,200} is not a valid model id)/i;

/**
 * Whether the provider refuses because of the name of its model, which is the operator's: the client's name of it never goes up.
 * A model within a tool is the client's.
 */
export function isUnknownModel({ code, type, param, message }: Refusal): boolean {
  if (param !== undefined && param !== "model") return false;
  return codes.has(code) || codes.has(type) || wording.test(message);
}
