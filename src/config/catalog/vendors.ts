/** A vendor with built-in models and prices, and how to call it. Its catalog has the same name. */
export interface CatalogVendor {
  readonly title: string;
  readonly kind: string;
  /** Null for a kind with a fixed address, and for a vendor whose address has an account in it. */
  readonly baseUrl: string | null;
  readonly account?: VendorAccount;
  /** The variables of the vendor's own SDK. The first that holds a usable key counts. */
  readonly keys: readonly string[];
  /** Variables that hold another address. */
  readonly baseUrls: readonly string[];
  /** The gateway reads its models and prices from the vendor at the start; nothing is built in. */
  readonly hasOwnList?: true;
  /** Its models have no public price per token: only token-budget keys can use the names that match. */
  readonly unpriced?: readonly string[];
}

/** A vendor's address that differs by account. */
export interface VendorAccount {
  /** The variable of the vendor's own tools. */
  readonly variable: string;
  /** `ACCOUNT` stands for the value of the variable. */
  readonly baseUrl: `https://${string}`;
  /** The account in an address. */
  readonly form: RegExp;
  /** What the variable should hold. */
  readonly expected: string;
  /** Matches the host of every account. */
  readonly host: RegExp;
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
  databricks: {
    ...compatible("Databricks", null, "DATABRICKS"),
    keys: ["DATABRICKS_TOKEN"],
    account: {
      variable: "DATABRICKS_HOST",
      baseUrl: "https://ACCOUNT/serving-endpoints",
      form: /^[\w-]+(?:\.[\w-]+)+$/,
      expected: "the host of a workspace",
      host: /\.(?:databricks\.com|azuredatabricks\.net)$/,
    },
  },
  vercel: {
    ...compatible("Vercel AI Gateway", "https://ai-gateway.vercel.sh/v1", "AI_GATEWAY"),
    keys: ["AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY"],
  },
  cloudflare: {
    // CLOUDFLARE_BASE_URL is the address of Cloudflare's whole API in its own SDK.
    ...compatible("Cloudflare Workers AI", null, "CLOUDFLARE_AI"),
    keys: ["CLOUDFLARE_API_TOKEN"],
    account: {
      variable: "CLOUDFLARE_ACCOUNT_ID",
      baseUrl: "https://api.cloudflare.com/client/v4/accounts/ACCOUNT/ai/v1",
      form: /^[\w-]+$/,
      expected: "the id of an account",
      host: /^api\.cloudflare\.com$/,
    },
  },
  snowflake: {
    ...compatible("Snowflake Cortex", null, "SNOWFLAKE"),
    keys: ["SNOWFLAKE_PAT"],
    account: {
      variable: "SNOWFLAKE_ACCOUNT",
      baseUrl: "https://ACCOUNT.snowflakecomputing.com/api/v2/cortex/v1",
      form: /^[\w-]+(?:\.[\w-]+)*$/,
      expected: "an account identifier such as myorg-account1",
      host: /\.snowflakecomputing\.com$/,
    },
  },
  nvidia: {
    ...compatible("NVIDIA NIM", "https://integrate.api.nvidia.com/v1", "NVIDIA"),
    keys: ["NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY"],
    unpriced: ["*/*"],
  },
  sambanova: compatible("SambaNova", "https://api.sambanova.ai/v1", "SAMBANOVA"),
  baseten: compatible("Baseten", "https://inference.baseten.co/v1", "BASETEN"),
  novita: compatible("Novita", "https://api.novita.ai/openai/v1", "NOVITA"),
  "ollama-cloud": {
    // OLLAMA_BASE_URL is often the address of a local server.
    ...compatible("Ollama Cloud", "https://ollama.com/v1", "OLLAMA_CLOUD"),
    keys: ["OLLAMA_API_KEY"],
    unpriced: ["*:*"],
  },
  huggingface: {
    ...compatible("Hugging Face", "https://router.huggingface.co/v1", "HF_ROUTER"),
    keys: ["HF_TOKEN"],
    unpriced: ["*/*"],
  },
  scaleway: {
    ...compatible("Scaleway", "https://api.scaleway.ai/v1", "SCALEWAY"),
    keys: ["SCW_SECRET_KEY", "SCALEWAY_API_KEY"],
  },
  ovhcloud: {
    ...compatible("OVHcloud", "https://oai.endpoints.kepler.ai.cloud.ovh.net/v1", "OVHCLOUD"),
    keys: ["OVH_AI_ENDPOINTS_ACCESS_TOKEN", "OVHCLOUD_API_KEY"],
  },
  nscale: {
    ...compatible("Nscale", "https://inference.api.nscale.com/v1", "NSCALE"),
    keys: ["NSCALE_SERVICE_TOKEN", "NSCALE_API_KEY"],
  },
  volcengine: {
    ...compatible("Volcengine", "https://ark.cn-beijing.volces.com/api/v3", "ARK"),
    keys: ["ARK_API_KEY", "VOLCENGINE_API_KEY"],
    unpriced: ["doubao-*", "ep-*"],
  },
  github: {
    ...compatible("GitHub Models", "https://models.github.ai/inference", "GITHUB_MODELS"),
    // GITHUB_TOKEN is set in many environments for other reasons.
    keys: ["GITHUB_MODELS_TOKEN"],
    unpriced: ["*/*"],
  },
};

export function hasOwnList(catalog: string): boolean {
  return Object.hasOwn(catalogVendors, catalog) && catalogVendors[catalog]?.hasOwnList === true;
}

/** Patterns of the names at a vendor without a public price per token; null for all others. */
export function unpricedNames(catalog: string): readonly string[] | null {
  return Object.hasOwn(catalogVendors, catalog) ? (catalogVendors[catalog]?.unpriced ?? null) : null;
}

/** The vendor whose API is at this address; null if it is none with a catalog. */
export function catalogAt(baseUrl: string): string | null {
  const { host } = URL.parse(baseUrl) ?? {};
  if (host === undefined) return null;
  const found = Object.entries(catalogVendors).find(
    ([, { baseUrl: usual, account }]) =>
      account?.host.test(host) ?? (usual !== null && URL.parse(usual)?.host === host),
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
function compatible(title: string, baseUrl: string | null, prefix: string): CatalogVendor {
  const kind = "openai-compatible";
  return { title, kind, baseUrl, keys: [`${prefix}_API_KEY`], baseUrls: [`${prefix}_BASE_URL`] };
}
