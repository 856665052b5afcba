/** A vendor that is served without a file, under its name in the built-in catalog, and the variables of its own SDK. */
interface VendorVariables {
  /** The first that holds a usable key counts. */
  readonly keys: readonly string[];
  readonly baseUrls: readonly string[];
}

/** In the order in which their models are listed. */
export const vendorVariables: Readonly<Record<string, VendorVariables>> = {
  openai: { keys: ["OPENAI_API_KEY"], baseUrls: ["OPENAI_BASE_URL"] },
  anthropic: { keys: ["ANTHROPIC_API_KEY"], baseUrls: ["ANTHROPIC_BASE_URL"] },
  gemini: {
    keys: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    baseUrls: ["GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"],
  },
  deepseek: { keys: ["DEEPSEEK_API_KEY"], baseUrls: ["DEEPSEEK_BASE_URL"] },
  mistral: { keys: ["MISTRAL_API_KEY"], baseUrls: ["MISTRAL_BASE_URL"] },
  xai: { keys: ["XAI_API_KEY"], baseUrls: ["XAI_BASE_URL"] },
  cohere: { keys: ["COHERE_API_KEY", "CO_API_KEY"], baseUrls: ["COHERE_BASE_URL"] },
  voyage: { keys: ["VOYAGE_API_KEY"], baseUrls: ["VOYAGE_BASE_URL"] },
};

/** Vendors without list prices here: their models have names or prices that only the vendor's own list has. */
export const otherVendors: Readonly<Record<string, string>> = {
  AZURE_OPENAI_API_KEY: "Azure OpenAI",
  OPENROUTER_API_KEY: "OpenRouter",
  GROQ_API_KEY: "Groq",
  TOGETHER_API_KEY: "Together",
  FIREWORKS_API_KEY: "Fireworks",
  CEREBRAS_API_KEY: "Cerebras",
  MOONSHOT_API_KEY: "Moonshot",
  ZAI_API_KEY: "Z.ai",
};
