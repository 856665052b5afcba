/** Names of vendors in price lists, by the name of their catalog. LiteLLM has several names for the models of one cloud. */
const names: Readonly<Record<string, RegExp>> = {
  openai: /^(?:text-completion-)?openai$/,
  gemini: /^(?:gemini|google)$/,
  vertex: /^(?:vertex_ai.*|google-vertex(?:-anthropic)?)$/,
  bedrock: /^(?:bedrock.*|amazon-bedrock)$/,
  azure: /^azure(?:_ai|_text)?$/,
  cohere: /^cohere(?:_chat)?$/,
  together: /^together(?:ai|_ai)$/,
  fireworks: /^fireworks(?:-ai|_ai.*)$/,
  moonshot: /^moonshot(?:ai)?$/,
  alibaba: /^(?:alibaba|dashscope)$/,
  vercel: /^vercel(?:_ai_gateway)?$/,
  cloudflare: /^cloudflare(?:-workers-ai)?$/,
  snowflake: /^snowflake(?:-cortex)?$/,
  novita: /^novita(?:-ai)?$/,
  nvidia: /^nvidia(?:_nim)?$/,
};

/** The catalog that a list's vendor belongs to; the vendor's own name if no catalog has another. */
export function catalogOf(vendor: string): string {
  return Object.entries(names).find(([, pattern]) => pattern.test(vendor))?.[0] ?? vendor;
}

/** Lists have names that no request uses: a region before the model of a cloud, or any model that was tuned. */
export function isNameOfModel(catalog: string, id: string): boolean {
  if (id.startsWith("ft:") || /\s/.test(id)) return false;
  return !id.includes("/") || (catalog !== "azure" && catalog !== "bedrock");
}
