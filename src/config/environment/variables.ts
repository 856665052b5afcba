interface OtherVendor {
  readonly name: string;
  /** For the configuration. */
  readonly provider: string;
  readonly baseUrl: string;
  /** The variable that holds another address. */
  readonly baseUrlVariable: string;
}

/** Vendors that need a file, by the variable of their key: their models have names that only their own lists have. */
export const otherVendors: Readonly<Record<string, OtherVendor>> = {
  AZURE_OPENAI_API_KEY: other("Azure OpenAI", "azure", ""),
  OPENROUTER_API_KEY: other("OpenRouter", "openrouter", "https://openrouter.ai/api/v1"),
};

function other(name: string, provider: string, baseUrl: string): OtherVendor {
  return { name, provider, baseUrl, baseUrlVariable: `${provider.toUpperCase()}_BASE_URL` };
}
