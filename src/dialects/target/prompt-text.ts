/** Texts that the gateway itself adds to a conversation. Always the same, so that the provider's cache still matches. */

/** Instructs a model to return JSON, if its provider has no setting for that. */
export const jsonOnly = "Answer with one valid JSON object and nothing else: no prose, no code fence.";

/** A user message before a conversation that the assistant begins, which Anthropic and Bedrock reject. */
export const assistantBegins = "(The assistant begins.)";
