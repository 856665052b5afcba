/** A vendor with built-in models and prices, and how to call it. Its catalog has the same name. */
export interface CatalogVendor {
  readonly title: string;
  readonly kind: string;
  /** Null for a kind with a fixed address. */
  readonly baseUrl: string | null;
  /** The variables of the vendor's own SDK. The first that holds a usable key counts. */
  readonly keys: readonly string[];
  /** Variables that hold another address. */
  readonly baseUrls: readonly string[];
  /** The gateway reads its models and prices from the vendor at the start; nothing is built in. */
  readonly hasOwnList?: true;
}

/** In the order in which their models are listed. */
export const catalogVendors: Readonly<Record<string, CatalogVendor>> = {
  openai: own("OpenAI", "openai", ["OPENAI_API_KEY"], ["OPENAI_BASE_URL"]),
  anthropic: own("Anthropic", "anthropic", ["ANTHROPIC_API_KEY"], ["ANTHROPIC_BASE_URL"]),
  gemini: own(
    "Gemini",
    "gemini",
    ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    ["GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"],
  ),
  deepseek: compatible("DeepSeek", "https://api.deepseek.com/v1", "DEEPSEEK"),
  mistral: compatible("Mistral", "https://api.mistral.ai/v1", "MISTRAL"),
  xai: compatible("xAI", "https://api.x.ai/v1", "XAI"),
  cohere: {
    ...compatible("Cohere", "https://api.cohere.com/v2", "COHERE"),
    keys: ["COHERE_API_KEY", "CO_API_KEY"],
  },
  voyage: compatible("Voyage", "https://api.voyageai.com/v1", "VOYAGE"),
  groq: compatible("Groq", "https://api.groq.com/openai/v1", "GROQ"),
  together: compatible("Together", "https://api.together.xyz/v1", "TOGETHER"),
  fireworks: compatible("Fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS"),
  cerebras: compatible("Cerebras", "https://api.cerebras.ai/v1", "CEREBRAS"),
  moonshot: compatible("Moonshot", "https://api.moonshot.ai/v1", "MOONSHOT"),
  zai: compatible("Z.ai", "https://api.z.ai/api/paas/v4", "ZAI"),
  perplexity: compatible("Perplexity", "https://api.perplexity.ai", "PERPLEXITY"),
  alibaba: compatible("Alibaba", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", "DASHSCOPE"),
  deepinfra: compatible("DeepInfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA"),
  nebius: compatible("Nebius", "https://api.tokenfactory.nebius.com/v1", "NEBIUS"),
  minimax: compatible("MiniMax", "https://api.minimax.io/v1", "MINIMAX"),
  openrouter: {
    ...compatible("OpenRouter", "https://openrouter.ai/api/v1", "OPENROUTER"),
    hasOwnList: true,
  },
};

export function hasOwnList(catalog: string): boolean {
  return Object.hasOwn(catalogVendors, catalog) && catalogVendors[catalog]?.hasOwnList === true;
}

/** The vendor whose API is at this address; null if it is none with a catalog. */
export function catalogAt(baseUrl: string): string | null {
  const host = URL.parse(baseUrl)?.host;
  const found = Object.entries(catalogVendors).find(
    ([, vendor]) => vendor.baseUrl !== null && URL.parse(vendor.baseUrl)?.host === host,
  );
  return found?.[0] ?? null;
}

function own(
  title: string,
  kind: string,
  keys: readonly string[],
  baseUrls: readonly string[],
): CatalogVendor {
  return { title, kind, baseUrl: null, keys, baseUrls };
}

/** A vendor with OpenAI's API. */
function compatible(title: string, baseUrl: string, prefix: string): CatalogVendor {
  const kind = "openai-compatible";
  return { title, kind, baseUrl, keys: [`${prefix}_API_KEY`], baseUrls: [`${prefix}_BASE_URL`] };
}
