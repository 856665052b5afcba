/** What the gateway itself says in a conversation. Always the same, so that the provider's cache still matches. */

/** Asks a model for JSON, for which its provider has no setting. */
export const jsonOnly = "Answer with one valid JSON object and nothing else: no prose, no code fence.";

/** Said by the user where the assistant begins a conversation, which Anthropic and Bedrock reject. */
export const assistantBegins = "(The assistant begins.)";
