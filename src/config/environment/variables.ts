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

interface OtherVendor {
  readonly name: string;
  /** For the configuration. */
  readonly provider: string;
  readonly baseUrl: string;
  /** The variable that holds another address. */
  readonly baseUrlVariable: string;
}

/** Vendors without list prices here, by the variable of their key: their models have names or prices that only their own lists have. */
export const otherVendors: Readonly<Record<string, OtherVendor>> = {
  AZURE_OPENAI_API_KEY: other("Azure OpenAI", "azure", ""),
  OPENROUTER_API_KEY: other("OpenRouter", "openrouter", "https://openrouter.ai/api/v1"),
  GROQ_API_KEY: other("Groq", "groq", "https://api.groq.com/openai/v1"),
  TOGETHER_API_KEY: other("Together", "together", "https://api.together.xyz/v1"),
  FIREWORKS_API_KEY: other("Fireworks", "fireworks", "https://api.fireworks.ai/inference/v1"),
  CEREBRAS_API_KEY: other("Cerebras", "cerebras", "https://api.cerebras.ai/v1"),
  MOONSHOT_API_KEY: other("Moonshot", "moonshot", "https://api.moonshot.ai/v1"),
  ZAI_API_KEY: other("Z.ai", "zai", "https://api.z.ai/api/paas/v4"),
};

function other(name: string, provider: string, baseUrl: string): OtherVendor {
  return { name, provider, baseUrl, baseUrlVariable: `${provider.toUpperCase()}_BASE_URL` };
}
